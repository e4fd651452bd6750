"""Cells and wirings: small ones that work, and constructors called with anything."""

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .outcomes import ACCEPTED, Case, attempt, check
from .values import anything, integer, mostly, real, text

INPUTS, UNITS, SYMBOLS = 3, 4, 5
DTYPES = ("float32", "float32", "float32", "bfloat16", "float16", "float64")


def key(chance: random.Random) -> Any:
    return jax.random.key(chance.randrange(3))


def sound_cell(chance: random.Random, inputs: int = INPUTS, units: int = UNITS) -> Any:
    """One of the cells, as it is meant to be made."""
    from ostinato.cells import CELLS

    name = chance.choice([*CELLS])
    options: dict[str, Any] = {}
    if name in ("simple", "leaky", "jordan", "delay") and chance.random() < 0.3:
        options["f"] = chance.choice(("tanh", "sigmoid", "relu", "identity"))
    if name == "gru":
        options["reset"] = chance.choice(("before", "after"))
    if name == "delay":
        options["delay"] = chance.choice((1, 2, 3))
    return CELLS[name](inputs, units, key=key(chance), **options)


def sound_module(chance: random.Random) -> Any:
    """A cell, or one of the wirings around cells."""
    from ostinato import wiring

    cell, one = sound_cell(chance), key(chance)
    make: dict[str, Callable[[], Any]] = {
        "cell": lambda: cell,
        "stack": lambda: wiring.Stack([cell, sound_cell(chance, UNITS)]),
        "zoneout": lambda: wiring.Zoneout(cell, 0.3, key=one),
        "dropout": lambda: wiring.Dropout(cell, 0.3, recurrent=0.2, key=one),
        "noise": lambda: wiring.WeightNoise(cell, 0.1, key=one),
        "norm": lambda: wiring.LayerNorm(cell),
        "network": lambda: network(chance),
        "two ways": lambda: wiring.Bidirectional(cell, sound_cell(chance)),
    }
    name = chance.choices([*make], (8, 2, 1, 1, 1, 1, 3, 1))[0]
    return make[name]()


def network(chance: random.Random, symbols: bool = True) -> Any:
    """A small network, which reads symbols or vectors."""
    from ostinato import wiring

    if not symbols or chance.random() < 0.2:
        cell = sound_cell(chance)
        return wiring.Network(cell, wiring.Readout(UNITS, 2, key=key(chance)))
    readout = wiring.Readout(UNITS, SYMBOLS, key=key(chance))
    return wiring.Network(sound_cell(chance, SYMBOLS), readout, wiring.OneHot(SYMBOLS))


def in_dtype(module: Any, dtype: str) -> Any:
    """A module with its parameters in another dtype."""
    change = jnp.dtype(dtype)

    def cast(x):
        real = hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)
        return x.astype(change) if real else x

    return jax.tree.map(cast, module)


# Constructors with anything as an argument


def modules(case: Case) -> str:
    """Call a constructor; what it makes can be run, or is refused when it is."""
    from ostinato import unroll

    chance = case.chance
    make, words = chance.choice(CONSTRUCTORS)(chance)
    case.what = words
    made = attempt(make)
    if not hasattr(made, "input_axes") or not hasattr(made, "initial"):
        return ACCEPTED
    xs = jnp.zeros((2, 2), jnp.int32) if not made.input_axes else jnp.ones((2, 2, INPUTS))
    ys, state = attempt(lambda: unroll(made, xs))
    check(ys.shape[:2] == (2, 2), f"outputs of shape {ys.shape}")
    bad = [x for x in jax.tree.leaves((ys, state)) if not bool(jnp.all(jnp.isfinite(x)))]
    check(not bad or "nan" in words or "inf" in words or "e+" in words, "outputs are not finite")
    return ACCEPTED


def _size(chance: random.Random, usual: int) -> Any:
    """A size: mostly right, and never so large that making it would be right and slow."""
    size = mostly(chance, (*[usual] * 12, 1, 0, -1, 2.0, float(usual)), 0.95)
    return usual if isinstance(size, int) and 10**3 < size < 2**40 else size


def _call(make: Callable, *args: Any, **options: Any) -> tuple[Callable[[], Any], str]:
    shown = ", ".join(
        [*(f"{x!r:.30}" for x in args), *(f"{n}={x!r:.30}" for n, x in options.items())]
    )
    return (lambda: make(*args, **options)), f"{make.__qualname__}({shown})".replace("\n", " ")


