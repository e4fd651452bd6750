"""The eigenvalues of reservoirs in a report."""

import types

import jax
import numpy as np
import pytest

from ostinato.cells import LSTM
from ostinato.report import network_charts, special_charts
from ostinato.report.special_charts import reservoir_spectra
from ostinato.reservoir import Reservoir
from ostinato.wiring import Stack

KEY = jax.random.key(0)


def of(network):
    return types.SimpleNamespace(network=network, step=1)


def test_all_eigenvalues_of_a_reservoir():
    cell = Reservoir(3, 50, key=KEY, radius=0.9, leak=0.5)
    (plane,) = reservoir_spectra(of(cell))
    ((label, points),) = plane.points.items()
    expected = np.linalg.eigvals(np.asarray(cell.R.dense()))
    np.testing.assert_allclose(np.sort_complex(points), np.sort_complex(expected), atol=1e-10)
    assert label.startswith("radius 0.9, σ ") and "All 50 eigenvalues" in plane.caption


def test_a_large_reservoir_says_what_is_left_out(monkeypatch):
    monkeypatch.setattr(special_charts, "DENSE_UP_TO", 49)
    (plane,) = reservoir_spectra(of(Reservoir(3, 50, key=KEY, radius=0.9)))
    ((label, points),) = plane.points.items()
    assert len(points) == 6 and label.startswith("radius 0.9, σ ")
    assert "The others are left out: R has 50 units" in plane.caption


def test_one_chart_per_layer_whatever_the_device(monkeypatch):
    """On a GPU the product is dense, so that the lens finds the matrix, too."""
    deep = Stack(
        [Reservoir(3, 8, key=KEY, radius=1.2), Reservoir(8, 6, key=KEY), LSTM(6, 2, key=KEY)]
    )
    for device in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda device=device: device)
        first, second = reservoir_spectra(of(deep))
        assert first.title == "Eigenvalues of the reservoir, layer 1"
        assert [plane.name for plane in (first, second)] == [
            "reservoir-spectrum-1",
            "reservoir-spectrum-2",
        ]
        assert [
            max(map(abs, *plane.points.values())) for plane in (first, second)
        ] == pytest.approx([1.2, 0.9])
        (others,) = network_charts.spectrum(of(deep))
        assert len(others.points) == 4, "the gates of the LSTM"
