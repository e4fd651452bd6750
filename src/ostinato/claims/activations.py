"""What the activation does to gradients and outputs: sigmoid, squashing, ReLU and its paths."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..cells.activations import activation
from ..lens import path_sum
from .claim import Falsehood, Finding, Theme
from .tools import Nets, drawn, gap, logistic, numbers, run

THEME = Theme()

NETS, UNITS, LAG = 1000, 4, 5
STEEPEST = 0.25  # of the logistic function
BELOW = "holds when the largest weight is below that, not equal to it"


def growth(most: float, units: int, steps: int = 30) -> tuple[float, np.ndarray]:
    """‖∂a_t/∂a_k‖ to the power 1/(t - k), in the norm that the max-norm bound comes from.

    Of the worst net, whose weights are all equal and whose inputs keep every unit where it is
    steepest, and of random nets.
    """
    rng = np.random.default_rng(0)
    equal = np.full((1, units, units), most)
    balance = -equal.sum(axis=-1) / 2  # a = R σ(0) + u = 0
    us = np.concatenate([np.zeros((1, 1, units)), np.tile(balance, (steps, 1, 1))])
    spread = rng.uniform(-most, most, (NETS, units, units))
    random = spread, rng.normal(size=(steps + 1, NETS, units))
    rates = []
    for R, inputs in ((equal, us), random):
        nets = run(R, inputs, logistic, lambda a: logistic(a) * (1 - logistic(a)))
        *_, (lag, J) = nets.jacobians()
        rates.append(np.abs(J).sum(axis=2).max(axis=1) ** (1 / lag))
    return float(rates[0][0]), rates[1]


@THEME.claim(
    "Errors decay exponentially if no weight is larger than 1 / (r σ'max), for r units whose slope "
    "is at most σ'max.",
    "Galvan (2015), section 1.6, after eq. 1.67, where the value for the sigmoid, 4 / r, is "
    "left out",
    BELOW,
    Falsehood(
        "the limit 1 / σ'max, without the number of units",
        {"limit": lambda units, steepest: 1 / steepest},
        "false",
    ),
)
def sigmoid_weights(limit: Callable = lambda units, steepest: 1 / (units * steepest)) -> Finding:
    """Growth of the error per step with weights up to 97.5 % of the limit, and up to the limit."""
    units = 10
    most = limit(units, STEEPEST)
    even, spread = growth(0.975 * most, units)
    at_limit, _ = growth(most, units)
    worst = max(even, float(spread.max()))
    verdict = "holds" if at_limit < 1 - 1e-9 else BELOW
    return Finding(
        verdict if worst < 1 else "false",
        f"in {NETS + 1:,} nets of {units} logistic units with weights up to {0.975 * most:g} the "
        f"error is multiplied by at most {worst:.3f} per step; at the limit, {most:g}, it is by "
        f"{at_limit:.3f} where all weights are equal and all units at their steepest.",
        {
            "worst growth below the limit": worst,
            "median growth below the limit": float(np.median(spread)),
            "growth at the limit": at_limit,
        },
    )


TAU, AWAY = 0.3, 0.1
SLOPE = 1000.0  # α
Squashing = tuple[Callable, Callable, float, float]  # f, f' as a function of f, its two limits
SQUASHING: tuple[Squashing, ...] = (
    (logistic, lambda y: y * (1 - y), 0.0, 1.0),
    (np.tanh, lambda y: 1 - y**2, -1.0, 1.0),
)
RELU: Squashing = (lambda a: np.maximum(a, 0), lambda y: 1.0 * (y > 0), 0.0, 1.0)


@THEME.claim(
    "As α grows a squashing function f(α (x - τ)) tends to a step from its lower to its upper "
    "value, the lower one at x ≤ τ; where it has become one, its gradient is gone.",
    "Galvan (2015), section 1.4: remark 3, eq. 1.50, and on saturation after eq. 1.52",
    "holds when x is not τ",
    Falsehood(
        "ReLU, which is no squashing function, in place of tanh",
        {"functions": (SQUASHING[0], RELU)},
        "false",
    ),
)
def squashing_becomes_a_step(functions: tuple[Squashing, ...] = SQUASHING) -> Finding:
    """Compare `f(α (x - τ))` with its limit, at a distance from τ and at τ itself."""
    x = np.linspace(-1, 1, 201)
    x = x[np.abs(x - TAU) >= AWAY - 1e-12]
    worst, gradient, at_tau, steepest = 0.0, 0.0, np.inf, np.inf
    with np.errstate(over="ignore"):
        for f, derivative, low, high in functions:
            y, at_zero = f(SLOPE * (x - TAU)), f(np.zeros(()))
            worst = max(worst, np.abs(y - np.where(x > TAU, high, low)).max())
            gradient = max(gradient, np.abs(SLOPE * derivative(y)).max())
            at_tau = min(at_tau, at_zero - low)
            steepest = min(steepest, SLOPE * derivative(at_zero))

    def draw(axes: Any) -> None:
        fine = np.linspace(-1, 1, 801)
        for alpha in (1, 5, 25, 125):
            axes.plot(fine, logistic(alpha * (fine - TAU)), label=f"α = {alpha}")
        axes.set(xlabel="x", ylabel="logistic(α (x - τ))")
        axes.legend()

    tends = worst < 1e-12 and gradient < 1e-12
    verdict = "holds" if at_tau < 1e-12 else "holds when x is not τ"
    return Finding(
        verdict if tends else "false",
        f"with a slope of {SLOPE:g}, the functions differ {AWAY:g} away from τ from a step by "
        f"{worst:.0g} and have the gradient {gradient:.0g}; at τ they stay {at_tau:.1f} above the "
        f"lower value and have the gradient {steepest:.0f}.",
        {
            "difference": float(worst),
            "gradient": float(gradient),
            "above the lower value at τ": float(at_tau),
            "gradient at τ": float(steepest),
        },
        draw,
    )


@THEME.claim(
    "With ReLU units an entry of ∂a_t/∂a_k is the sum, over the paths all of whose units are "
    "active, of the products of their weights.",
    "Galvan (2015), section 1.6, eq. 1.72 and fig. 1.12",
    "holds",
    Falsehood("tanh units in place of ReLU", {"f": "tanh"}, "false"),
)
def relu_paths(f: str = "relu") -> Finding:
    """Sum the weights of the enabled paths of a net with the activation `f`."""
    cell = drawn(Simple, UNITS, UNITS, f=f)
    xs = numbers(1, LAG + 1, UNITS)
    first, *us = cell.inputs(xs)

    def last(a: jax.Array) -> jax.Array:
        for u in us:
            a = activation(f)(a) @ cell.R + u
        return a

    J, enabled, total = np.zeros((UNITS, UNITS)), 0, 0
    for i, j in np.ndindex(J.shape):
        paths = path_sum(cell, xs, i, j, from_step=0, to_step=LAG)
        J[i, j] = paths.weights[paths.enabled].sum()
        enabled, total = enabled + paths.enabled_number, total + paths.number
    error = gap(J, jax.jit(jax.jacfwd(last))(first))
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"over a lag of {LAG} steps {enabled} of the {total:,} paths between {UNITS} units are "
        f"enabled, and their sums differ from automatic differentiation by {error:.0g}.",
        {"enabled": enabled, "paths": total, "relative error": error},
    )


TENTH = NETS // 10
ONE_SIGN = "holds when all path costs have the same sign and the power is t - k"


@THEME.claim(
    "With ReLU units the size of an entry of ∂a_t/∂a_k ranges from 0, where no path is enabled, to "
    "that of the entry of W^(t-k-1), where all paths are enabled and have costs of the same sign.",
    "Galvan (2015), section 1.6, after fig. 1.12",
    ONE_SIGN,
    Falsehood("units with the slope 1.1 where they are active", {"slope": 1.1}, "false"),
)
def relu_paths_bound(slope: float = 1.0) -> Finding:
    """Compare the Jacobian with the power of the weights, for units `slope · relu(a)`.

    Inputs can bring a to any value, so it is drawn: positive everywhere in the first tenth of the
    nets, where all paths are enabled, and negative at one step in the second tenth, where none is.
    """
    rng = np.random.default_rng(0)
    R, a = rng.normal(size=(NETS, UNITS, UNITS)), rng.normal(size=(LAG, NETS, UNITS))
    a[:, :TENTH] = np.abs(a[:, :TENTH])
    a[2, TENTH : 2 * TENTH] = -np.abs(a[2, TENTH : 2 * TENTH])
    signs = rng.choice([-1.0, 1.0], (NETS, UNITS))
    alike = signs[:, :, None] * np.abs(R) * signs[:, None, :]  # all paths from j to i of one sign

    def sizes(R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        *_, (_, J) = Nets(R, slope * (a > 0)).jacobians()
        long, short = (np.abs(np.linalg.matrix_power(R, power)) for power in (LAG, LAG - 1))
        return np.abs(J), long, short

    def above(J: np.ndarray, power: np.ndarray) -> float:
        return float(np.mean(J > power * (1 + 1e-9)))

    J, power, printed = sizes(alike)
    of_both_signs, bound, _ = sizes(R)
    over, over_printed, mixed = above(J, power), above(J, printed), above(of_both_signs, bound)
    reached = gap(J[:TENTH], power[:TENTH])
    least = float(J[TENTH : 2 * TENTH].max())
    verdict = "holds" if mixed == over_printed == 0 else ONE_SIGN
    return Finding(
        verdict if over == least == 0 and reached < 1e-12 else "false",
        f"where all paths have the same sign, {over:.0%} of the entries are larger than those of "
        f"R^{LAG}, which are reached to {reached:.0g} where all paths are enabled, and "
        f"{over_printed:.0%} larger than those of R^{LAG - 1}, as printed; with weights of both "
        f"signs {mixed:.0%} are larger than those of R^{LAG}, because a disabled path may be one "
        f"that cancels others.",
        {
            "share above, one sign": over,
            "share above as printed": over_printed,
            "share above, both signs": mixed,
            "off where all paths are enabled": reached,
            "largest where none is": least,
        },
    )


def jump(a: jax.Array) -> jax.Array:
    """A step, whose derivative is zero on both sides of a jump that is near."""
    return jnp.where(a > -0.25, 1.0, 0.0)


@THEME.claim(
    "Where ∂a_T/∂a_k is zero for all k < τ, the output does not depend on the inputs before τ: a "
    "poor solution.",
    "Galvan (2015), section 1.6, poor solutions",
    "holds when the inputs change little",
    Falsehood("a memory with a step in place of ReLU", {"remembers": jump}, "false"),
)
def poor_solutions(remembers: Callable = jax.nn.relu) -> Finding:
    """A ReLU net whose memory wakes only for inputs above one.

    `m_t = remembers(m_{t-1} + x_t - 1)`, and `y_t = relu(m_{t-1} + x_t)` is the output.
    """

    @jax.jit
    def output(xs: jax.Array) -> jax.Array:
        m = y = jnp.zeros(())
        for x in xs:
            y = jax.nn.relu(m + x)
            m = remembers(m + x - 1.0)
        return y

    steps = 6
    xs = np.random.default_rng(0).uniform(0.2, 0.8, steps)
    early = np.arange(steps) < steps - 1
    derivative = float(np.abs(jax.jit(jax.grad(output))(xs)[:-1]).max())
    little, much = (float(np.abs(output(xs + early * size) - output(xs))) for size in (0.1, 2.0))
    verdict = "holds" if much == 0 else "holds when the inputs change little"
    return Finding(
        verdict if derivative == 0 and little == 0 else "false",
        f"a net has a derivative of {derivative:g} by all inputs but the last; raising them "
        f"by 0.1 changes its output by {little:g}, raising them by 2 by {much:.2g}.",
        {"derivative": derivative, "change by 0.1": little, "change by 2": much},
    )


def xor_error(f: Callable) -> float:
    """The least mean squared error on XOR, over one step, of any readout of `f(a)`."""
    rng = np.random.default_rng(0)
    xs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    targets = np.array([0.0, 1.0, 1.0, 0.0])
    h = f(xs @ rng.normal(size=(2, 20)) + rng.normal(size=20))
    design = np.concatenate([h, np.ones((len(h), 1))], axis=1)
    weights = np.linalg.lstsq(design, targets)[0]
    return float(np.mean((design @ weights - targets) ** 2))


@THEME.claim(
    "y_t = F(W^out a_t + b^out) is the output of a recurrent network of perceptrons, which are fed "
    "with each other's outputs φ = σ(a).",
    "Galvan (2015), definition 4, eq. 1.29, with eq. 1.1-1.2",
    "false",
    Falsehood("φ_t in place of a_t in (1.29)", {"reads": "phi"}, "holds"),
)
def output_reads_the_preactivation(reads: str = "a") -> Finding:
    """Compare definition 4, whose output reads `"a"` or `"phi"`, with single perceptrons.

    The perceptrons are those of (1.1-1.2), each a sum over what others give out, unfolded in time;
    σ is tanh and F the identity.
    """
    rng, inputs, outputs, steps = np.random.default_rng(0), 2, 3, 5
    W_in, W_rec = rng.normal(size=(UNITS, inputs)), rng.normal(size=(UNITS, UNITS))
    W_out, xs = rng.normal(size=(outputs, UNITS)), rng.normal(size=(steps, inputs))
    b_rec, b_out = rng.normal(size=UNITS), rng.normal(size=outputs)

    phi, by_definition, by_units = np.zeros(UNITS), [], []
    for x in xs:
        a = W_rec @ phi + W_in @ x + b_rec  # (1.30)
        before, phi = phi, np.tanh(a)  # (1.31)
        by_definition.append(W_out @ {"a": a, "phi": phi}[reads] + b_out)  # (1.29)
        fed = [*before, *x]
        given = [np.tanh(np.dot([*W_rec[j], *W_in[j]], fed) + b_rec[j]) for j in range(UNITS)]
        by_units.append([np.dot(W_out[j], given) + b_out[j] for j in range(outputs)])
    error = gap(np.array(by_definition), np.array(by_units))
    xor = {name: xor_error(f) for name, f in (("a", lambda a: a), ("phi", np.tanh))}
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random net its outputs differ by {error:.2f} of the largest from those of the same "
        f"perceptrons by (1.1-1.2); over one step such a net is linear, and the mean squared error "
        f"of the best readout on XOR is {xor['a']:.2f}, instead of {xor['phi']:.0g} if it reads φ.",
        {"relative difference": error, "XOR, reading a": xor["a"], "XOR, reading φ": xor["phi"]},
    )
