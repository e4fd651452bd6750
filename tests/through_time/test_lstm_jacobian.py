"""The Jacobian of an LSTM with peepholes as Delgado del Cerro (2021), section 4.1, gives it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compare import same
from ostinato.cells import PeepholeLSTM

INPUTS, UNITS = 3, 4


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def published(w, x, y, c, *, stray=False, old_memory=False):
    """`∂(φ, ψ)/∂(c, y)` for one step, by the names of its four blocks; g = h = tanh.

    Misprints: the derivation has a stray `f_l δ_jl` in ∂φ_l/∂y_j, which its summary leaves out,
    and the summary has `h(c_l)` in ∂ψ_l/∂c_j, where the derivation has `h(φ_l)`.

    Args:
        w: `W`, `R` and `p` of the gates z, i, f and o, as the document writes them.
        x, y, c: what the step reads.
        stray, old_memory: with the one misprint or the other.
    """
    bar = {k: w["W", k] @ x + w["R", k] @ y for k in "zifo"}
    z = np.tanh(bar["z"])
    i, f = (sigmoid(bar[k] + w["p", k] * c) for k in "if")
    phi = i * z + f * c
    o = sigmoid(bar["o"] + w["p", "o"] * phi)
    slope = {"z": 1 - z**2, "i": i * (1 - i), "f": f * (1 - f), "o": o * (1 - o)}
    h, h_slope = np.tanh(phi), 1 - np.tanh(phi) ** 2

    def rows(a, matrix):
        return a[:, None] * matrix

    phi_c = np.diag(slope["i"] * w["p", "i"] * z + slope["f"] * w["p", "f"] * c + f)
    phi_y = rows(z * slope["i"], w["R", "i"]) + rows(i * slope["z"], w["R", "z"])
    phi_y += rows(c * slope["f"], w["R", "f"])
    phi_y += np.diag(f) if stray else 0
    through = h * slope["o"] * w["p", "o"] + o * h_slope
    late = np.tanh(c) * slope["o"] * w["p", "o"] + o * h_slope if old_memory else through
    return {
        ("phi", "c"): phi_c,
        ("phi", "y"): phi_y,
        ("psi", "c"): rows(late, phi_c),
        ("psi", "y"): rows(h * slope["o"], w["R", "o"]) + rows(through, phi_y),
    }


def setting():
    """Our cell, its weights in the document's names, and what a step reads."""
    rng = np.random.default_rng(0)
    cell = PeepholeLSTM(INPUTS, UNITS, key=jax.random.key(0))
    cell = jax.tree.map(lambda x: jnp.asarray(0.7 * rng.normal(size=x.shape)), cell)
    cell = eqx.tree_at(lambda cell: cell.b, cell, jnp.zeros(4 * UNITS))
    blocks = {name: np.split(np.asarray(getattr(cell, name)).T, 4) for name in "WR"}
    w = {(name, k): a for name in "WR" for k, a in zip("ifzo", blocks[name], strict=True)}
    w |= {("p", k): np.asarray(a) for k, a in zip("ifo", cell.p, strict=True)}
    return cell, w, *(rng.normal(size=n) for n in (INPUTS, UNITS, UNITS))


def ours(cell, x, y, c):
    """The same four blocks of the cell's own step, by JAX."""

    def step(y, c):
        (new_y, new_c), _ = cell.step((y, c), cell.inputs(x))
        return {"phi": new_c, "psi": new_y}

    found = jax.jacobian(step, argnums=(0, 1))(y, c)
    return {(name, k): x for name in found for k, x in zip("yc", found[name], strict=True)}


def test_the_jacobian():
    cell, w, *at = setting()
    found, expected = ours(cell, *at), published(w, *at)
    same({k: found[k] for k in expected}, expected)


@pytest.mark.parametrize(
    ("misprint", "wrong"),
    [("stray", {("phi", "y"), ("psi", "y")}), ("old_memory", {("psi", "c")})],
)
def test_as_printed_it_is_another(misprint, wrong):
    cell, w, *at = setting()
    found, printed = ours(cell, *at), published(w, *at, **{misprint: True})
    off = {k for k in printed if np.linalg.norm(found[k] - printed[k]) > 1e-3}
    assert off == wrong
