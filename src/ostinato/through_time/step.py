"""A cell's step, taken apart into its matrix products and the rest.

The engine needs to see every product `v @ R` of a step between something that
changes with time (`v`) and something that does not (`R`): the products are what
costs, their values are the pre-activations, and the gradient of `R` can wait
until all steps are done. A cell need not mark them. The step is traced once and
every matrix product with exactly one operand that changes with time is found:

    parameters only      -> done once, before the first step   `Step.prepare`
    v @ R (+ addend)     -> handed to the caller               `product(j, v, R, addend)`
    everything else      -> done at each step                  `Step.run`

So `step(h, u) = tanh(u + h @ (R * mask))` has one product, with the addend `u`,
and `R * mask` is computed once. A sum is taken along where the product is used
nowhere else: then its value is the whole pre-activation.

Products inside a `scan` or `cond` within the step are not found; they are differentiated exactly,
only more slowly. So is, with `real_only`, a product with an operand that is not a real float:
integers have no tangent.

The equations of a traced function are evaluated one by one; `env` is a dictionary from variables to
values.
"""

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from ..errors import BadInput
from .tap import Tap

CALLS = ("jit", "pjit", "closed_call", "eval_jaxpr", "core_call")
# The parameter that holds the called function; of all but `CALLS` the derivative is another's.
BODIES = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "closed_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",  # which is closed_call from JAX 0.12 on
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The function that an equation calls, whatever its derivative; `None` if it is no call."""
    name = equation.primitive.name
    body = equation.params[BODIES[name]] if name in BODIES else None
    if body is None or isinstance(body, ClosedJaxpr):  # JAX 0.12 has only one of the two kinds
        return body
    return ClosedJaxpr(body, ())


def loop_operands(params: Mapping[str, Any], given: Sequence) -> tuple[list, list, list]:
    """What the equation of a `scan` is given: constants, the first state, what goes by step."""
    if "ft_in" in params:  # as JAX has it from 0.11 on
        constants, carry, xs = params["ft_in"].update(given).unpack()
        return [*constants], [*carry], [*xs]
    start, end = params["num_consts"], params["num_consts"] + params["num_carry"]
    return [*given[:start]], [*given[start:end]], [*given[end:]]


def inline(jaxpr: Jaxpr, consts, args, calls: Sequence[str] = CALLS) -> list:
    """The outputs of a jaxpr, with every nested call of these names expanded in place."""
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        if name in calls:
            operands = [read(env, v) for v in equation.invars]
            if name == "paired":
                count = params["count"]
                values = params["forward"](operands[:count], operands[count:])
            else:
                inner = params["jaxpr" if "jaxpr" in params else "call_jaxpr"]
                values = inline(inner.jaxpr, inner.consts, operands, calls)
            env |= dict(zip(equation.outvars, values, strict=True))
        else:
            evaluate(equation, env)
    return [read(env, var) for var in jaxpr.outvars]


def evaluate(equation: JaxprEqn, env: dict) -> None:
    """Compute an equation from the values in `env`, and add its results there."""
    params = equation.primitive.get_bind_params(equation.params)
    out = equation.primitive.bind(*(read(env, var) for var in equation.invars), **params)
    env.update(
        zip(equation.outvars, out if equation.primitive.multiple_results else [out], strict=True)
    )


def read(env: dict, var):
    """The value of a variable, or of a literal."""
    return var.val if isinstance(var, Literal) else env[var]


Product = Callable[[int, jax.Array, jax.Array, jax.Array | None], jax.Array]
Change = Callable[[int, Tap, jax.Array, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True)
class Step:
    """A function of (parameters, what changes with time), split at its products.

    Attributes:
        taps: the products, in the order in which they are computed.
        names: for each product the path of its weight in the parameters, for example `.R`.
    """

    jaxpr: Jaxpr
    consts: Sequence
    taps: tuple[Tap, ...]
    names: tuple[str, ...]
    prologue: tuple[JaxprEqn, ...]
    remainder: tuple[JaxprEqn, ...]
    small: tuple[Var, ...]
    parameter_count: int
    out_tree: Any

    def prepare(self, parameters) -> tuple[list, list]:
        """The products' weights and the other constants of a step, from the parameters."""
        env = dict(zip(self.jaxpr.constvars, self.consts, strict=True))
        leaves = _arrays(parameters)
        env |= dict(zip(self.jaxpr.invars[: self.parameter_count], leaves, strict=True))
        for equation in self.prologue:
            evaluate(equation, env)
        return [read(env, tap.weight) for tap in self.taps], [env[var] for var in self.small]

    def run(self, weights, small, varying, product: Product):
        """One step; `product(j, v, weights[j], addend)` gives the value of the j-th product."""
        env = dict(zip(self.small, small, strict=True))
        leaves = jax.tree.leaves(varying)
        env |= dict(zip(self.jaxpr.invars[self.parameter_count :], leaves, strict=True))
        order = {id(tap.total or tap.equation): j for j, tap in enumerate(self.taps)}
        skipped = {id(tap.equation) for tap in self.taps if tap.total is not None}
        for equation in self.remainder:
            j = order.get(id(equation))
            if j is not None:
                tap = self.taps[j]
                addend = None if tap.addend is None else read(env, tap.addend)
                env[tap.result] = product(j, read(env, tap.changing), weights[j], addend)
            elif id(equation) not in skipped:
                evaluate(equation, env)
        return jax.tree.unflatten(self.out_tree, [read(env, var) for var in self.jaxpr.outvars])


