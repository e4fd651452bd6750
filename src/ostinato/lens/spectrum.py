"""Spectral measures: spectral radius, largest singular value, fixed points, Lyapunov exponent.

The first two are of the matrices by which the units act on each other from step to step.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from ..cells import Layer, Model
from ..cells.building import input_size, parameter_dtype
from ..errors import BadInput
from ..through_time.check import check_can_step, sizes
from ..through_time.step import Step, take_apart
from ..through_time.tap import Tap
from .jacobians import OnVectors


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


def spectral_radius(matrix: Any) -> np.ndarray:
    """The largest absolute eigenvalue of each matrix `(..., n, n)`.

    It does not bound the largest singular value. Galvan (2015), section 1.6, equates the two for
    diagonalisable matrices, but [[0.5, 10], [0, 0.4]] has a spectral radius of 0.5 and a largest
    singular value of 10.02.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise BadInput(f"spectral_radius needs square matrices, got shape {matrix.shape}")
    return np.abs(np.linalg.eigvals(matrix)).max(axis=-1)


class FixedPoint(NamedTuple):
    """A state that a step does not change.

    Attributes:
        state: the state, a pytree as the cell uses it.
        residual: `‖step(s) - s‖`.
        eigenvalues: of the step's Jacobian at the point, largest modulus first: complex `(n,)`.
        stable: whether every modulus is below 1, so that nearby states converge to the point.
    """

    state: Any
    residual: float
    eigenvalues: np.ndarray
    stable: bool


def fixed_points(
    cell: Layer,
    x: Any = None,
    *,
    starts: int = 100,
    key: jax.Array,
    scale: float = 1.0,
    iterations: int = 100,
    tolerance: float | None = None,
    apart: float = 1e-3,
) -> list[FixedPoint]:
    """States with `s = step(s, inputs(x))`, for a constant input.

    From random starting states, damped Gauss-Newton steps (Levenberg-Marquardt) minimise
    `‖step(s) - s‖²`; they find stable and unstable points alike. Minima above zero are dropped and
    duplicates merged. Where the fixed points form a continuum, such as a line attractor, each start
    yields its own point. A noisy cell uses the noise of its first step throughout; turn noise off
    for a meaningful result.

    Sources: Sussillo and Barak (2013); for stability, Delgado del Cerro (2021), section 2.4.

    Args:
        cell: a cell or a network that has a step.
        x: one input, `(inputs,)` or a symbol; by default zeros, or the symbol 0.
        starts: number of random starting states.
        key: random key for the starting states.
        scale: standard deviation of their entries, which are drawn from N(0, scale²).
        iterations: number of search steps; each solves a linear system of size n.
        tolerance: the largest residual that counts as zero, relative to `1 + ‖s‖`; by default
            `ε^(2/3)`, which is 4e-11 in float64 and 2e-5 in float32.
        apart: points closer than this, relative to `1 + ‖s‖`, count as duplicates.

    Returns:
        The points found, most stable first.

    Example:
        >>> key = jax.random.key(0)
        >>> cell = eqx.tree_at(lambda c: c.R, Simple(1, 1, key=key), jnp.array([[2.0]]))
        >>> [(abs(round(p.state.item(), 3)), p.stable) for p in fixed_points(cell, key=key)]
        [(0.958, True), (0.958, True), (0.0, False)]
    """
    check_can_step(cell, "fixed_points")
    xs = jax.tree.map(lambda x: jnp.asarray(x)[None], zero_input(cell) if x is None else x)
    if sizes(cell, xs)[1]:
        raise BadInput(f"fixed_points needs one input without batch axes, got {jnp.shape(x)}")
    cell.check_inputs(xs)
    ends = _search(cell, xs, key, starts, scale, iterations)
    points, residuals, jacobians = jax.device_get(ends)
    if tolerance is None:
        tolerance = float(jnp.finfo(points.dtype).eps) ** (2 / 3)
    reach = 1 + np.linalg.norm(points, axis=1)
    kept: list[int] = []
    for i in np.argsort(residuals):
        near = np.linalg.norm(points[kept] - points[i], axis=1) < apart * reach[i]
        if residuals[i] <= tolerance * reach[i] and not near.any():
            kept.append(i)
    on = OnVectors(cell, xs)
    result = []
    for i in kept:
        values = np.linalg.eigvals(jacobians[i])
        values = values[np.argsort(-np.abs(values))].astype(complex)
        stable = bool(np.abs(values[0]) < 1)
        state = on.state(jnp.asarray(points[i]), on.fixed)
        result.append(FixedPoint(state, float(residuals[i]), values, stable))
    return sorted(result, key=lambda point: abs(point.eigenvalues[0]))


