"""`unroll` with generated arguments: where it accepts, it is the loop of steps."""

import math
import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .modules import DTYPES, INPUTS, SYMBOLS, in_dtype, sound_module
from .outcomes import ACCEPTED, Case, Failed, Refused, attempt, check
from .values import anything, mostly

STEPS = (0, 1, 5, 5, 5)
BATCHES = ((), (2,), (2,), (2, 3), (0,))


def unrolling(case: Case) -> str:
    """Unroll a module over generated inputs, and compare with stepping it."""
    from ostinato import taps, unroll

    chance = case.chance
    module = sound_module(chance)
    dtype = chance.choice(DTYPES)
    with jax.enable_x64(dtype == "float64"):
        module = in_dtype(module, dtype)
        steps, batch = chance.choice(STEPS), chance.choice(BATCHES)
        xs, words = _inputs(chance, module, steps, batch, dtype)
        state, more = _state(chance, module, batch)
        options = _options(chance, steps, batch)
        case.what = f"{type(module).__name__} in {dtype} on {words}, {more}, {options}"
        if chance.random() < 0.15:
            options["taps"] = attempt(lambda: taps(module, xs))
        ys, final = attempt(lambda: unroll(module, xs, state, **options))
        if options.get("watch") is not None:
            ys, _ = ys
        if not module.can_step:
            return ACCEPTED
        try:
            expected = _loop(module, xs, state, batch, options)
        except (ValueError, TypeError) as error:
            raise Failed(f"unroll accepts what a step refuses: {error}") from error
        _compare((ys, final), expected, dtype, options, steps)
    return ACCEPTED


def _inputs(chance: random.Random, module: Any, steps: int, batch: tuple, dtype: str) -> tuple:
    numbers = np.random.default_rng(chance.randrange(5))
    kind = chance.choices(("good", "odd", "other dtype", "NaN", "other shape"), (20, 2, 2, 1, 3))[0]
    xs: Any
    if not module.input_axes:
        xs = jnp.asarray(numbers.integers(0, SYMBOLS, (steps, *batch)), jnp.int32)
        if kind == "other shape":
            xs = xs[..., None].astype(jnp.float32)
        elif kind == "NaN":
            xs = xs + SYMBOLS
    else:
        shape = (steps, *batch, INPUTS + (kind == "other shape") * chance.choice((1, -1, -3)))
        xs = jnp.asarray(numbers.standard_normal(shape), dtype)
        if kind == "NaN" and xs.size:
            xs = xs.at[0].set(chance.choice((math.nan, math.inf)))
    if kind == "other dtype":
        other = chance.choice(("float64", "float16", "int8", "uint8", "int64", "bool", "complex64"))
        xs = np.asarray(xs).astype(other)
    if kind == "odd":
        xs = chance.choice(
            (None, [], 3.0, "abc", {}, {"a": xs}, (xs, xs), [[1.0]], anything(chance))
        )
    shown = f"{getattr(xs, 'dtype', type(xs).__name__)}{getattr(xs, 'shape', '')}"
    return xs, f"{kind} {shown}"


def _state(chance: random.Random, module: Any, batch: tuple) -> tuple[Any, str]:
    kind = chance.choices(("none", "own", "other batch", "dtype", "odd"), (12, 5, 1, 1, 1))[0]
    if kind == "none":
        return None, "no state"
    if kind == "odd":
        state = chance.choice((3, (), "state", [], {}, (None,), anything(chance)))
        return state, f"state {state!r:.30}"
    own = module.initial(batch if kind != "other batch" else (7,))
    if kind == "dtype":
        own = jax.tree.map(lambda x: np.asarray(x).astype("int32"), own)
    return own, f"{kind} state"


def _options(chance: random.Random, steps: int, batch: tuple) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if chance.random() < 0.3:
        good = np.array([chance.randint(0, steps) for _ in range(math.prod(batch))]).reshape(batch)
        options["lengths"] = chance.choices(
            (good.astype(int), good.tolist(), good + 1, good - 1, good.astype(float),
             good[..., None], anything(chance)), (8, 2, 1, 1, 1, 1, 1),
        )[0]  # fmt: skip
    if chance.random() < 0.25:
        options["reverse"] = mostly(chance, (True, False), 0.9)
    if chance.random() < 0.3:
        options["memory"] = mostly(chance, ("all", "sqrt", 1, 2, 100), 0.8)
    if chance.random() < 0.15:
        options["compute"] = mostly(chance, ("bfloat16", "float32", "float16", jnp.bfloat16), 0.7)
    if chance.random() < 0.15:
        options["watch"] = mostly(chance, ("states", "products", "slopes"), 0.8)
    if chance.random() < 0.1:
        options["backend"] = mostly(chance, ("scan", "persistent", None), 0.8)
    if chance.random() < 0.05:
        options["on_failure"] = mostly(chance, ("scan", "nan"), 0.6)
    return options


