"""The matrices by which the units of a network act on each other from step to step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from ..cells import Layer, Model
from ..cells.building import input_size, parameter_dtype
from ..through_time.step import Step, take_apart
from ..through_time.tap import Tap


def recurrent_matrices(network: Model) -> dict[str, jax.Array]:
    """Every square recurrent weight of a network, by its path.

    A weight is recurrent where a product with it lies on a cycle: what it reads depends on a part
    of the state that it changes, at once or by way of later steps. So the `R` of a cell counts, and
    neither input weights nor a readout do. Where the value of a product is cut into gates, so is
    the weight: `.R[0]` to `.R[3]` are those of an LSTM, in the order in which the cell has them.
    Weights are as the step uses them, with a mask or noise, and named by the first parameter that
    they are made from.

    Args:
        network: a cell, or whatever holds cells, such as `Bidirectional`.

    Returns:
        Matrices `(units, units)` that act on row vectors, `h @ R`.

    Example:
        >>> stack = Stack.of(Simple, 3, [16, 16], key=jax.random.key(0))
        >>> list(recurrent_matrices(Network(stack, Readout(16, 2, key=jax.random.key(1)))))
        ['.cell.layers[0].R', '.cell.layers[1].R']
    """

    def is_cell(part: Any) -> bool:
        return isinstance(part, Layer) and part.can_step

    parts = jax.tree_util.tree_leaves_with_path(network, is_leaf=is_cell)
    matrices: dict[str, jax.Array] = {}
    for path, cell in parts:
        if is_cell(cell):
            within = jax.tree_util.keystr(path)
            matrices |= {within + name: matrix for name, matrix in _of_cell(cell).items()}
    return matrices


def _of_cell(cell: Layer) -> dict[str, jax.Array]:
    """The square recurrent weights of something that has a step."""
    step, state = _take_apart(cell, (), zero_input(cell))
    parameters = eqx.filter(cell, eqx.is_array)
    weights = jax.jit(lambda parameters: step.prepare(parameters)[0])(parameters)
    recurrent, units = _on_a_cycle(step, len(state)), [x.shape[-1] for x in state if x.ndim]
    matrices = {}
    for j, (name, tap, weight) in enumerate(zip(step.names, step.taps, weights, strict=True)):
        if j not in recurrent or weight.ndim != 2:
            continue
        matrix = weight if tap.w[0] in tap.v else weight.T
        rows, columns = matrix.shape
        if rows not in units:
            continue
        if columns == rows:
            matrices[name] = matrix
        elif columns % rows == 0 and _is_cut(step, tap, rows):
            blocks = jnp.split(matrix, columns // rows, axis=1)
            matrices |= {f"{name}[{k}]": block for k, block in enumerate(blocks)}
    return matrices


def _take_apart(cell: Layer, batch: tuple[int, ...], x: Any) -> tuple[Step, list]:
    """A cell's step on inputs like `x`, and the parts of its state."""
    parameters, static = eqx.partition(cell, eqx.is_array)
    state = eqx.filter_eval_shape(cell.initial, batch)
    u = eqx.filter_eval_shape(cell.inputs, x)
    step = take_apart(
        lambda parameters, state, u: eqx.combine(parameters, static).step(state, u),
        parameters,
        state,
        u,
    )
    return step, jax.tree.leaves(state)


def _on_a_cycle(step: Step, states: int) -> set[int]:
    """The products that read a part of the state which they change, at once or in later steps."""
    # For each variable what it depends on: parts of the state, ("state", i), and products.
    depends: dict[Any, set] = {
        v: {("state", i)} for i, v in enumerate(step.jaxpr.invars[step.parameter_count :][:states])
    }
    products = {id(tap.equation): {("product", j)} for j, tap in enumerate(step.taps)}

    def of(*operands: Any) -> set:
        return set().union(*(depends.get(v, set()) for v in _variables(operands)))

    for equation in step.jaxpr.eqns:
        met = of(*equation.invars) | products.get(id(equation), set())
        depends |= dict.fromkeys(equation.outvars, met)
    new = {i: of(v) for i, v in enumerate(step.jaxpr.outvars[:states])}
    # For each part of the state the parts that it changes, sooner or later.
    changes = {i: {("state", i)} for i in new}
    for _ in new:
        for reached in changes.values():
            reached |= {("state", k) for k in new if new[k] & reached}
    return {
        j
        for j, tap in enumerate(step.taps)
        for i in new
        if ("product", j) in new[i] and changes[i] & of(tap.changing)
    }


def _is_cut(step: Step, tap: Tap, size: int) -> bool:
    """Whether a product, or a function of each of its numbers, is cut at multiples of a size."""
    whole = {tap.result}
    for equation in step.jaxpr.eqns:
        if whole.intersection(_variables(equation.invars)):
            if equation.primitive.name in ("slice", "split", "dynamic_slice", "gather"):
                parts: list[Any] = equation.outvars
                return all((v.aval.shape or (1,))[-1] % size == 0 for v in parts)
            if equation.primitive.name != "dot_general":
                outs: list[Any] = equation.outvars
                whole.update(v for v in outs if v.aval.shape == tap.shape.shape)
    return False


def _variables(operands: Any) -> list:
    return [v for v in operands if not isinstance(v, Literal)]


def zero_input(cell: Layer) -> jax.Array:
    """One input of zeros, or the symbol 0."""
    if cell.input_axes:
        return jnp.zeros(input_size(cell), parameter_dtype(cell))
    return jnp.zeros((), jnp.int32)