def lyapunov_exponent(
    cell: Layer, xs: Any, state: Any = None, *, key: jax.Array, burn_in: int | None = None
) -> jax.Array:
    """The largest Lyapunov exponent: the mean of `log(‖δ_t‖ / ‖δ_{t-1}‖)` over time.

    `δ_t = ∂s_t/∂s_{t-1} δ_{t-1}` is an infinitesimal perturbation of the state, propagated along
    the trajectory that the inputs drive and normalised after each step. If the exponent is
    negative, nearby trajectories converge and the past is forgotten; if it is positive, they
    diverge, which is chaos.

    Source: Benettin et al. (1980).

    Args:
        cell: a cell or a network that has a step.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`. Longer
            sequences give a better estimate.
        state: the state before the first step; by default the cell's own.
        key: random key for the initial perturbation.
        burn_in: number of initial steps to discard while the perturbation aligns with the
            direction of fastest growth; by default a quarter of all steps.

    Returns:
        The exponent of each sequence, `(*batch,)`; -∞ if the perturbation becomes exactly zero.

    Example:
        >>> key = jax.random.key(0)
        >>> wide = ostinato.cells.initialisers.normal(0.2)
        >>> cell = Simple(1, 100, key=key, recurrent=wide)
        >>> bool(lyapunov_exponent(cell, jax.random.normal(key, (1000, 1)), key=key) > 0)  # chaos
        True
    """
    check_can_step(cell, "lyapunov_exponent")
    cell.check_inputs(xs)
    steps, _ = sizes(cell, xs)
    burn_in = steps // 4 if burn_in is None else burn_in
    if not 0 <= burn_in < steps:
        raise BadInput(f"burn_in must leave some of the {steps} steps, got {burn_in}")
    return jnp.mean(_log_growth(cell, xs, state, key)[burn_in:], axis=0)


@eqx.filter_jit
def _log_growth(cell: Layer, xs: Any, state: Any, key: jax.Array) -> jax.Array:
    on = OnVectors(cell, xs, state)
    direction = jax.random.normal(key, on.start.shape, on.start.dtype)

    def body(carry: Any, u: Any) -> tuple[Any, jax.Array]:
        s, fixed, direction = carry
        new, moved, fixed = jax.jvp(
            lambda s: on.step(s, fixed, u), (s,), (direction,), has_aux=True
        )
        length, direction = _lengths(moved)
        return (new, fixed, direction), jnp.log(length)

    _, logs = jax.lax.scan(body, (on.start, on.fixed, _lengths(direction)[1]), on.us)
    return logs


def _lengths(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The norm of each vector, and the normalised vector; the zero vector stays zero."""
    length = jnp.linalg.norm(x, axis=-1, keepdims=True)
    return length[..., 0], x / jnp.where(length > 0, length, 1)


@eqx.filter_jit
def _search(
    cell: Layer, xs: Any, key: jax.Array, starts: int, scale: float, iterations: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The end point of the search from each start, its residual, and the step's Jacobian there."""
    on = OnVectors(cell, xs)
    u = jax.tree.map(lambda u: u[0], on.us)
    identity = jnp.eye(on.start.size, dtype=on.start.dtype)

    def step(s: jax.Array) -> jax.Array:
        return on.step(s, on.fixed, u)[0]

    def gap(s: jax.Array) -> jax.Array:
        return step(s) - s

    def improve(_: Any, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        s, damping = carry
        here, push = jax.linearize(gap, s)
        A = jax.vmap(push, out_axes=1)(identity)
        change = jnp.linalg.solve(A.T @ A + damping * identity, -A.T @ here)
        better = jnp.linalg.norm(gap(s + change)) < jnp.linalg.norm(here)  # false for NaN
        damping = jnp.where(better, damping / 10, damping * 10)
        return jnp.where(better, s + change, s), jnp.clip(damping, 1e-15, 1e15)

    def search(s: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        s, _ = jax.lax.fori_loop(0, iterations, improve, (s, jnp.ones((), s.dtype)))
        return s, jnp.linalg.norm(gap(s)), jax.jacfwd(step)(s)

    return jax.vmap(search)(
        scale * jax.random.normal(key, (starts, *on.start.shape), on.start.dtype)
    )
