"""A cell under test, with inputs, states, tangents and its gradient."""

from collections.abc import Callable
from functools import cache, cached_property, partial, wraps
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..cells.building import parameter_dtype, try_input_sizes
from ..through_time import unroll
from ..through_time.check import describe
from .explain import CellError, explain
from .trees import at, floats, is_float, like_normal, to_float64

STEPS = 8  # two equal chunks with memory="sqrt": a rest would be compiled once more
BATCH = 2
# The networks in a check are tiny, so compiling them takes most of the time.
WITHOUT = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


class Case:
    """A cell in float64, with inputs, a state and directions to differentiate along.

    Everything random has a fixed seed and is computed on first use.

    Attributes:
        own: the cell as it was given.
        cell: the same in float64.
        wide: whether 64-bit numbers were enabled in JAX when the case was made; `own` runs
            with that setting.
        in_rows, alone: what `running` compiles, and its results of each sequence alone.
        right_over_seeds: what `derivatives` found with each `memory`.
        first_step: a state, `inputs(x)` and what `step` gave for them, if it has been called.
    """

    def __init__(
        self, cell: Any, inputs: int | None = None, *, state: Any = None, noisy: bool = False
    ):
        """
        Args:
            cell: a cell, or a layer for `unroll`.
            inputs: size of the input vectors, or number of symbols; by default found by trial.
            state: a state of one sequence, like `cell.initial(())`, to test the cell at; by
                default one that it reaches from `initial`.
            noisy: the cell's noise depends on the position in the batch, so a sequence alone gives
                other results.
        """
        self.name, self.noisy = type(cell).__name__, noisy
        self.can_step = isinstance(cell, Layer) and cell.can_step
        self.own, self.wide = cell, bool(jax.config.read("jax_enable_x64"))
        self._inputs, self._state = inputs, state
        with jax.enable_x64(True):
            self.cell = jax.tree.map(to_float64, cell)
        self.lengths = np.array([STEPS - 2, STEPS])
        self.in_rows: Callable[..., tuple] | None = None
        self.alone: dict[int, Any] = {}
        self.right_over_seeds: dict[str, bool] = {}
        self.first_step: tuple[Any, Any, Any] | None = None

    @cached_property
    def xs(self) -> np.ndarray:
        return self._sequence(20)

    def _sequence(self, seed: int) -> np.ndarray:
        random = np.random.default_rng(seed)
        if self.cell.input_axes:
            return random.standard_normal((STEPS, BATCH, self._size))
        symbols = 2 if self._inputs is None else self._inputs
        return random.integers(symbols, size=(STEPS, BATCH))

    @cached_property
    def _size(self) -> int:
        if self._inputs is not None:
            return self._inputs
        if not self.can_step:
            raise CellError("inputs: say how large the input vectors are, check_cell(cell, size)")
        size, in_step, in_inputs = try_input_sizes(self.cell, (BATCH,))
        if size is not None:
            return size
        errors = in_step or in_inputs
        first, error = next(iter(errors.items()))
        if len({(type(error), str(error)) for error in errors.values()}) > 1:
            raise CellError(
                f"{explain(error)}, for input vectors of size {first}; the sizes of its "
                f"parameters were tried, {sorted(in_step | in_inputs)}: if the inputs have "
                "another, say check_cell(cell, size)"
            )
        return first  # the error is the same for every size: later checks will report it

    @cached_property
    def start(self) -> Any:
        """The initial state of the batch."""
        return jax.device_get(self.cell.initial((BATCH,)))

    @cached_property
    def state(self) -> Any:
        """The given state, or one that the cell reaches from `initial` on other inputs."""
        if self._state is None:
            xs = self._sequence(21)
            run = self.unroll if not self.can_step else partial(self.loop, self.cell)
            return run(xs, self.start)[1]
        one = jax.tree.map(lambda x: at(x, 0), self.start)
        given = jax.tree.map(np.asarray, self._state)
        if describe(jax.tree.map(np.zeros_like, one)) != describe(_as(given, one)):
            raise CellError(
                f"the given state must be one of a single sequence, like initial(()): expected "
                f"{describe(one)}, got {describe(given)}"
            )
        return jax.tree.map(lambda x: np.stack([x] * BATCH), _as(given, one))

    def unroll(self, xs: Any, state: Any, *, cell: Any = None, **options: Any) -> Any:
        """Outputs and final state of the cell, or of another one, as NumPy arrays."""
        cell = self.cell if cell is None else cell
        return jax.device_get(self._unroll(cell, xs, state, **options))

    @cached_property
    def _unroll(self) -> Callable[..., Any]:
        return quickly(lambda cell, xs, state, **options: unroll(cell, xs, state, **options))

    @cached_property
    def once(self) -> Callable[[Any, Any, Any], Any]:
        """`(cell, state, x) -> (inputs(x), (state, y))`, compiled."""

        def once(cell: Any, state: Any, x: Any) -> tuple[Any, Any]:
            u = cell.inputs(x)
            return u, cell.step(state, u)

        return quickly(once)

    @cached_property
    def inputs_twice(self) -> Any:
        """Two calls of `inputs` for all steps, each traced anew, in one compiled function."""
        twice = quickly(lambda cell, xs: (cell.inputs(xs), cell.inputs(xs)))
        return jax.device_get(twice(self.cell, self.xs))

    def loop(self, cell: Any, xs: Any, state: Any, reverse: bool = False) -> Any:
        """What `unroll` should give: outputs and final state from a loop over compiled steps."""
        ys = []
        for x in xs[::-1] if reverse else xs:
            state, y = jax.device_get(self.once(cell, state, x)[1])
            ys.append(y)
        return jax.tree.map(lambda *y: np.stack(y), *(ys[::-1] if reverse else ys)), state

    @cached_property
    def states(self) -> dict[str, Any]:
        """The states at which derivatives are checked, by name."""
        name = "a state that it reaches" if self._state is None else "the given state"
        return {"the state of initial": self.start, name: self.state}

    @cached_property
    def places(self) -> dict[str, tuple]:
        """What is differentiated, for each state; see `moving`."""
        return {
            name: floats((self.cell, self.xs, jax.tree.map(_offset, state, self.start)))
            for name, state in self.states.items()
        }

    @property
    def moving(self) -> tuple:
        """What is differentiated: the float arrays of parameters, inputs and state.

        The state is stored as its difference from `initial`, so that a learned initial state
        changes with its parameters.
        """
        return list(self.places.values())[-1]

    @cached_property
    def tangent(self) -> Any:
        return like_normal(22, self.moving)

    @cached_property
    def weights(self) -> Any:
        """The weights of the outputs in the loss, which is their weighted sum."""
        return like_normal(23, jax.eval_shape(self.run, self.moving))

    def run(self, moving: tuple, state: Any = None, **options: Any) -> Any:
        """The float outputs of `unroll` as a function of `moving`; the rest comes from `state`."""
        return floats(unroll(*self._whole(moving, state), **options))

    def run_scan(self, moving: tuple) -> Any:
        """The same with `jax.lax.scan`."""
        cell, xs, state = self._whole(moving)

        def step(state: Any, x: Any) -> tuple[Any, Any]:
            return cell.step(state, cell.inputs(x))

        final, ys = jax.lax.scan(step, state, xs)
        return floats((ys, final))

    def _whole(self, moving: tuple, state: Any = None) -> tuple:
        """Cell, inputs and state.

        The initial state is recomputed, as in `unroll`, so that a learned one is differentiated.
        """
        state = self.state if state is None else state
        fixed = eqx.filter((self.cell, self.xs, state), is_float, inverse=True)
        cell, xs, offset = eqx.combine(moving, fixed)
        return cell, xs, jax.tree.map(_moved, offset, self.start, cell.initial((BATCH,)))

    def loss(self, outputs: Any) -> jax.Array:
        pairs = zip(jax.tree.leaves(self.weights), jax.tree.leaves(outputs), strict=True)
        return sum((jnp.vdot(w, y).real for w, y in pairs), jnp.zeros(()))

    def slopes(self, moving: tuple, place: str | None = None) -> Any:
        """The loss and its gradient; non-float state is that of a place, by default the last."""
        state = self.state if place is None else self.states[place]
        return self._slopes(moving, state)

    @cached_property
    def _slopes(self) -> Callable[[tuple, Any], Any]:
        return quickly(jax.value_and_grad(lambda moving, state: self.loss(self.run(moving, state))))

    @cached_property
    def gradients(self) -> dict[str, tuple]:
        """The gradient at each place."""
        return {name: jax.device_get(self.slopes(x, name)[1]) for name, x in self.places.items()}

    @property
    def gradient(self) -> tuple:
        return list(self.gradients.values())[-1]

    @cached_property
    def own_inputs(self) -> list[np.ndarray]:
        """Inputs in the cell's own dtype; for vectors also integers, which it may accept."""
        if not self.own.input_axes:
            return [self.xs]
        with jax.enable_x64(self.wide):
            dtype = parameter_dtype(self.own)
        return [self.xs.astype(dtype), np.round(2 * self.xs).astype(np.int32)]


