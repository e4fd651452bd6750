"""Checks of derivatives: finite, correct, the same by every method, and none missing."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from .case import Case, of_steps, quickly
from .explain import CellError
from .trees import at, dot, norm

SIZES = (1e-5, 1e-4, 1e-6, 1e-3, 1e-7)  # step sizes of finite differences, most likely first
ENTRIES = 64  # of an array, checked one by one where the function may have kinks


def derivative_is_finite(case: Case) -> None:
    """No derivative is NaN or infinite, at `initial` or later."""
    for place, gradient in case.gradients.items():
        state = jax.tree.leaves(case.places[place][2])
        names = _names(case)
        slopes = jax.tree.leaves(gradient)
        for i, (name, slope) in enumerate(zip(names, slopes, strict=True)):
            finite = np.isfinite(slope)
            if (j := i - len(slopes) + len(state)) >= 0:
                finite |= ~np.isfinite(state[j])  # along an infinite entry there is no derivative
            if not finite.all():
                what = "NaN" if np.isnan(slope).any() else "infinite"
                raise CellError(
                    f"step: the derivative with respect to {name} is {what} from {place}, where "
                    "the value is finite: look for a root, norm or division at zero, and keep zero "
                    "from it with jnp.where before it, or add a small number"
                )


def derivative_is_right(case: Case) -> None:
    """The gradient agrees with finite differences, for each parameter, inputs and state.

    It is compared with central differences of several step sizes, at two states. If none agrees,
    entries are checked one by one: at a kink, such as that of ReLU, no slope is right or wrong.
    """
    names = _names(case)
    wrong: dict[str, tuple[float, float]] = {}
    for place, gradient in case.gradients.items():
        for i, name in enumerate(names):
            if name not in wrong and (slopes := _compared(case, place, gradient, i)):
                wrong[name] = slopes
    if not wrong:
        return
    (first, (claimed, measured)), *_ = wrong.items()
    all_names = " and ".join([", ".join(list(wrong)[:-1]), list(wrong)[-1]]).removeprefix(" and ")
    if all(slope == 0 for slope, _ in wrong.values()):
        raise CellError(
            f"step: the derivative with respect to {all_names} is zero, but the outputs depend on "
            f"it (finite differences give {measured:.9g}): look for stop_gradient, or a custom "
            "derivative, in inputs and step"
        )
    raise CellError(
        f"step: the derivative with respect to {all_names} is wrong: along one direction "
        f"{'' if len(wrong) == 1 else 'of ' + first + ' '}it is {claimed:.9g}, finite differences "
        f"give {measured:.9g}; look at the custom_jvp, custom_vjp or stop_gradient on its way"
    )


def _compared(case: Case, place: str, gradient: tuple, i: int) -> tuple[float, float] | None:
    """The claimed and the measured slope along a direction in the i-th array, if they differ."""
    moving = case.places[place]
    x, slope = (np.asarray(jax.tree.leaves(tree)[i]) for tree in (moving, gradient))
    fixed = ~np.isfinite(x)

    def along(direction: np.ndarray) -> tuple[Callable[[float], float], float]:
        def loss(moved: float) -> float:
            changed = np.where(fixed, x, x + moved * direction)
            return float(case.slopes(_with_leaf(moving, i, changed), place)[0])

        return loss, dot(np.where(fixed, 0, slope), direction)

    random = np.random.default_rng(i).standard_normal((2, *slope.shape))
    normal = random[0] + 1j * random[1] if np.iscomplexobj(slope) else random[0]
    steepest = np.where(fixed, 0, slope.conj())
    loss, claimed = along(normal / _length(normal) + steepest / _length(steepest))
    if _agrees(loss, claimed):
        return None
    for direction in _entries(steepest, i):  # one at a time, so that kinks do not mix
        one, own = along(direction)
        if not _agrees(one, own) and not _is_at_kink(one, own):
            return own, _central(one, SIZES[0])
    if slope.size > ENTRIES and not _is_at_kink(loss, claimed):
        return claimed, _central(loss, SIZES[0])
    return None


def _with_leaf(tree: Any, i: int, leaf: np.ndarray) -> Any:
    """A tree with another i-th array."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, [*leaves[:i], leaf, *leaves[i + 1 :]])


def _length(x: np.ndarray) -> float:
    return max(float(np.linalg.norm(x)), 1e-300)


