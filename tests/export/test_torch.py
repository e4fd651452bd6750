"""A run as a module of torch: two files, which give the outputs of the network on a batch."""

import importlib.util

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Config, unroll
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.tasks import Arrays
from ostinato.wiring.stepping import plain
from untrained import untrained_run


def imported(path):
    """A file of any name as a module, from whatever folder this runs in."""
    spec = importlib.util.spec_from_file_location("any", path)
    spec.loader.exec_module(found := importlib.util.module_from_spec(spec))
    return found


def test_a_module_of_any_name_is_loaded(tmp_path):
    config = Config(task="adding", cell="gru", units=2, batch=2)
    run = untrained_run(config, tmp_path / "run")
    for name in ("net", "load", "class"):
        source, _ = export_run(run, "torch", tmp_path / name)
        assert imported(source).load().outputs == 1


def test_a_run_is_loaded_without_ostinato(tmp_path):
    import torch

    (tmp_path / "book.txt").write_text("Ein Bär sagt ja. " * 40, encoding="utf-8")
    config = Config(file=str(tmp_path / "book.txt"), units=6, length=9, batch=2)
    run = untrained_run(config, tmp_path / "run")
    written = export_run(run, "torch", tmp_path / "bear-net")
    assert [path.name for path in written] == ["bear-net.py", "bear-net.safetensors"]
    source = written[0].read_text(encoding="utf-8")
    assert "ostinato" not in source.partition('"""\n')[2].lower()
    net = imported(written[0]).load()
    xs = np.random.default_rng(0).integers(0, net.symbols, (7, 3))
    ys, state = net(torch.from_numpy(xs))
    expected, _ = unroll(run.saved()[1], jnp.asarray(xs))
    np.testing.assert_allclose(ys, expected, atol=1e-5)
    again, _ = net(torch.from_numpy(xs[4:]), net(torch.from_numpy(xs[:4]))[1])
    np.testing.assert_allclose(again, expected[4:], atol=1e-5)
    assert len(state) == 2


def test_what_reads_both_ways_is_a_module_of_torch(tmp_path):
    """Of vectors, and of symbols; whatever torch has no module for is refused by its name."""
    import torch

    rng = np.random.default_rng(0)
    vectors = Arrays(rng.normal(size=(20, 7, 3)), rng.integers(0, 3, 20))
    symbols = Arrays(rng.integers(0, 6, (20, 7)), rng.integers(0, 3, 20))
    for name, task, how in (
        ("rows", vectors, {"cell": "gru", "reset": "after"}),
        ("rows2", vectors, {"cell": "lstm", "layers": 2}),
        ("words", symbols, {"cell": "lstm"}),
        ("words2", symbols, {"cell": "simple", "embedding": 4}),
    ):
        config = Config(units=4, batch=2, bidirectional=True, **how)
        run = untrained_run(config, tmp_path / f"run of {name}", task)
        source, _ = export_run(run, "torch", tmp_path / name)
        net, xs = imported(source).load(), rng.normal(size=(7, 5, 3)).astype(np.float32)
        xs = rng.integers(0, net.symbols, (7, 5)) if task is symbols else xs
        expected, _ = unroll(plain(run.network()), jnp.asarray(xs))
        ys, _ = net(torch.from_numpy(xs))
        assert net.outputs == ys.shape[-1]
        np.testing.assert_allclose(ys.detach(), expected, atol=1e-5)
    config = Config(units=4, batch=2, bidirectional=True, cell="mlstm")
    run = untrained_run(config, tmp_path / "other", vectors)
    with pytest.raises(BadInput, match=r"reads both ways, and .* has no module for"):
        export_run(run, "torch", tmp_path / "others")
