"""Check your own cell: the conformance suite that every built-in cell and wiring passes.

Example:
    >>> ostinato.testing.check_cell(MyCell(3, 16, key=jax.random.key(0)))

It works in float64 on a copy of the cell, takes some seconds, and raises `CellError` with one
line for everything that is wrong.
"""

import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .cells import Cell
from .cells._cell import input_size
from .through_time import can_step, unroll
from .through_time._check import expected_state
from .weights import load_weights, save_weights

STEPS = 5
BATCH = 2


class CellError(Exception):
    """What is wrong with a cell, one line a problem."""


class Case:
    """A cell in float64 with inputs, a state and directions to differentiate in."""

    def __init__(self, cell: Any, inputs: int | None = None, *, noisy: bool = False):
        """
        Args:
            cell: a cell, or a layer for `unroll`.
            inputs: size of the input vectors, or number of symbols; by default found by trying.
            noisy: the cell draws noise by place in the batch, so that a sequence alone differs.
        """
        self.cell = jax.tree.map(_to_float64, cell)
        self.name, self.noisy = type(cell).__name__, noisy
        self.random = np.random.default_rng(20)
        self.xs: np.ndarray
        shape = (STEPS, BATCH)
        if cell.input_axes:
            size = input_size(self.cell) if inputs is None else inputs
            self.xs = self.random.standard_normal((*shape, size))
        else:
            self.xs = self.random.integers(2 if inputs is None else inputs, size=shape)
        self.lengths = np.array([STEPS - 2, STEPS])
        self.state = _like_normal(self.random, self.cell.initial((BATCH,)), 0.5)
        self.tangent = _like_normal(self.random, self.moving)

    @cached_property
    def weights(self) -> Any:
        """A number for each output: the loss is their weighted sum."""
        return _like_normal(self.random, jax.eval_shape(self.run, self.moving))

    @cached_property
    def moving(self) -> tuple:
        """What is differentiated: parameters, inputs and state, where they are float."""
        return _floats((self.cell, self.xs, self.state))

    def unroll(self, xs: Any, state: Any, **options) -> Any:
        """Outputs and final state, as NumPy arrays."""
        return jax.device_get(unroll(self.cell, xs, state, **options))

    def run(self, moving: tuple, **options) -> Any:
        """The float outputs of `unroll`, as a function of `moving`."""
        fixed = eqx.filter((self.cell, self.xs, self.state), _is_float, inverse=True)
        return _floats(unroll(*eqx.combine(moving, fixed), **options))

    def loss(self, moving: tuple, **options) -> jax.Array:
        pairs = zip(
            jax.tree.leaves(self.weights), jax.tree.leaves(self.run(moving, **options)), strict=True
        )
        return sum((jnp.vdot(w, y) for w, y in pairs), jnp.zeros(()))

    @cached_property
    def slopes(self) -> Callable[[tuple], Any]:
        """`moving -> (loss, gradient)`, compiled."""
        return jax.jit(jax.value_and_grad(self.loss))

    @cached_property
    def gradient(self) -> tuple:
        return jax.device_get(self.slopes(self.moving)[1])

    def differs(self, gradient: tuple, from_gradient: tuple) -> bool:
        scale = max(1.0, np.sqrt(_dot(from_gradient, from_gradient)))
        return _distance(gradient, from_gradient) > 1e-10 * scale


def state_keeps_its_shape(case: Case) -> None:
    """`step` returns a state of the structure, shapes and dtypes that it got."""
    if not can_step(case.cell):
        return
    for batch in ((), (BATCH,), (2, 3)):
        for leaf in jax.tree.leaves(case.cell.initial(batch)):
            if leaf.shape[: len(batch)] != batch:
                raise CellError(
                    f"initial({batch}) must return arrays whose first axes are {batch}, got shape "
                    f"{leaf.shape}"
                )
    expected = expected_state(case.cell, (BATCH,), case.xs)
    for given, new in zip(jax.tree.leaves(case.state), jax.tree.leaves(expected), strict=True):
        if given.dtype != new.dtype:
            raise CellError(
                f"initial returns {given.dtype} where step returns {new.dtype}: give the zeros of "
                "initial the dtype of a parameter"
            )


def step_is_pure(case: Case) -> None:
    """The same state and input give the same result, compiled or not."""
    if not can_step(case.cell):
        return
    first, second = _one_step(case), _one_step(case)
    compiled = eqx.filter_jit(lambda cell, state, x: cell.step(state, cell.inputs(x)))
    third = compiled(case.cell, case.state, _at(case.xs, 0))
    for other, how in ((second, "called twice"), (third, "compiled")):
        if _distance(first, other) > 1e-12:
            raise CellError(
                f"step is not pure: {how} with the same state and input it gives another result; "
                "it must depend on its arguments and parameters alone"
            )