def _as(tree: Any, like: Any) -> Any:
    """A tree with its float arrays cast to the dtypes of another with as many leaves."""
    leaves, tree_def = jax.tree.flatten(tree)
    others = jax.tree.leaves(like)
    if len(leaves) != len(others):
        return tree
    cast = [x.astype(y.dtype) if is_float(x) else x for x, y in zip(leaves, others, strict=True)]
    return jax.tree.unflatten(tree_def, cast)


def _offset(state: Any, start: Any) -> Any:
    """The difference from the initial state where that is finite; integers unchanged."""
    if not is_float(start):
        return state
    finite = np.isfinite(start)
    return np.where(finite, state - np.where(finite, start, 0), state)


def _moved(offset: Any, start: Any, traced: Any) -> Any:
    if not is_float(start):
        return offset
    return jnp.where(np.isfinite(start), traced + offset, offset)


def of_steps(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """A check of `inputs` and `step`, which passes for a layer that has none."""

    @wraps(check)
    def only_with_steps(case: Case) -> None:
        if case.can_step:
            check(case)

    return only_with_steps


def quickly(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled without optimisations; arguments that are not arrays are static."""
    compiled: Any = eqx.filter_jit  # its type lacks the options that it passes on to JAX
    return compiled(function, compiler_options=_options())


@cache
def _options() -> dict[str, Any]:
    """The options that this version of the compiler supports, on a CPU."""
    if jax.default_backend() != "cpu":
        return {}
    return {name: value for name, value in WITHOUT.items() if _is_known(name, value)}


def _is_known(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options={name: value})(0)
    except RuntimeError:
        return False
    return True
