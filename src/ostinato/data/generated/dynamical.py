"""Series from dynamical systems: Mackey-Glass, Lorenz and NARMA."""

import numpy as np

FINE = 10  # steps of integration per sample
TRANSIENT = 2000  # samples that are discarded, so that a series lies on its attractor


def mackey_glass(samples: int, tau: int = 17, seed: int = 0) -> np.ndarray:
    """Samples at times 0, 1, 2, … of `x' = 0.2 x(t - τ) / (1 + x(t - τ)¹⁰) - 0.1 x(t)`.

    Chaotic from τ = 16.8 on. The delayed term is known for the next τ units of time, and what
    remains is linear in x. So each step is exact but for the integral of the delayed term, for
    which Simpson's rule is used; values in between come from four neighbours.

    Source: Mackey and Glass (1977).

    Args:
        samples: how many.
        tau: the delay.
        seed: of the random history.

    Returns:
        `(samples,)`, in float64.

    Example:
        >>> x = mackey_glass(1000)
        >>> bool(0.2 < x.min() < x.max() < 1.4)
        True
    """
    from scipy.signal import lfilter  # slow, and only needed here

    width, delay = 1 / FINE, tau * FINE
    steps = (samples + TRANSIENT) * FINE + 1
    x = np.empty(steps + delay)
    x[:delay] = np.random.default_rng(seed).uniform(0.8, 1.2)
    x[delay] = x[delay - 1]
    decay, half = np.exp(-0.1 * width), np.exp(-0.05 * width)
    at = delay
    while at < len(x) - 1:
        # The step from i to i + 1 reads the past up to i + 1 - delay, and one value beyond.
        count = min(delay - 2, len(x) - 1 - at)
        late = x[at - delay : at - delay + count + 2]
        before = x[at - delay - 1] if at > delay else late[0]
        ends = np.concatenate([[before], late])
        middle = (9 * (late[:-2] + late[1:-1]) - ends[:-3] - late[2:]) / 16
        first, between, last = (0.2 * y / (1 + y**10.0) for y in (late[:-2], middle, late[1:-1]))
        push = width / 6 * (decay * first + 4 * half * between + last)
        later, _ = lfilter([1.0], [1.0, -decay], push, zi=[decay * x[at]])
        x[at + 1 : at + 1 + count] = later
        at += count
    return x[-samples * FINE :: FINE].copy()


def lorenz(samples: int, seed: int = 0, *, interval: float = 0.02) -> np.ndarray:
    """`x' = 10 (y - x)`, `y' = x (28 - z) - y`, `z' = x y - 8/3 z`, sampled at an interval.

    By the Runge-Kutta method of order 4. Source: Lorenz (1963).

    Returns:
        `(samples, 3)`, in float64.

    Example:
        >>> lorenz(100).shape
        (100, 3)
    """
    width = interval / FINE
    state = np.array([1.0, 1.0, 1.0]) + 0.1 * np.random.default_rng(seed).normal(size=3)
    series = np.empty((samples, 3))
    for n in range(-TRANSIENT, samples):
        if n >= 0:
            series[n] = state
        state = _runge_kutta(state, width)
    return series


def _runge_kutta(state: np.ndarray, width: float) -> np.ndarray:
    """The state after one sample, `FINE` steps of a width."""

    def slope(x: float, y: float, z: float) -> tuple[float, float, float]:
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z

    x, y, z = (float(value) for value in state)
    for _ in range(FINE):
        a = slope(x, y, z)
        b = slope(x + width / 2 * a[0], y + width / 2 * a[1], z + width / 2 * a[2])
        c = slope(x + width / 2 * b[0], y + width / 2 * b[1], z + width / 2 * b[2])
        d = slope(x + width * c[0], y + width * c[1], z + width * c[2])
        x, y, z = (
            v + width / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]) for k, v in enumerate((x, y, z))
        )
    return np.array([x, y, z])


def narma(samples: int, order: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs from U(0, 0.5) and the outputs of a nonlinear moving average.

        y_{t+1} = 0.3 y_t + 0.05 y_t Σ_{i<n} y_{t-i} + 1.5 u_{t-n+1} u_t + 0.1

    Rarely the series diverges; then it is generated anew from the next seed. Source: Atiya and
    Parlos (2000).

    Returns:
        The inputs u_t and the outputs y_{t+1}, each `(samples,)`, in float64.

    Example:
        >>> u, y = narma(1000)
        >>> bool(0 < y.mean() < 1)
        True
    """
    steps = samples + TRANSIENT
    for attempt in range(100):
        u = np.random.default_rng([seed, attempt]).uniform(0, 0.5, steps)
        y = np.zeros(steps + 1)
        for t in range(order - 1, steps):
            past = y[t - order + 1 : t + 1].sum()
            y[t + 1] = 0.3 * y[t] + 0.05 * y[t] * past + 1.5 * u[t - order + 1] * u[t] + 0.1
            if y[t + 1] > 2:
                break
        else:
            return u[-samples:], y[-samples:]
    raise RuntimeError("NARMA diverged for 100 seeds")
