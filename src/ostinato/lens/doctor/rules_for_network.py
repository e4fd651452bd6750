"""Faults of the network: its units, and how far back its gradient and its memory reach."""

from ...names import plain_name, state_name
from ..gradient_by_lag import memory_length
from .evidence import Evidence, Finding, again


def gates_shut(e: Evidence) -> Finding | None:
    """Gates that are closed at all times."""
    return _constant_gates(e, "always_low", "gates shut", "shut", 0.75)


def gates_open(e: Evidence) -> Finding | None:
    """Gates that are open at all times."""
    return _constant_gates(e, "always_high", "gates open", "open", 0.9)


def dead_units(e: Evidence) -> Finding | None:
    """Rectified units that are zero for every input, so that their weights get no gradient."""
    dead = {n: g["always_low"] for n, g in _gates(e, "relu").items() if g["always_low"] > 0.5}
    if not dead:
        return None
    name, share = max(dead.items(), key=lambda item: item[1])
    return Finding(
        "dead units",
        "Most ReLUs are zero for every input and stay zero, because their gradient is zero.",
        f"{share:.0%} of the units of {plain_name(name)} are zero at all steps of all sequences"
        f"{e.weights}.",
        again(e.settings, rate=_smaller_rate(e), spectral_radius=1.0),
    )


def saturated_units(e: Evidence) -> Finding | None:
    """Units at the ends of their range, where their slope is almost zero."""
    ends = {n: g["high"] + g["low"] for n, g in _gates(e, "tanh").items()}
    ends = {n: x for n, x in ends.items() if x > 0.9}
    if not ends or _does_well(e):
        return None
    name, share = max(ends.items(), key=lambda item: item[1])
    return Finding(
        "saturated units",
        "The units are saturated, so almost no gradient passes through them.",
        f"{share:.0%} of the activations of {plain_name(name)} are beyond ±0.95{e.weights}.",
        again(e.settings, input_scale=0.1, spectral_radius=1.0),
    )


def vanishing_gradient(e: Evidence) -> Finding | None:
    """A gradient that vanishes before it reaches the inputs that matter."""
    if e.network is None or e.goal.lag is None or not e.network.gradient or _does_well(e):
        return None
    lengths = {name: memory_length(profile) for name, profile in e.network.gradient.items()}
    measured = {name: e.network.gradient[name] for name, n in lengths.items() if n is not None}
    left, name = max(
        (
            (profile[min(e.goal.lag, len(profile) - 1)] / (max(profile) or 1.0), name)
            for name, profile in measured.items()
        ),
        default=(1.0, ""),
    )
    if left > 1e-4:
        return None
    return Finding(
        "vanishing gradient",
        "The gradient vanishes before it reaches the inputs that matter.",
        f"{left:.0e} of the error is left {e.goal.lag} steps back, and at least 1 % only up to "
        f"{lengths[name]} steps back, at the {_whose(name)}{e.weights}.",
        again(e.settings, cell="lstm", spectral_radius=None, incoming=None)
        if e.settings.get("cell") in ("simple", "jordan", "mrnn", "leaky")
        else again(e.settings, spectral_radius=1.0),
    )


def memory_too_short(e: Evidence) -> Finding | None:
    """An output that does not depend on the inputs that matter."""
    if e.network is None or e.goal.lag is None or e.network.memory is None or _does_well(e):
        return None
    window = e.settings.get("window", 20) if e.settings.get("gradient") == "truncated" else None
    short = window is not None and window < e.goal.lag
    if e.network.memory >= e.goal.lag and not short:
        return None
    return Finding(
        "memory too short",
        "The output does not depend on inputs that matter.",
        f"replacing inputs more than {e.network.memory} steps back does not change the output, and "
        f"the task needs those {e.goal.lag} steps back{e.weights}"
        + (f"; the gradient's window is {window} steps." if short else "."),
        again(e.settings, gradient=None, window=None)
        if short
        else again(e.settings, curriculum=max(2, e.network.memory)),
    )


def _constant_gates(e: Evidence, how: str, name: str, word: str, limit: float) -> Finding | None:
    constant = {n: gate[how] for n, gate in _gates(e, "sigmoid").items() if gate[how] > limit}
    if not constant:
        return None
    which, share = max(constant.items(), key=lambda item: item[1])
    return Finding(
        name,
        f"Gates are always {word}, whatever the input.",
        f"{share:.0%} of the units of {plain_name(which)} are {word} "
        f"({'σ > 0.95' if word == 'open' else 'σ < 0.05'}) at all steps of all sequences"
        f"{e.weights}.",
        again(e.settings, rate=_smaller_rate(e), layer_norm=True),
    )


def _whose(name: str) -> str:
    """The state of a cell, by its path."""
    words = state_name(name)
    return words if words == "state" else f"state of {words}"


def _gates(e: Evidence, kind: str) -> dict[str, dict]:
    gates = e.network.gates if e.network else {}
    return {name: gate for name, gate in gates.items() if gate["kind"] == kind}


def _smaller_rate(e: Evidence) -> float | None:
    rates = e.history.rates
    return max(rates) / 3 if rates and "learner" not in e.settings else None


def _does_well(e: Evidence) -> bool:
    """Whether the network is more than half way from chance to the best possible value."""
    return e.network is not None and e.goal.gain(e.network.score) > 0.5