def _entries(steepest: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Directions along single entries: those with the largest slopes, and random others."""
    order = np.argsort(-np.abs(steepest).ravel(), kind="stable")
    first, rest = order[: ENTRIES // 2], order[ENTRIES // 2 :]
    others = np.random.default_rng(seed).permutation(rest)[: ENTRIES // 2]
    for entry, unit in itertools.product((*first, *others), _units(steepest)):
        direction = np.zeros(steepest.size, steepest.dtype)
        direction[entry] = unit
        yield direction.reshape(steepest.shape)


def _units(like: np.ndarray) -> tuple[complex, ...]:
    return (1, 1j) if np.iscomplexobj(like) else (1,)


def _central(loss: Callable[[float], float], size: float) -> float:
    return (loss(size) - loss(-size)) / (2 * size)


def _noise(value: float, size: float) -> float:
    """The rounding error to expect in a difference quotient."""
    return 64 * float(np.finfo(float).eps) * abs(value) / size


def _agrees(loss: Callable[[float], float], claimed: float) -> bool:
    """Whether a slope agrees with central differences of some step size.

    Four digits have to agree, unless no step size can show so many: of a slope that is far smaller
    than the value, rounding leaves as much as it leaves.
    """
    value, widest = loss(0.0), max(SIZES)
    steepest = max(abs(claimed), abs(_central(loss, widest)))
    shows = _noise(value, widest) <= 1e-4 * steepest
    for size in SIZES:
        measured = _central(loss, size)
        largest = max(abs(measured), abs(claimed))
        noise = min(_noise(value, size), 1e-4 * largest if shows else np.inf)
        if abs(measured - claimed) <= 1e-6 * largest + noise + 1e-9:
            return True
    return False


def _is_at_kink(loss: Callable[[float], float], claimed: float) -> bool:
    """Whether the one-sided slopes differ, by about as much as the claimed slope is off.

    Where several kinks meet, as in |x| + relu(x) at zero, JAX's slope need not lie between the
    one-sided slopes. At the edge of the region where the loss is finite, any slope is accepted. A
    weak kink counts too, such as one that small weights let through: over so short a step the
    slopes of a smooth function differ by far less than 1e-5 of them.
    """
    size, value = SIZES[-1], loss(0.0)
    right, left = (loss(size) - value) / size, (value - loss(-size)) / size
    if not np.isfinite([right, left]).all():
        return True
    jump, noise = abs(right - left), _noise(value, size)
    is_kink = jump > 1e-5 * max(abs(right), abs(left)) + 4 * noise
    return is_kink and abs(claimed - (right + left) / 2) <= 2 * jump


def forward_mode_is_reverse_mode(case: Case) -> None:
    """`⟨w, J t⟩ = ⟨Jᵀ w, t⟩`: forward and reverse mode use the same Jacobian."""
    _, change = quickly(lambda m, t: jax.jvp(case.run, (m,), (t,)))(case.moving, case.tangent)
    forwards = dot(jax.tree.map(np.conj, case.weights), change)
    reverse = dot(case.gradient, case.tangent)
    if not abs(forwards - reverse) <= 1e-10 * max(norm(case.gradient) * norm(case.tangent), 1e-12):
        raise CellError(
            f"step: forward mode gives {forwards:.15g}, reverse mode {reverse:.15g}: look at its "
            "custom_jvp or custom_vjp"
        )


def _differ(gradient: tuple, from_gradient: tuple) -> bool:
    apart = jax.tree.map(lambda x, y: np.asarray(x) - np.asarray(y), gradient, from_gradient)
    return not norm(apart) <= 1e-10 * max(1.0, norm(from_gradient))


@of_steps
def gradient_is_that_of_a_scan(case: Case) -> None:
    """The gradient of `unroll` is that of `jax.lax.scan` over the steps."""
    plain = quickly(jax.grad(lambda moving: case.loss(case.run_scan(moving))))(case.moving)
    if _differ(case.gradient, plain):
        raise CellError("step: the gradient of unroll is not that of jax.lax.scan over step")


def memory_changes_nothing(case: Case) -> None:
    """`memory="sqrt"` gives the same value and gradient as `memory="all"`."""
    if _right_over_seeds(case, memory="sqrt"):
        return  # so it is right for one seed

    def lean(moving: tuple) -> jax.Array:
        return case.loss(case.run(moving, memory="sqrt"))

    value, gradient = quickly(jax.value_and_grad(lean))(case.moving)
    if _differ(gradient, case.gradient):
        raise CellError("step: unroll(..., memory='sqrt') changes the gradient")
    if not abs(value - case.slopes(case.moving)[0]) <= 1e-10 * max(1.0, abs(value)):
        raise CellError("step: unroll(..., memory='sqrt') changes the value")


def vmap_over_seeds_works(case: Case) -> None:
    """`vmap` over several sets of parameters gives the gradient of each."""
    # What is right with `memory="sqrt"`, which is compiled anyway, need not be compiled without.
    if not _right_over_seeds(case, memory="sqrt") and not _right_over_seeds(case, memory="all"):
        raise CellError("step: vmap over parameters gives another gradient")


def _right_over_seeds(case: Case, memory: str) -> bool:
    """Whether `vmap` over two sets of parameters gives the value and gradient of each alone."""
    if memory not in case.right_over_seeds:
        both = jax.tree.map(
            lambda x, t: np.stack([x, np.asarray(x) + 0.1 * t]), case.moving, case.tangent
        )
        loss = jax.value_and_grad(lambda moving: case.loss(case.run(moving, memory=memory)))
        many = jax.device_get(quickly(jax.vmap(loss))(both))
        case.right_over_seeds[memory] = all(
            not any(map(_differ, at(many, n), case.slopes(at(both, n)))) for n in range(2)
        )
    return case.right_over_seeds[memory]


def every_parameter_is_reached(case: Case) -> None:
    """No parameter has a gradient of exactly zero."""
    for i, name in enumerate(_names(case)):
        slopes = [jax.tree.leaves(gradient)[i] for gradient in case.gradients.values()]
        if not name.startswith("parameter") or any(np.any(slope) for slope in slopes):
            continue

        def loss(moved: float, i: int = i) -> float:
            x, direction = (jax.tree.leaves(tree)[i] for tree in (case.moving, case.tangent))
            return float(case.slopes(_with_leaf(case.moving, i, x + moved * direction))[0])

        if not _agrees(loss, 0.0):
            continue  # a wrong derivative, which another check reports
        why = (
            "nothing reads it: use it in step or inputs, or remove it"
            if loss(1.0) == loss(0.0)
            else "step or inputs reads it by way of round, sign, argmax or a comparison, which "
            "have no slope: use a smooth function"
        )
        raise CellError(f"the loss never reaches the {name}, its gradient is zero: {why}")


def _names(case: Case) -> list[str]:
    """A name for each array that is differentiated."""
    kinds = ("parameter", "inputs", "state")
    return [
        f"{kinds[path[0].idx]} {jax.tree_util.keystr(path[1:])}".strip()
        for path, _ in jax.tree_util.tree_leaves_with_path(case.moving)
    ]