def with_products(change: Change, function: Callable, parameters, *varying):
    """`function(parameters, *varying)` with each product `v @ weight` replaced.

    Args:
        change: `change(j, tap, v, weight)` gives what stands in place of the j-th product, in a
            dtype that can be rounded to that of the product: no float in place of an integer.
        function, parameters, varying: as for `take_apart`.
    """
    step = take_apart(function, parameters, *varying)
    weights, small = step.prepare(parameters)

    def product(j, v, weight, addend):
        value, dtype = change(j, step.taps[j], v, weight), step.taps[j].shape.dtype
        kinds = [jnp.issubdtype(x, jnp.floating) for x in (value.dtype, dtype)]
        if value.dtype != dtype and not all(kinds):
            raise BadInput(
                f"the product with {step.names[j] or 'a constant'} is in {dtype}: {value.dtype} "
                "cannot stand in its place"
            )
        value = value.astype(dtype)
        return value if addend is None else value + addend

    return step.run(weights, small, varying, product)


def with_connections(
    change: Callable[[jax.Array], jax.Array], function: Callable, parameters, *varying
):
    """`function(parameters, *varying)` with all that a weight takes from the old state changed.

    A weight takes something from the old state where it is multiplied with it: in a matrix product
    (`h @ R`), or number by number (`p * c`, where the parameter has at least one axis; a single
    number for all units is a leak and no weight). The operand reads the state directly, neither
    through another weight nor through the new state, as for `Tap.from_state`.

    Args:
        change: gives what stands in place of such a product.
        function, parameters, varying: as for `take_apart`; the first of `varying` is the state.
    """
    jaxpr, consts, out = _traced(function, parameters, varying)
    given = _arrays(parameters)
    count, states = len(given), len(jax.tree.leaves(varying[0]))
    prologue, remainder, changing = _split_by_time(jaxpr, count)
    weights = _made_from_weights(jaxpr.invars[:count], prologue)
    weighted = [
        equation
        for equation in remainder
        if _is_product(equation, changing) or _is_weighted(equation, changing, weights)
    ]
    before, after = jaxpr.invars[count : count + states], jaxpr.outvars[:states]
    reading = _reading_the_state(remainder, weighted, before, after)
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env |= dict(zip(jaxpr.invars, [*given, *jax.tree.leaves(varying)], strict=True))
    for equation in jaxpr.eqns:
        evaluate(equation, env)
        if id(equation) in reading:
            (result,) = equation.outvars
            dtype = env[result].dtype
            if not jnp.issubdtype(dtype, jnp.inexact):
                raise BadInput(f"a product of the state in {dtype} cannot be changed")
            env[result] = change(env[result]).astype(dtype)
    return jax.tree.unflatten(jax.tree.structure(out), [read(env, var) for var in jaxpr.outvars])


