"""Random subclasses of cells and wirings, and exports of them, which must do what `unroll` does.

A subclass changes one or more of `initial`, `inputs`, `step` and what these call: in its own body,
by a mixin, or two classes above. It stands alone or within wirings. Every target either refuses the
network or gives its outputs.
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .modules import INPUTS, SYMBOLS, UNITS, key
from .outcomes import ACCEPTED, REFUSED, Case, Refused, attempt, check

STEPS, OUTPUTS = 7, 2
WITHIN = 1e-4
Method = Callable[..., Any]


class Subject(NamedTuple):
    """A network, the size of its input vectors (`None` for symbols), and how it was made."""

    network: Any
    size: int | None
    words: str


def _floats(change: Callable[[Any], Any], tree: Any) -> Any:
    return jax.tree.map(lambda x: change(x) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def _step(change: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Method], Method]:
    return lambda call: lambda self, state, u: change(*call(self, state, u))


# A change is a function that turns a method of the base class into the method of the subclass.
CHANGES: dict[str, tuple[str, Callable[[Method], Method]]] = {
    "initial of ones": ("initial", lambda call: lambda self, batch: _floats(
        lambda x: x + 1, call(self, batch))),
    "learned initial": ("initial", lambda call: lambda self, batch: _floats(
        lambda x: x + self.start.astype(x.dtype), call(self, batch))),
    "inputs doubled": ("inputs", lambda call: lambda self, x: call(self, 2 * x)),
    "inputs negated": ("inputs", lambda call: lambda self, x: jax.tree.map(
        jnp.negative, call(self, x))),
    "inputs squared": ("inputs", lambda call: lambda self, x: call(
        self, jnp.concatenate([x, x * x], axis=-1))),
    "step with a decay": ("step", _step(lambda state, y: (_floats(lambda x: 0.9 * x, state), y))),
    "step with another output": ("step", _step(lambda state, y: (state, y - 0.5))),
    "step with another input": ("step", lambda call: lambda self, state, u: call(
        self, state, jax.tree.map(lambda x: 0.5 * x, u))),
}  # fmt: skip
# What the methods of these classes call.
HELPERS: dict[str, tuple[str, Callable[[Method], Method]]] = {
    "LSTM1997": ("_gates", lambda call: lambda self, a: [0.5 * x for x in call(self, a)]),
    "Network": ("_read", lambda call: lambda self, h: 3 * call(self, h)),
    "Stack": ("_output", lambda call: lambda self, ys: 3 * call(self, ys)),
    "Bidirectional": ("over_time", lambda call: lambda self, run, xs, state: (
        3 * call(self, run, xs, state)[0], call(self, run, xs, state)[1])),
}  # fmt: skip
WAYS = ("body", "body", "mixin", "grandchild", "restored by a mixin")
BASES = (
    "simple", "leaky", "lstm", "lstm", "lstm-peephole", "gru", "gru", "lstm1997", "lstm-krause",
    "elman", "jordan", "mrnn",
)  # fmt: skip


def subject(chance: random.Random) -> Subject:
    """A random subclass of a cell or of a wiring, alone or within wirings."""
    from ostinato import wiring
    from ostinato.cells import CELLS

    one, two, three = jax.random.split(key(chance), 3)
    names = [name for name in BASES if name in CELLS]
    base = CELLS[chance.choice(names)]
    changes = _changes(chance, base)
    made, words = _subclass(chance, base, changes)
    options: dict[str, Any] = {}
    if base.__name__ == "GRU":
        options["reset"] = chance.choice(("before", "after"))
    within = chance.choices([*WITHIN_WIRINGS], [weight for _, weight in WITHIN_WIRINGS.values()])[0]
    size = SYMBOLS if within == "a network of symbols" else INPUTS
    read = size * (2 if "inputs squared" in changes else 1)
    cell = shaken(made(read, UNITS, key=one, **options), chance)
    build, _ = WITHIN_WIRINGS[within]
    plain = CELLS[chance.choice(("lstm", "gru", "simple"))]
    network = build(wiring, chance, cell, lambda inputs: plain(inputs, UNITS, key=two), three, size)
    network = eqx.nn.inference_mode(network)
    words = f"{words} {options or ''} {within} {type(network).__name__}"
    return Subject(network, None if network.input_axes == 0 else size, words)


def _changes(chance: random.Random, base: type) -> list[str]:
    """One, two or three changes, of different methods."""
    methods = chance.sample(("initial", "inputs", "step"), chance.choice((0, 1, 1, 1, 2, 3)))
    names = [chance.choice([n for n, (m, _) in CHANGES.items() if m == one]) for one in methods]
    return names + (["helper"] if base.__name__ in HELPERS and chance.random() < 0.3 else [])


def _subclass(
    chance: random.Random, base: type, changes: list[str], ways: tuple[str, ...] = WAYS
) -> tuple[Any, str]:
    """A subclass with some changes, and what was done in words."""
    way, meta = chance.choice(ways), type(base)
    own: dict[str, Any] = {}
    if "learned initial" in changes:
        own |= _learned(base)
    methods = dict(HELPERS[base.__name__] if x == "helper" else CHANGES[x] for x in changes)
    made: Any
    if way == "mixin":
        mixin = type("Mixin", (), {})
        for name, change in methods.items():
            setattr(mixin, name, change(_above(mixin, name)))
        made = meta("Made", (mixin, base), own)
    else:
        body = {name: change(getattr(base, name)) for name, change in methods.items()}
        made = meta("Made", (base,), {**body, **own})
    if way == "grandchild":
        made = meta("Grandchild", (made,), {})
    # One of the methods is that of the base again; the sizes are those of squared inputs.
    if way == "restored by a mixin" and methods and "inputs squared" not in changes:
        name = chance.choice([*methods])
        restored = type("Restored", (), {name: vars(base).get(name, getattr(base, name))})
        made = meta("Made", (restored, made), {})
    return made, f"{base.__name__} with {', '.join(changes) or 'nothing'} ({way})"


def _learned(base: type) -> dict[str, Any]:
    """A body with a parameter that the initial state adds."""

    def constructor(self: Any, *given: Any, **named: Any) -> None:
        base.__init__(self, *given, **named)  # type: ignore[misc]
        self.start = jnp.linspace(-0.5, 1, UNITS)

    return {"__annotations__": {"start": jax.Array}, "__init__": constructor}


def _above(mixin: Any, name: str) -> Method:
    return lambda self, *given: getattr(super(mixin, self), name)(*given)


def shaken(module: Any, chance: random.Random) -> Any:
    """A module with parameters that are nowhere zero."""
    numbers = np.random.default_rng(chance.randrange(10**6))

    def shake(x: Any) -> Any:
        moves = eqx.is_inexact_array(x)
        return jnp.asarray(x + 0.3 * numbers.standard_normal(x.shape), x.dtype) if moves else x

    return jax.tree.map(shake, module)


def _alone(wiring, chance, cell, plain, one, size):
    return cell


def _stack(wiring, chance, cell, plain, one, size):
    layers = [cell, plain(UNITS)] if chance.random() < 0.7 else [cell]
    return _changed_wiring(chance, wiring.Stack)(layers)


def _both_ways(wiring, chance, cell, plain, one, size):
    pair = [cell, plain(size)] if chance.random() < 0.5 else [plain(size), cell]
    if chance.random() < 0.4:  # what changes is the wiring alone
        pair = [plain(size), plain(size)]
    layer = _changed_wiring(chance, wiring.Bidirectional)(*pair)
    if chance.random() < 0.4:
        return layer
    return wiring.Network(layer, wiring.Readout(2 * UNITS, OUTPUTS, key=one))


def _network(wiring, chance, cell, plain, one, size):
    readout = wiring.Readout(UNITS, OUTPUTS, key=one)
    cell = plain(size) if chance.random() < 0.4 else cell
    return _changed_wiring(chance, wiring.Network)(cell, readout)


def _of_symbols(wiring, chance, cell, plain, one, size):
    readout = wiring.Readout(UNITS, OUTPUTS, key=one)
    layer = cell
    if chance.random() < 0.5:
        layer = _changed_wiring(chance, wiring.Stack)([cell, plain(UNITS)])
    return wiring.Network(layer, readout, wiring.OneHot(SYMBOLS))


def _noisy(wiring, chance, cell, plain, one, size):
    name = chance.choice(("Dropout", "Zoneout", "WeightNoise"))
    cell = plain(size) if chance.random() < 0.4 else cell
    return _changed_wiring(chance, getattr(wiring, name))(cell, 0.3, key=one)


def _norm(wiring, chance, cell, plain, one, size):
    return wiring.LayerNorm(cell)


def _changed_wiring(chance: random.Random, base: type) -> Any:
    """A wiring, or half the time a subclass of it."""
    if chance.random() < 0.5:
        return base
    possible = ["initial of ones"]
    if base.__name__ != "Bidirectional":
        possible += ["inputs doubled", "step with another output", "step with a decay"]
    possible += ["helper"] * (base.__name__ in HELPERS)
    return _subclass(chance, base, [chance.choice(possible)], ("body", "mixin", "grandchild"))[0]


WITHIN_WIRINGS: dict[str, tuple[Callable[..., Any], int]] = {
    "alone": (_alone, 8),
    "in a stack": (_stack, 4),
    "in both ways": (_both_ways, 4),
    "in a network": (_network, 4),
    "a network of symbols": (_of_symbols, 3),
    "in noise": (_noisy, 3),
    "in a norm": (_norm, 1),
}


def inputs_of(one: Subject, steps: int = STEPS) -> np.ndarray:
    """A sequence for a subject."""
    numbers = np.random.default_rng(0)
    if one.size is None:
        return numbers.integers(0, SYMBOLS, steps).astype(np.int32)
    return numbers.standard_normal((steps, one.size)).astype(np.float32)


def unrolled(one: Subject, xs: np.ndarray) -> np.ndarray:
    """What the library computes."""
    from ostinato import unroll

    ys, _ = eqx.filter_jit(unroll)(one.network, jnp.asarray(xs))
    return np.asarray(ys).reshape(len(xs), -1)


# Targets: from a subject and a sequence to its outputs by the exported form alone.


def by_onnx(one: Subject, xs: np.ndarray) -> np.ndarray:
    from ostinato.export import to_onnx

    kind = np.int64 if one.size is None else np.float32
    run = _session(to_onnx(one.network, one.size))
    (ys,) = run.run(["y"], {"x": xs[:, None].astype(kind)})
    return ys


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options)


def by_torch_source(one: Subject, xs: np.ndarray) -> np.ndarray:
    import torch

    from ostinato.export import trace
    from ostinato.export.torch import module, modules

    if one.network.can_step:
        source, numbers = module(trace(one.network, one.size))
    else:
        source, numbers = modules(one.network)
    scope: dict[str, Any] = {}
    exec(source, scope)
    net = scope["Net"]()
    net.load_state_dict({name: torch.from_numpy(np.array(x)) for name, x in numbers.items()})
    with torch.inference_mode():
        return net(torch.from_numpy(xs[:, None]))[0].numpy()


def by_torch_module(one: Subject, xs: np.ndarray) -> np.ndarray:
    import torch

    from ostinato.wiring import to_torch

    net = to_torch(one.network)
    with torch.inference_mode():
        return net(torch.from_numpy(xs[:, None]))[0].numpy()


def by_rtneural(one: Subject, xs: np.ndarray) -> np.ndarray:
    from ostinato import unroll
    from ostinato.wiring import from_rtneural, to_rtneural

    network = from_rtneural(to_rtneural(one.network))
    return np.asarray(unroll(network, jnp.asarray(xs))[0])


TARGETS = {
    "onnx": by_onnx,
    "torch source": by_torch_source,
    "torch module": by_torch_module,
    "rtneural": by_rtneural,
}


def distance(made: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of outputs, relative to the largest output."""
    made = np.asarray(made, float).reshape(len(expected), -1)
    if made.shape != expected.shape:
        return float("inf")
    return float(np.abs(made - expected).max() / max(np.abs(expected).max(), 1e-3))


def subclasses(case: Case) -> str:
    """Export a random subclass to every target: the outputs of `unroll`, or a refusal."""
    one = subject(case.chance)
    case.what = one.words
    xs = inputs_of(one)
    expected, outcome = unrolled(one, xs), REFUSED
    for name, export in TARGETS.items():
        try:
            made = attempt(lambda: export(one, xs))  # noqa: B023
        except Refused:
            continue
        apart = distance(made, expected)
        check(apart < WITHIN, f"{name} is off by {apart:.2g}")
        outcome = ACCEPTED
    return outcome