def batch_axes_are_kept_apart(case: Case) -> None:
    """Each sequence of a batch gives what it gives alone; any number of batch axes works."""
    whole = case.unroll(case.xs, case.state)
    more = case.unroll(case.xs[:, None], jax.tree.map(lambda x: x[None], case.state))
    if case.noisy:
        return
    for row in range(BATCH):
        alone = case.unroll(case.xs[:, row], _at(case.state, row))
        if _distance(_row(whole, row), alone) > 1e-10:
            raise CellError(
                "batch axes are mishandled: a sequence in a batch gives another result than "
                "alone; let inputs and step work on the last axis only"
            )
    if _distance(_row(more, 0), whole) > 1e-10:
        raise CellError("batch axes are mishandled: two batch axes give another result than one")


def inputs_see_one_time(case: Case) -> None:
    """`inputs` of all steps at once is `inputs` of each."""
    if not can_step(case.cell):
        return
    us = case.cell.inputs(case.xs)
    for t in range(STEPS):
        if _distance(_at(us, t), case.cell.inputs(_at(case.xs, t))) > 1e-10:
            raise CellError(
                f"inputs mixes times: step {t} of inputs(xs) is not inputs(xs[{t}]); it is called "
                "once for all steps and must treat leading axes alike"
            )


def unroll_is_a_loop_of_steps(case: Case) -> None:
    """`unroll`, the plain scan and streaming one input at a time agree."""
    if not can_step(case.cell):
        return
    state, ys = case.state, []
    for t in range(STEPS):
        state, y = case.cell.step(state, case.cell.inputs(_at(case.xs, t)))
        ys.append(y)
    loop = (jax.tree.map(lambda *y: np.stack(y), *ys), state)

    def scan(state, x):
        return case.cell.step(state, case.cell.inputs(x))

    final, outputs = jax.lax.scan(scan, case.state, case.xs)
    fast = case.unroll(case.xs, case.state)
    if max(_distance(fast, loop), _distance(fast, (outputs, final))) > 1e-10:
        raise CellError("unroll differs from a loop of steps")


def derivative_is_right(case: Case) -> None:
    """The gradient agrees with central finite differences, parameter by parameter."""
    leaves, tree = jax.tree.flatten(case.moving)
    slopes = jax.tree.leaves(case.gradient)
    names = [_path(path) for path, _ in jax.tree_util.tree_leaves_with_path(case.moving)]
    for i, (name, slope) in enumerate(zip(names, slopes, strict=True)):
        along = case.random.standard_normal(slope.shape)
        along = along / np.linalg.norm(along) + slope / max(np.linalg.norm(slope), 1e-300)
        step = 1e-5

        def at(moved, i=i, along=along):
            changed = [*leaves[:i], leaves[i] + moved * along, *leaves[i + 1 :]]
            return float(case.slopes(jax.tree.unflatten(tree, changed))[0])

        measured = (at(step) - at(-step)) / (2 * step)
        claimed = float(np.vdot(slope, along))
        error = abs(measured - claimed)
        if not error <= 1e-6 * max(abs(measured), abs(claimed)) + 1e-9:
            raise CellError(
                f"the derivative with respect to {name} is wrong: along one direction it is "
                f"{claimed:.9g}, finite differences give {measured:.9g}"
            )


def forward_mode_is_reverse_mode(case: Case) -> None:
    """`⟨w, J t⟩ = ⟨Jᵀ w, t⟩`, and linearising gives the same J."""
    _, change = jax.jit(lambda m, t: jax.jvp(case.run, (m,), (t,)))(case.moving, case.tangent)
    forwards, reverse = _dot(case.weights, change), _dot(case.gradient, case.tangent)
    scale = np.sqrt(_dot(case.gradient, case.gradient) * _dot(case.tangent, case.tangent))
    if not abs(forwards - reverse) <= 1e-10 * max(scale, 1e-12):
        raise CellError(f"forward mode gives {forwards:.15g}, reverse mode {reverse:.15g}")


def lengths_give_each_sequence_alone(case: Case) -> None:
    """Variable lengths, forwards and reversed, give what each sequence alone would."""
    for reverse in (False, True):
        ragged = case.unroll(case.xs, case.state, lengths=case.lengths, reverse=reverse)
        for row, length in enumerate(map(int, case.lengths)):
            if case.noisy:  # the noise depends on the place in the batch: cut the whole batch
                alone = _row(case.unroll(case.xs[:length], case.state, reverse=reverse), row)
            else:
                state = _at(case.state, row)
                alone = case.unroll(case.xs[:length, row], state, reverse=reverse)
            ys, state = _row(ragged, row)
            short, rest = (jax.tree.map(lambda y: y[part], ys) for part in _split(length))  # noqa: B023
            if _distance((short, state), alone) > 1e-10 or _distance(rest, _zeros(rest)) > 0:
                way = "reversed " if reverse else ""
                raise CellError(f"a {way}sequence of length {length} of {STEPS} differs from alone")


def memory_changes_nothing(case: Case) -> None:
    """`memory="sqrt"` gives the value and the gradient of `"all"`."""
    value, gradient = jax.jit(jax.value_and_grad(lambda m: case.loss(m, memory="sqrt")))(
        case.moving
    )
    if case.differs(gradient, case.gradient):
        raise CellError("memory='sqrt' changes the gradient")
    if abs(value - case.slopes(case.moving)[0]) > 1e-10 * max(1.0, abs(value)):
        raise CellError("memory='sqrt' changes the value")


