"""The largest eigenvalue and the largest singular value of a diagonalisable matrix."""

from typing import Any

import numpy as np

from ..lens import largest_singular_value, spectral_radius
from ._claim import Claim, Falsehood, Finding

MATRIX = ((0.5, 10.0), (0.0, 0.4))


def check(matrix: Any = MATRIX) -> Finding:
    """Compare the two for a diagonalisable matrix."""
    matrix = np.asarray(matrix)
    values, vectors = np.linalg.eig(matrix)
    rebuilt = vectors @ np.diag(values) @ np.linalg.inv(vectors)
    if not np.allclose(rebuilt, matrix):
        raise ValueError("the matrix must be diagonalisable")
    largest, singular = float(spectral_radius(matrix)), float(largest_singular_value(matrix))
    rows = "; ".join(" ".join(f"{x:g}" for x in row) for row in matrix)
    return Finding(
        "holds" if np.isclose(largest, singular) else "false",
        f"[{rows}] is diagonalisable; its largest eigenvalue is {largest:.2f}, its largest "
        f"singular value {singular:.2f}.",
        {"eigenvalue": largest, "singular value": singular},
    )


CLAIM = Claim(
    "eigenvalue-equals-singular-value",
    "For a diagonalisable recurrent matrix the largest eigenvalue is the largest singular value.",
    "Galvan (2015), section 1.6, after eq. 1.71",
    "false",
    check,
    Falsehood(
        "a symmetric matrix, for which the two are the same",
        {"matrix": ((0.5, 0.1), (0.1, 0.4))},
        "holds",
    ),
)