def _any_key(chance: random.Random) -> Any:
    good = key(chance)
    return chance.choice((*[good] * 12, None, 0, jax.random.PRNGKey(0), jax.random.split(good, 2)))


def _cell(chance: random.Random):
    from ostinato.cells import CELLS

    make: Any = CELLS[chance.choice([*CELLS])]
    options = {
        name: draw(chance)
        for name, draw in CELL_OPTIONS.items()
        if name in _names(make) and chance.random() < 0.3
    }
    if chance.random() < 0.03:
        options["".join(filter(str.isprintable, text(chance)))] = 1
    return _call(make, _size(chance, INPUTS), _size(chance, UNITS), key=_any_key(chance), **options)


def _names(make: Callable) -> set[str]:
    import inspect

    return set(inspect.signature(make).parameters)


def _initialiser(chance: random.Random) -> Any:
    from ostinato.cells import initialisers

    name = chance.choice(
        ("normal", "orthogonal", "sparse", "incoming", "spectral_radius", "glorot")
    )
    make: Any = getattr(initialisers, name)
    if name == "glorot":
        return make()
    try:
        return make(chance.choice((0.5, 1, 2, 0, -1, real(chance), integer(chance))))
    except (ValueError, TypeError):
        return anything(chance)


CELL_OPTIONS: dict[str, Callable[[random.Random], Any]] = {
    "f": lambda c: mostly(c, ("tanh", "relu", "step")),
    "g": lambda c: mostly(c, ("tanh", "identity")),
    "delay": lambda c: mostly(c, (1, 2, 0, -1, 1.5)),
    "dt": lambda c: mostly(c, (0.5, 0.0, -1.0)),
    "alpha": lambda c: mostly(c, (0.0, 1.0, 0.5)),
    "outputs": lambda c: _size(c, 2),
    "reset": lambda c: mostly(c, ("before", "after")),
    "forget": real,
    "factor_inputs": lambda c: mostly(c, (1, 3, 4, 0, -1)),
    "truncated": anything,
    "input": _initialiser,
    "recurrent": _initialiser,
}


def _wiring(chance: random.Random):
    from ostinato import wiring
    from ostinato.cells import CELLS

    cell = sound_cell(chance) if chance.random() < 0.85 else chance.choice((None, 3, CELLS, []))
    rate = mostly(chance, (0.0, 0.5, 1.0, -0.1))
    one = _any_key(chance)
    name = chance.choice(WIRINGS)
    if name == "Stack":
        layers = [
            sound_cell(chance, chance.choice((INPUTS, UNITS))) for _ in range(chance.randint(0, 2))
        ]
        return _call(
            wiring.Stack, mostly(chance, (layers,), 0.9), skip=mostly(chance, (True, False))
        )
    if name in ("of", "feedback"):
        make = CELLS[chance.choice(("simple", "lstm", "gru"))]
        units = mostly(chance, ([4, 2], [4], [], [0], [4, -1], 3, "ab"))
        of = wiring.Stack.of if name == "of" else wiring.GatedFeedback.of
        return _call(of, make, _size(chance, INPUTS), units, key=one)
    if name == "Bidirectional":
        return _call(wiring.Bidirectional, cell, sound_cell(chance, chance.choice((3, 3, 2))))
    if name == "LayerNorm":
        return _call(wiring.LayerNorm, cell, epsilon=mostly(chance, (1e-5, 0.0)))
    if name == "Readout":
        return _call(wiring.Readout, _size(chance, UNITS), _size(chance, 2), key=one)
    if name == "Embedding":
        return _call(wiring.Embedding, _size(chance, 5), _size(chance, 2), key=one)
    if name == "Network":
        sizes = chance.choice((UNITS, UNITS, 3))
        encoding = mostly(chance, (None, wiring.OneHot(INPUTS), wiring.OneHot(SYMBOLS)))
        return _call(wiring.Network, cell, wiring.Readout(sizes, 2, key=key(chance)), encoding)
    return _call(getattr(wiring, name), cell, rate, key=one)


WIRINGS = (
    "Stack", "of", "feedback", "Bidirectional", "Zoneout", "Dropout", "WeightNoise", "LayerNorm",
    "Readout", "Embedding", "Network",
)  # fmt: skip
CONSTRUCTORS = (_cell, _cell, _wiring)