def take_apart(function: Callable, parameters, *varying, real_only: bool = False) -> Step:
    """Trace `function(parameters, *varying)` and split it at its products.

    The first of several `varying` is taken for the state.

    Args:
        function: for a cell, `lambda cell, state, u: cell.step(state, u)`.
        parameters: a cell, or any pytree; its arrays do not change with time.
        varying: pytrees of arrays, or of their shapes and dtypes.
        real_only: leave a product that is not between real floats (`Tap.is_real`) to the step.
    """
    jaxpr, consts, out = _traced(function, parameters, varying)
    count = len(_arrays(parameters))
    states = len(jax.tree.leaves(varying[0])) if len(varying) > 1 else 0
    prologue, remainder, changing = _split_by_time(jaxpr, count)
    products = [e for e in remainder if _is_product(e, changing)]
    before, after = jaxpr.invars[count : count + states], jaxpr.outvars[:states]
    reading = _reading_the_state(remainder, products, before, after)
    taps = _taps(jaxpr, products, changing, reading)
    names = _names(parameters, jaxpr, prologue, taps)
    if real_only:
        kept = [(tap, name) for tap, name in zip(taps, names, strict=True) if tap.is_real]
        taps, names = [tap for tap, _ in kept], tuple(name for _, name in kept)
    used = [var for equation in remainder for var in _constants(equation, taps)]
    used += jaxpr.outvars
    small = dict.fromkeys(v for v in used if not isinstance(v, Literal) and v not in changing)
    return Step(
        jaxpr=jaxpr,
        consts=consts,
        taps=tuple(taps),
        names=names,
        prologue=tuple(prologue),
        remainder=tuple(remainder),
        small=tuple(small),
        parameter_count=count,
        out_tree=jax.tree.structure(out),
    )


def _traced(function: Callable, parameters, varying) -> tuple[Jaxpr, Sequence, Any]:
    """The jaxpr of a function with every nested call expanded, its constants, its output shapes."""
    arrays, static = eqx.partition(parameters, eqx.is_array)

    def of_arrays(arrays, *varying):
        return function(eqx.combine(arrays, static), *varying)

    closed, out = jax.make_jaxpr(of_arrays, return_shape=True)(arrays, *varying)
    flat = jax.make_jaxpr(lambda *args: inline(closed.jaxpr, closed.consts, args))(*closed.in_avals)
    return flat.jaxpr, flat.consts, out


def _arrays(parameters) -> list[jax.Array]:
    return jax.tree.leaves(eqx.filter(parameters, eqx.is_array))


def _split_by_time(jaxpr: Jaxpr, count: int) -> tuple[list[JaxprEqn], list[JaxprEqn], set]:
    """The equations that depend on parameters alone, the others, and all that changes with time."""
    changing: set = set(jaxpr.invars[count:])
    prologue: list[JaxprEqn] = []
    remainder: list[JaxprEqn] = []
    for equation in jaxpr.eqns:
        if _variables(equation) & changing:
            changing.update(equation.outvars)
            remainder.append(equation)
        else:
            prologue.append(equation)
    return prologue, remainder, changing


def _is_product(equation: JaxprEqn, changing: set) -> bool:
    """Whether it is a matrix product of a value that changes with time and one that does not."""
    operands = [v in changing for v in equation.invars if not isinstance(v, Literal)]
    is_matrix_product = equation.primitive.name == "dot_general" and len(operands) == 2
    return is_matrix_product and operands.count(True) == 1


def _made_from_weights(parameters: list, prologue: list[JaxprEqn]) -> set:
    """The float parameters that are more than a single number, and what is made from them."""
    derived = {v for v in parameters if v.aval.ndim and jnp.issubdtype(v.aval.dtype, jnp.inexact)}
    for equation in prologue:
        if _variables(equation) & derived:
            derived.update(equation.outvars)
    return derived


def _is_weighted(equation: JaxprEqn, changing: set, weights: set) -> bool:
    """Whether it multiplies a value that changes with time, number by number, with a weight."""
    operands = _variables(equation)
    return equation.primitive.name == "mul" and len(operands & changing) == 1 == len(
        operands & weights
    )


