"""Structural damping: the printed equation against its description."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import gap

INPUTS, UNITS, STEPS = 2, 3, 6


def check(where: str = "H_in") -> Finding:
    """Form the matrix of (3.28), and the Gauss-Newton matrix of ½‖ΔH‖².

    `where` the term μ R(H) is added: at `H_in`, the pre-activation, as printed, or at `H_out`.
    """
    rng = np.random.default_rng(0)
    sizes = {"hh": (UNITS, UNITS), "hi": (UNITS, INPUTS), "b": (UNITS,)}
    w = {name: 0.7 * rng.normal(size=shape) for name, shape in sizes.items()}
    xs = rng.normal(size=(STEPS, INPUTS))
    hs = [np.zeros(UNITS)]
    for x in xs:
        hs.append(np.tanh(w["hh"] @ hs[-1] + w["hi"] @ x + w["b"]))
    count = sum(x.size for x in w.values())
    changes = np.stack([r_forward(w, unpack(v, w), xs, hs) for v in np.eye(count)], axis=-1)
    columns = [backward(w, xs, hs, changes[..., n], where) for n in range(count)]
    S = np.stack(columns, axis=-1)
    J = changes.reshape(-1, count)
    error, skew = gap(S, J.T @ J), gap(S.T, S)
    eigenvalues = np.linalg.eigvalsh((S + S.T) / 2)
    least = eigenvalues[0] / eigenvalues[-1]
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random net the matrix of (3.28) differs from the Gauss-Newton matrix of the states "
        f"by {error:.2f} of the largest entry, because it damps pre-activations, weighted by "
        f"1 - h²; it is symmetric to {skew:.0g}, and its smallest eigenvalue is {least:.0g} of the "
        f"largest.",
        {"relative difference": error, "asymmetry": skew, "smallest eigenvalue": float(least)},
    )


def unpack(v: np.ndarray, like: dict) -> dict:
    parts = np.split(v, np.cumsum([x.size for x in like.values()])[:-1])
    return {name: part.reshape(like[name].shape) for name, part in zip(like, parts, strict=True)}


def r_forward(w: dict, v: dict, xs: np.ndarray, hs: list[np.ndarray]) -> np.ndarray:
    """R(H(t)) for all t, by algorithm 4."""
    found = [np.zeros(UNITS)]
    for t, x in enumerate(xs):
        r = v["b"] + v["hi"] @ x + v["hh"] @ hs[t] + w["hh"] @ found[-1]
        found.append(r * (1 - hs[t + 1] ** 2))
    return np.array(found[1:])


def backward(
    w: dict, xs: np.ndarray, hs: list[np.ndarray], changes: np.ndarray, where: str
) -> np.ndarray:
    """(3.27-3.30) with μ = 1, for a net without outputs."""
    d_in, found = np.zeros(UNITS), {name: np.zeros_like(x) for name, x in w.items()}
    for t in range(STEPS - 1, -1, -1):
        d_out = w["hh"].T @ d_in + (changes[t] if where == "H_out" else 0)  # (3.27)
        d_in = d_out * (1 - hs[t + 1] ** 2) + (changes[t] if where == "H_in" else 0)  # (3.28)
        found["hh"] += np.outer(d_in, hs[t])  # (3.29)
        found["hi"] += np.outer(d_in, xs[t])  # (3.30)
        found["b"] += d_in
    return np.concatenate([x.ravel() for x in found.values()])


CLAIM = Claim(
    "structural-damping",
    "Adding μ R(H(t)) as in (3.28) joins μ times the Gauss-Newton matrix of the change in hidden "
    "states.",
    "Krause (2015), section 3.3.3.1, eq. 3.24-3.30",
    "false",
    check,
    Falsehood(
        "μ R(H(t)) added at H_out, in (3.27), instead of at H_in", {"where": "H_out"}, "holds"
    ),
)
