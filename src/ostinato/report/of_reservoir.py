"""Charts of the recurrent matrices of reservoirs."""

import jax
import numpy as np

from ..cells import Model
from ..lens import largest_singular_value
from ..reservoir.sparse import BlockSparse
from .charts import Chart, Plane
from .subject import Subject

DENSE_UP_TO = 1000  # units up to which all eigenvalues are computed


def reservoir_spectra(subject: Subject) -> list[Chart]:
    """The eigenvalues of the recurrent matrix of each reservoir, one chart per layer."""
    found = reservoir_matrices(subject.network)
    return [
        _spectrum(n if len(found) > 1 else None, matrix)
        for n, matrix in enumerate(found.values(), 1)
    ]


def reservoir_matrices(network: Model) -> dict[str, BlockSparse]:
    """The sparse recurrent matrices of a network by their paths, lowest layer first.

    Example:
        >>> deep = Stack.of(Reservoir, 3, [20, 20], key=key)
        >>> list(reservoir_matrices(deep))
        ['.layers[0].R', '.layers[1].R']
    """
    leaves = jax.tree_util.tree_leaves_with_path(
        network, is_leaf=lambda part: isinstance(part, BlockSparse)
    )
    return {
        jax.tree_util.keystr(path): leaf for path, leaf in leaves if isinstance(leaf, BlockSparse)
    }


def _spectrum(layer: int | None, matrix: BlockSparse) -> Chart:
    whole, units = np.asarray(matrix.dense(), float), matrix.units
    if units <= DENSE_UP_TO:
        points = np.linalg.eigvals(whole)
        shown = f"All {units:,} eigenvalues of the recurrent matrix R of the reservoir."
    else:
        points = matrix.outermost()
        shown = (
            f"The {len(points)} eigenvalues of largest absolute value of the recurrent matrix R of "
            f"the reservoir. The others are left out: R has {units:,} units, and all eigenvalues "
            f"are computed for up to {DENSE_UP_TO:,}."
        )
    radius, stretch = np.abs(points).max(), float(largest_singular_value(whole))
    return Plane(
        name=f"reservoir-spectrum-{layer}" if layer else "reservoir-spectrum",
        title=f"Eigenvalues of the reservoir{f', layer {layer}' if layer else ''}",
        caption=(
            f"{shown} The spectral radius is their largest absolute value, {radius:.3g}; the "
            f"largest singular value σ is {stretch:.3g}. Directions with eigenvalues outside the "
            "unit circle grow from step to step by the matrix alone, those inside it shrink; "
            "neither the activation function nor the leak is included."
        ),
        points={f"radius {radius:.3g}, σ {stretch:.3g}": [complex(z) for z in points]},
    )