def _loop(module: Any, xs: Any, state: Any, batch: tuple, options: dict) -> tuple:
    """Outputs and final state, one step after the other, as the docstring of `unroll` says."""
    xs = jax.tree.map(jnp.asarray, xs)
    count = jax.tree.leaves(xs)[0].shape[0]
    now = module.initial(batch) if state is None else jax.tree.map(jnp.asarray, state)
    lengths = options.get("lengths")
    valid = None if lengths is None else np.asarray(lengths)
    ys = [None] * count
    for t in reversed(range(count)) if options.get("reverse") else range(count):
        new, y = module.step(now, module.inputs(jax.tree.map(lambda x: x[t], xs)))  # noqa: B023
        if valid is not None:
            new = jax.tree.map(lambda a, b: _kept(t < valid, a, b), new, now)  # noqa: B023
            y = _kept(t < valid, y, jnp.zeros_like(y))
        now, ys[t] = new, y
    return ys, now


def _kept(valid: np.ndarray, a: Any, b: Any) -> Any:
    valid = np.asarray(valid)
    return jnp.where(valid.reshape(valid.shape + (1,) * (a.ndim - valid.ndim)), a, b)


def _compare(result: tuple, expected: tuple, dtype: str, options: dict, steps: int) -> None:
    (ys, final), (each, state) = result, expected
    check(len(ys) == steps, f"{len(ys)} outputs of {steps} steps")
    used = [dtype, *([str(jnp.dtype(options["compute"]))] if options.get("compute") else [])]
    tolerance = 200 * max(float(jnp.finfo(name).eps) for name in used if name in DTYPES)
    pairs = [*zip(ys, each, strict=True)]
    same = jax.tree.structure(final) == jax.tree.structure(state)
    check(same, "the final state is built in another way than by steps")
    pairs += zip(jax.tree.leaves(final), jax.tree.leaves(state), strict=True)
    for a, b in pairs:
        check(a.shape == b.shape, f"shapes {a.shape} and {b.shape}")
        check(a.dtype == b.dtype, f"{a.dtype} by unroll, {b.dtype} by steps")
        a, b = (np.asarray(x).astype(float) for x in (a, b))
        apart = np.nanmax(np.abs(a - b), initial=0)
        close = np.allclose(a, b, tolerance, tolerance, equal_nan=True)
        check(close, f"unroll differs from the loop of steps by {apart:.3g}")


def gradients(case: Case) -> str:
    """The methods of `through_time`: those that are exact agree."""
    from ostinato import through_time

    chance = case.chance
    module = sound_module(chance)
    batch = chance.choice(BATCHES[:3])
    xs, words = _inputs(chance, module, chance.choice(STEPS), batch, "float32")
    name = chance.choice(("bptt", "truncated_bptt", "rtrl", "general_bptt", "online1997"))
    method: Any = getattr(through_time, name)
    steps = len(xs) if hasattr(xs, "shape") and np.ndim(xs) else 1
    targets: Any = jnp.zeros((steps, *batch, 1))
    if chance.random() < 0.15:
        targets = mostly(chance, (None, targets[1:], 3.0, jnp.zeros((steps, *batch, 9))), 0.8)
    state, more = _state(chance, module, batch)
    options = {"window": mostly(chance, (1, 2, 9), 0.8)} if name == "truncated_bptt" else {}
    case.what = f"{name} of {type(module).__name__} on {words}, {more}, {options}"

    def loss(y, target):
        return jnp.sum((y - target) ** 2)

    value, gradient, _ = attempt(lambda: method(module, loss, xs, targets, state, **options))
    if name in ("rtrl", "general_bptt"):
        try:
            right, slopes, _ = attempt(lambda: through_time.bptt(module, loss, xs, targets, state))
        except Refused as error:
            raise Failed(f"{name} accepts what bptt refuses: {error}") from None
        check(np.allclose(value, right, 1e-3, 1e-4, equal_nan=True), f"{name} has another loss")
        if not np.isfinite(value):  # what 0 · NaN is depends on the order of the products
            return ACCEPTED
        for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(slopes), strict=True):
            check(np.allclose(a, b, 1e-2, 1e-3, equal_nan=True), f"{name} differs from bptt")
    return ACCEPTED