def compiling_changes_nothing(case: Case) -> None:
    """The gradient compiled is the gradient interpreted."""
    with jax.disable_jit():
        plain = jax.grad(case.loss)(case.moving)
    if case.differs(plain, case.gradient):
        raise CellError("the gradient changes when it is compiled")


def vmap_over_seeds_works(case: Case) -> None:
    """Several sets of parameters at once give what each gives."""
    both = jax.tree.map(lambda x, t: np.stack([x, x + 0.1 * t]), case.moving, case.tangent)
    many = jax.device_get(jax.jit(jax.vmap(jax.grad(case.loss)))(both))
    second = case.slopes(_at(both, 1))[1]
    if case.differs(_at(many, 0), case.gradient) or case.differs(_at(many, 1), second):
        raise CellError("vmap over parameters gives another gradient")


def weights_survive_a_file(case: Case) -> None:
    """Saved and loaded weights give the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.safetensors"
        save_weights(file, case.cell)
        blank = jax.tree.map(lambda x: jnp.zeros_like(x) if eqx.is_array(x) else x, case.cell)
        loaded = load_weights(file, blank)
    if _distance(unroll(loaded, case.xs, case.state), case.unroll(case.xs, case.state)) > 0:
        raise CellError("weights that were saved and loaded give other numbers")


def every_parameter_is_reached(case: Case) -> None:
    """No parameter has a gradient of exactly zero."""
    for path, slope in jax.tree_util.tree_leaves_with_path(case.gradient[0]):
        if not np.any(slope):
            name = jax.tree_util.keystr(path)
            raise CellError(f"the loss never reaches the parameter {name}: its gradient is zero")


CHECKS: tuple[Callable[[Case], None], ...] = (
    state_keeps_its_shape,
    step_is_pure,
    inputs_see_one_time,
    batch_axes_are_kept_apart,
    unroll_is_a_loop_of_steps,
    derivative_is_right,
    forward_mode_is_reverse_mode,
    lengths_give_each_sequence_alone,
    memory_changes_nothing,
    compiling_changes_nothing,
    vmap_over_seeds_works,
    weights_survive_a_file,
    every_parameter_is_reached,
)


_FOUNDATIONS = CHECKS[:4]


def check_cell(cell: Cell, inputs: int | None = None) -> list[str]:
    """Run the conformance suite on a cell.

    Args:
        cell: the cell, with parameters of any floating dtype.
        inputs: size of its input vectors, or number of symbols; by default found by trying.

    Returns:
        The names of the checks, all passed.

    Raises:
        CellError: with one line for each problem.
    """
    with jax.enable_x64(True):
        problems = []
        try:
            case = Case(cell, inputs)
        except Exception as error:
            raise CellError(f"{type(cell).__name__}: {_first_line(error)}") from None
        for check in CHECKS:
            try:
                check(case)
            except Exception as error:
                problems.append(f"{case.name}: {_first_line(error)}")
                if check in _FOUNDATIONS:
                    break  # what follows would fail for the same reason
        if problems:
            raise CellError("\n".join(dict.fromkeys(problems)))
    return [check.__name__ for check in CHECKS]


def _first_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0] or type(error).__name__
    ours = isinstance(error, CellError | ValueError)
    return text if ours else f"{type(error).__name__}: {text}"


def _to_float64(x):
    return x.astype(jnp.float64) if eqx.is_inexact_array(x) else x


def _like_normal(random: np.random.Generator, tree, scale: float = 1.0):
    """Normal numbers in place of the float arrays of a tree."""

    def draw(x):
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return x
        # NumPy arrays: this may be called while JAX traces, and what it returns is kept.
        return (scale * random.standard_normal(x.shape)).astype(x.dtype)

    return jax.tree.map(draw, tree)


def _one_step(case: Case):
    return case.cell.step(case.state, case.cell.inputs(_at(case.xs, 0)))


def _is_float(x) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)


def _floats(tree):
    return eqx.filter(tree, _is_float)


def _zeros(tree):
    return jax.tree.map(np.zeros_like, tree)


def _at(tree, index: int):
    return jax.tree.map(lambda x: x[index], tree)


def _row(result, row: int):
    """Outputs and state of one sequence of a batch."""
    ys, state = result
    return jax.tree.map(lambda y: y[:, row], ys), _at(state, row)


def _split(length: int) -> tuple[slice, slice]:
    return slice(0, length), slice(length, None)


def _dot(a, b) -> float:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return float(sum(np.vdot(x, y) for x, y in pairs))


def _distance(a, b) -> float:
    """The largest difference between two trees of arrays; NaN counts as infinite."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    differences = [np.abs(np.asarray(x, float) - np.asarray(y, float)) for x, y in pairs]
    worst = [np.max(difference, initial=0.0) for difference in differences]
    return float(np.nan_to_num(max(worst, default=0.0), nan=np.inf))


def _path(path) -> str:
    place = ("parameter", "inputs", "state")[path[0].idx]
    return f"{place} {jax.tree_util.keystr(path[1:])}".strip()