def _reading_the_state(remainder: list, products: list, before: list, after: list) -> set[int]:
    """The products (by `id`) whose operand reads the state before the step directly.

    Three kinds of values are told apart:

        direct    the old state, and what follows from it without a product
        computed  what follows from a product
        fresh     parts of the new state that were computed, and what follows from them

    A product reads the state if its operand is direct and not fresh: in `h = tanh(h @ R + u)` the
    first product does, and `h @ V`, which reads the new h, does not.
    """
    direct: set = set(before)
    computed: set = set()
    fresh: set = set()
    new_state = {v for v in after if not isinstance(v, Literal)}
    is_product = {id(equation) for equation in products}
    reading: set[int] = set()
    for equation in remainder:
        operands, results = _variables(equation), equation.outvars
        if operands & direct and not operands & fresh and id(equation) in is_product:
            reading.add(id(equation))
        if operands & computed:
            computed.update(results)
        if operands & fresh:
            fresh.update(results)
        fresh.update(new_state.intersection(results) & computed)
        if id(equation) in is_product:
            computed.update(results)
        elif operands & direct:
            direct.update(results)
    return reading


def _taps(jaxpr: Jaxpr, products: list[JaxprEqn], changing: set, reading: set[int]) -> list[Tap]:
    """Each product, together with the sum that alone uses its value."""
    uses = collections.Counter(id(var) for e in jaxpr.eqns for var in e.invars)
    uses.update(id(var) for var in jaxpr.outvars)
    taps: list[Tap] = []
    for equation in products:
        total = None if uses[id(equation.outvars[0])] != 1 else _sum_with(equation, jaxpr)
        if any(tap.total is total for tap in taps):
            total = None  # of two products that are added, the first takes the sum
        left = equation.invars[0]
        weight_first = isinstance(left, Literal) or left not in changing
        taps.append(_tap(equation, total, weight_first, id(equation) in reading))
    return taps


def _variables(equation: JaxprEqn) -> set:
    return {var for var in equation.invars if not isinstance(var, Literal)}


def _sum_with(equation: JaxprEqn, jaxpr: Jaxpr) -> JaxprEqn | None:
    """The addition that uses the value of a product."""
    for user in jaxpr.eqns:
        if any(var is equation.outvars[0] for var in user.invars):
            return user if user.primitive.name == "add" else None
    return None


def _tap(equation: JaxprEqn, total, weight_first: bool, from_state: bool) -> Tap:
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = ([next(letters) for _ in shape] for shape in _shapes(equation))
    for i, j in zip((*left_sum, *left_batch), (*right_sum, *right_batch), strict=True):
        right[j] = left[i]
    out = [left[i] for i in left_batch]
    out += [axis for i, axis in enumerate(left) if i not in (*left_sum, *left_batch)]
    out += [axis for j, axis in enumerate(right) if j not in (*right_sum, *right_batch)]
    v, w = (right, left) if weight_first else (left, right)
    return Tap(equation, total, weight_first, from_state, "".join(v), "".join(w), "".join(out))


def _shapes(equation: JaxprEqn) -> list[tuple[int, ...]]:
    avals: list[Any] = [var.aval for var in equation.invars]
    return [aval.shape for aval in avals]


def _constants(equation: JaxprEqn, taps: list[Tap]) -> list:
    """The operands of an equation that are read at each step, a product's weight excepted."""
    weight = [tap.weight for tap in taps if tap.equation is equation]
    return [var for var in equation.invars if not any(var is w for w in weight)]


def _names(parameters, jaxpr: Jaxpr, prologue, taps) -> tuple[str, ...]:
    """Each product named by the path of the first parameter that its weight is made from."""
    arrays = eqx.filter(parameters, eqx.is_array)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(arrays)]
    source = dict(zip(jaxpr.invars, paths, strict=False))
    for equation in prologue:
        known = [source.get(v, "") for v in equation.invars if not isinstance(v, Literal)]
        name = next(filter(None, known), "")
        source |= dict.fromkeys(equation.outvars, name)
    names: list[str] = []
    for tap in taps:
        name = source.get(tap.weight, "")
        repeats = sum(other.split("#")[0] == name for other in names)
        names.append(f"{name}#{repeats + 1}" if repeats else name)
    return tuple(names)
