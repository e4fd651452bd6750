"""Search for the numbers of a reservoir: many reservoirs at once, proposed by optuna."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell
from ..errors import BadInput, needing
from ..tasks import Series
from ..through_time import unroll
from .reservoir import Reservoir
from .ridge import Moments, errors, no_moments, solution, with_block

TOGETHER = 64
WINDOW = 250  # steps whose states are in memory at once

# The least and the largest value of each number; all are searched on a logarithmic scale.
RANGES: dict[str, tuple[float, float]] = {
    "radius": (0.1, 2.0),
    "leak": (0.05, 1.0),
    "input_scaling": (0.01, 3.0),
    "bias_scaling": (0.01, 2.0),
    "strength": (1e-10, 1e2),
}


class SearchResult(NamedTuple):
    """What a search found.

    Attributes:
        best: the numbers with the least error: options of `Reservoir`, and `strength` of `ridge`.
        value: their NRMSE on the validation part.
        trials: all numbers that were tried, with their NRMSE (infinity if it is not a number).
    """

    best: dict[str, float]
    value: float
    trials: list[tuple[dict[str, float], float]]


class _Scaled(Cell):
    """A reservoir whose numbers are factors of its weights, so that many can share the weights."""

    frozen: ClassVar[tuple[str, ...]] = ("cell", "numbers")

    cell: Reservoir
    numbers: dict[str, jax.Array]

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return self.cell.initial(batch)

    def inputs(self, x: jax.Array) -> jax.Array:
        scaled = self.numbers["input_scaling"] * (x @ self.cell.W)
        return scaled + self.numbers["bias_scaling"] * self.cell.b

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        leak = self.numbers["leak"]
        h = jnp.tanh(u + self.numbers["radius"] * (state @ self.cell.R))
        h = leak * h + (1 - leak) * state
        return h, h


def search(
    task: Series,
    *,
    key: jax.Array,
    units: int = 200,
    connectivity: float = 0.1,
    rounds: int = 4,
    together: int = TOGETHER,
    ranges: Mapping[str, tuple[float, float]] = RANGES,
    listener: Callable[[int, SearchResult], None] | None = None,
) -> SearchResult:
    """The numbers of a reservoir, and the ridge strength, with the least validation error.

    In each round optuna's TPE sampler proposes `together` sets of numbers; all these reservoirs
    run at once (`vmap`), their readouts are fitted on the training part, and their errors on the
    validation part are told to the sampler. All share one random matrix of spectral radius 1,
    which the numbers scale, so their differences are not those of random weights. The error is
    that of the targets as they are, without a closed loop. Enable JAX's float64 for small errors.

    Args:
        task: a `Series` with a validation part, such as `MackeyGlass`.
        key: random key for the weights and the sampler.
        units, connectivity: of the reservoirs.
        rounds, together: how many rounds, and how many reservoirs in each.
        ranges: the least and largest value of each number, positive; see `RANGES`. A number whose
            two values are equal is fixed.
        listener: called after each round with its number and what was found so far.

    Example:
        >>> from ostinato.tasks import MackeyGlass
        >>> task = MackeyGlass(samples=1500, washout=50, length=100)
        >>> found = search(task, key=jax.random.key(0), units=50, rounds=1, together=4)
        >>> len(found.trials), found.value == min(value for _, value in found.trials)
        (4, True)
    """
    with needing("the search", "optuna", "search"):
        import optuna
    if strange := sorted(RANGES.keys() ^ ranges.keys()):
        raise BadInput(f"ranges must be of {', '.join(RANGES)}; {strange[0]} is wrong or missing")
    for name, (low, high) in ranges.items():
        if not 0 < low <= high:
            raise BadInput(f"the range of {name} must be positive and rise, got {low} to {high}")
    one, two = jax.random.split(key)
    seed = int(jax.random.randint(two, (), 0, 2**31 - 1))
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True, n_startup_trials=64)
        study = optuna.create_study(sampler=sampler)
        floats: dict[str, Any] = {
            name: optuna.distributions.FloatDistribution(low, high, log=True)
            for name, (low, high) in ranges.items()
        }
        error = validation_error(task, one, units, connectivity)
        trials: list[tuple[dict[str, float], float]] = []
        for number in range(rounds):
            asked = [study.ask(floats) for _ in range(together)]
            columns = {name: jnp.asarray([t.params[name] for t in asked]) for name in ranges}
            values = np.asarray(error(columns), float)
            values = np.where(np.isfinite(values), values, np.inf)
            for trial, value in zip(asked, values, strict=True):
                study.tell(trial, min(float(value), 1e6))
                trials.append((dict(trial.params), float(value)))
            best, value = min(trials, key=lambda pair: pair[1])
            if listener is not None:
                listener(number, SearchResult(best, value, list(trials)))
    finally:
        optuna.logging.set_verbosity(level)
    return SearchResult(best, value, trials)


def validation_error(
    task: Series, key: jax.Array, units: int, connectivity: float = 0.1
) -> Callable[[Mapping[str, jax.Array]], jax.Array]:
    """A compiled function from numbers `(n,)`, by name, to the NRMSE of n reservoirs."""
    if task.answers.scaler is None:
        raise BadInput(f"a search needs numbers to predict; the task {task.name} has classes")
    cell = Reservoir(
        task.inputs, units, key=key, radius=1.0, bias_scaling=1.0, connectivity=connectivity
    )
    dtype = cell.W.dtype
    train, valid = (_windows(task.parts[part], dtype) for part in ("train", "valid"))
    outputs = task.outputs

    def one(cell: Reservoir, numbers: dict[str, jax.Array], train: Any, valid: Any) -> jax.Array:
        scaled = _Scaled(cell, numbers)
        fit = Moments(*(x[0] for x in _moments(scaled, train, outputs)))
        weights = solution(fit.xx, fit.xy, numbers["strength"], bias=True)
        held = Moments(*(x[0] for x in _moments(scaled, valid, outputs)))
        variance = held.yy - held.xy[-1] ** 2 / held.weight
        return jnp.sqrt(jnp.mean(errors(weights, held) / variance))

    many = eqx.filter_jit(
        lambda cell, numbers, train, valid: jax.vmap(
            lambda numbers: one(cell, numbers, train, valid)
        )(numbers)
    )
    return lambda numbers: many(
        cell, {k: jnp.asarray(v, dtype) for k, v in numbers.items()}, train, valid
    )


def _windows(stream: Any, dtype: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """A stream in windows: inputs, targets and weights, each `(windows, WINDOW, ...)`."""
    if not stream.there.any():
        raise BadInput("a search needs a training and a validation part with targets")
    count = -(-stream.steps // WINDOW)
    surplus = count * WINDOW - stream.steps

    def cut(x: np.ndarray) -> jax.Array:
        padded = np.pad(x, [(0, surplus)] + [(0, 0)] * (x.ndim - 1))
        return jnp.asarray(padded.reshape(count, WINDOW, *x.shape[1:]), dtype)

    return cut(stream.inputs), cut(stream.targets), cut(stream.there.astype(float))


def _moments(cell: Cell, windows: tuple, outputs: int) -> Moments:
    """The sums over a stream, window by window."""

    def more(carry: tuple, window: tuple) -> tuple:
        state, moments = carry
        inputs, targets, weights = window
        hs, state = unroll(cell, inputs, state)
        x = jnp.concatenate([hs, jnp.ones_like(hs[:, :1])], axis=1)
        return (state, with_block(moments, x, targets, weights, jnp.zeros((), int))), None

    state = cell.initial(())
    start = state, no_moments(1, state.shape[-1] + 1, outputs)
    (_, moments), _ = jax.lax.scan(more, start, windows)
    return moments
