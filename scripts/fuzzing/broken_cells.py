"""`check_cell` on cells that are sound, and on generated ones that are not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .modules import in_dtype, key, sound_cell
from .outcomes import ACCEPTED, REFUSED, Case, Failed, Refused, attempt
from .values import anything

Part = Callable[..., Any]


def broken_cells(case: Case) -> str:
    """A cell with none, one or two parts replaced by broken ones."""
    from ostinato.testing import CellError, check_cell

    chance = case.chance
    if chance.random() < 0.1:
        cell = sound_cell(chance) if chance.random() < 0.3 else anything(chance)
        sound = hasattr(cell, "step") and hasattr(cell, "initial")
        names = [f"{cell!r:.60}"]
    else:
        names = chance.sample([*BROKEN], chance.choice((0, 1, 1, 1, 1, 2)))
        cell = in_dtype(
            _cell(names, key(chance)), chance.choice(("float32", "float32", "bfloat16"))
        )
        sound = not names
    given = chance.choice((None, 3, 3, 3, *([anything(chance)] * (chance.random() < 0.1))))
    case.what = f"check_cell of a cell with {names or 'nothing'} broken, inputs {given!r:.40}"
    try:
        attempt(lambda: check_cell(cell, given), also=(CellError,))
    except Refused as error:
        if sound and given in (None, 3):
            raise Failed(f"a sound cell was refused: {error}") from None
        return REFUSED
    if not sound:
        raise Failed(f"a broken cell was accepted: {', '.join(names)}")
    return ACCEPTED


def _cell(names: list[str], one: jax.Array) -> Any:
    from ostinato import Cell

    parts: dict[str, Part] = {"initial": _initial, "inputs": _inputs, "step": _step}
    for name in names:
        method, broken = BROKEN[name]
        parts[method] = broken

    class Mine(Cell):
        W: jax.Array
        R: jax.Array
        spare: jax.Array | None

        def __init__(self):
            w, r = jax.random.split(one)
            self.W, self.R = jax.random.normal(w, (3, 4)), 0.5 * jax.random.normal(r, (4, 4))
            self.spare = jnp.ones(4) if "a parameter that nothing reads" in names else None

        def initial(self, batch):
            return parts["initial"](self, batch)

        def inputs(self, x):
            return parts["inputs"](self, x)

        def step(self, state, u):
            return parts["step"](self, state, u)

    return Mine()


def _initial(cell, batch):
    return jnp.zeros((*batch, 4), cell.R.dtype)


def _inputs(cell, x):
    return x @ cell.W


def _step(cell, h, u):
    h = jnp.tanh(u + h @ cell.R)
    return h, h


def _noisy(cell, h, u):
    h = jnp.tanh(u + h @ cell.R + float(np.random.default_rng().normal()))
    return h, h


def _raises(error: Exception) -> Part:
    def call(*_):
        raise error

    return call


@jax.custom_jvp
def _wrong(x):
    return jnp.tanh(x)


@_wrong.defjvp
def _(primals, tangents):
    return jnp.tanh(primals[0]), 1.1 * tangents[0]


def _wrongly(cell, h, u):
    h = _wrong(u + h @ cell.R)
    return h, h


# What is broken, and the method that breaks it. Each must be noticed, whatever else is broken.
BROKEN: dict[str, tuple[str, Part]] = {
    "a state of another shape": ("step", lambda c, h, u: (h[..., :2], h)),
    "a state of another structure": ("step", lambda c, h, u: ((h, h), h)),
    "no state": ("step", lambda c, h, u: (None, h)),
    "no output": ("step", lambda c, h, u: _step(c, h, u)[0]),
    "a step that returns one thing": ("step", lambda c, h, u: 3),
    "noise of its own": ("step", _noisy),
    "a wrong derivative": ("step", _wrongly),
    "no recurrence": ("step", lambda c, h, u: (jnp.tanh(u), jnp.tanh(u))),
    "a mean over the batch": (
        "step", lambda c, h, u: (jnp.tanh(u + h @ c.R - u.mean(0)),) * 2,
    ),
    "a step that raises a KeyError": ("step", _raises(KeyError("R"))),
    "a step that raises lines": ("step", _raises(RuntimeError("one\ntwo\n" + "x" * 900))),
    "a step with NaN": ("step", lambda c, h, u: (jnp.log(-1 - jnp.abs(u + h @ c.R)),) * 2),
    "a step that branches": ("step", lambda c, h, u: (u, u) if h.sum() > 0 else (h, h)),
    "a sum over time": ("inputs", lambda c, x: x @ c.W + (x @ c.W).sum(0, keepdims=True)),
    "inputs of another size": ("inputs", lambda c, x: x),
    "inputs that are nothing": ("inputs", lambda c, x: None),
    "inputs that raise": ("inputs", _raises(ZeroDivisionError("x / 0"))),
    "an initial state without batch": ("initial", lambda c, b: jnp.zeros(4, c.R.dtype)),
    "an initial state of integers": ("initial", lambda c, b: jnp.zeros((*b, 4), jnp.int32)),
    "an initial state that is no array": ("initial", lambda c, b: "zeros"),
    "an initial state of numbers": ("initial", lambda c, b: 0.0),
    "no initial state": ("initial", lambda c, b: None),
    "an initial state that raises": ("initial", _raises(IndexError("batch"))),
    "a parameter that nothing reads": ("initial", _initial),
}  # fmt: skip
