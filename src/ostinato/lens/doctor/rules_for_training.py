"""Faults of training, found in the course of a run."""

import math
from statistics import fmean, median, variance

from .evidence import Evidence, Finding, History, again

MOSTLY = 0.95
SPIKE = 50.0
HUGE = 1e3
ENOUGH = 10  # log entries; with fewer the doctor does not judge the course
MIN_WINDOW = 5  # steps, the context of the order-5 baseline of a text
GAP = 0.08  # of chance: 0.4 bits per character in most languages


def rate_too_high(e: Evidence) -> Finding | None:
    """Steps larger than the weights, or large steps and a loss that does not fall."""
    history = e.history
    if not e.first_order or not history.losses:
        return None
    step = max((x for x in history.farthest if math.isfinite(x)), default=0.0)
    failed = history.trouble is not None or _stuck(e) or _risen(history.losses)
    if not (step > 1 or (step > 0.1 and failed)):
        return None
    return Finding(
        "rate too high",
        "The steps are too large for the loss to fall.",
        f"one step changed the weights by {step:.0%} of their norm, where 1 % is typical; "
        f"{_course(e)}.",
        again(e.settings, **_smaller_rate(history, 30)),
    )


def rate_too_low(e: Evidence) -> Finding | None:
    """Weights that have hardly changed during the whole run."""
    history = e.history
    if not e.first_order or len(history.moved) < ENOUGH or _solved(e) or clipping_always_on(e):
        return None
    steps = [b - a for a, b in zip([0, *history.steps], history.steps, strict=False)]
    way = sum(m * n for m, n in zip(history.moved, steps, strict=True))
    fallen = history.losses[0] - history.losses[-1]
    if not way <= 0.02 or not fallen <= 0.1 * history.losses[0]:  # also if one is NaN
        return None
    rate = max(history.rates)
    return Finding(
        "rate too low",
        "The weights have hardly changed.",
        f"all {history.steps[-1]} steps together are {way:.2%} of the norm of the weights; "
        f"{_course(e)}.",
        again(e.settings, rate=min(0.01, 1000 * rate)),
    )


def exploding_gradient(e: Evidence) -> Finding | None:
    """An error that grows by orders of magnitude backwards in time."""
    growth, lag = _growth(e)
    norms = e.history.norms
    at_once = bool(norms) and not norms[0] < HUGE  # before the first update
    if growth < HUGE and not at_once:
        return None
    signs = []
    if growth >= HUGE:
        signs.append(
            f"{lag} steps back it is {growth:.1e} times as large as at the output{e.weights}"
        )
    if at_once:
        signs.append(f"the gradient norm is {norms[0]:.2g} before the first update")
    if e.history.trouble:
        signs.append(e.history.trouble.split(". ")[0])
    clip = {"clip": "1"} if e.first_order else {}
    return Finding(
        "exploding gradient",
        "The error grows as it is propagated back in time.",
        "; ".join(signs) + ".",
        again(e.settings, spectral_radius=1.0, **clip),
    )


def diverged(e: Evidence) -> Finding | None:
    """A run that was stopped, and no other rule says why."""
    known = exploding_gradient, clipping_never_on, rate_too_high
    if e.history.trouble is None or any(rule(e) for rule in known):
        return None
    changes = _smaller_rate(e.history, 10) if e.first_order else {}
    return Finding(
        "diverged",
        "Training stopped because the loss diverged.",
        e.history.trouble,
        again(e.settings, **changes),
    )


def clipping_always_on(e: Evidence) -> Finding | None:
    """A threshold far below every gradient, so that only its direction counts."""
    history, clip = e.history, e.settings.get("clip", "1")
    follows = clip in ("auto", "off") or clip.endswith("x")
    if not e.first_order or follows or len(history.clipped) < ENOUGH:
        return None
    share = sum(history.clipped) / len(history.clipped)
    usual = median(history.norms)
    if share < MOSTLY or usual < 10 * float(clip):
        return None
    return Finding(
        "clipping always on",
        "Every gradient is clipped, so its magnitude no longer affects the step.",
        f"{share:.0%} of the gradients were clipped at {clip}, and the median gradient norm is "
        f"{usual:.2g}.",
        again(e.settings, clip=f"{2 * usual:.2g}"),
    )


def clipping_never_on(e: Evidence) -> Finding | None:
    """Gradient spikes without clipping."""
    history = e.history
    if not e.first_order or any(x > 0 for x in history.clipped):
        return None
    peak, usual = max(_jumps(history), key=lambda pair: pair[0] / pair[1], default=(0.0, 1.0))
    if not peak > SPIKE * usual:
        return None
    return Finding(
        "clipping never on",
        "A few gradients are far larger than the others and are not clipped.",
        f"one norm was {peak:.2g}, {peak / usual:.0f} times the norms before it "
        f"({usual:.2g}), and clip is {e.settings.get('clip', '1')}.",
        again(e.settings, clip=f"{2 * usual:.2g}"),
    )


def overfitting(e: Evidence) -> Finding | None:
    """Training far ahead of validation, which gets worse."""
    values = e.history.validations
    if e.network is None or len(values) < 2:
        return None
    gains = [e.goal.gain(value) for _, value in values]
    best = max(range(len(gains)), key=gains.__getitem__)
    learned = e.goal.gain(e.network.score)
    if learned - gains[-1] < 0.1 or gains[best] - gains[-1] < 0.02 or best == len(gains) - 1:
        return None
    return Finding(
        "overfitting",
        "The network memorises its training sequences.",
        f"{e.goal.metric}: {e.network.score:.3g} in training{e.weights} and {values[-1][1]:.3g} in "
        f"validation at step {values[-1][0]}, which was best ({values[best][1]:.3g}) at step "
        f"{values[best][0]}.",
        less_memorising(e),
    )


def generalisation_gap(e: Evidence) -> Finding | None:
    """Training far ahead of validation, which is worse than a count-based baseline."""
    values = e.history.validations
    if not values or not e.goal.baselines or len(e.history.losses) < ENOUGH or overfitting(e):
        return None
    if e.forecasts is not None:
        return None  # its baselines do not count anything; see `worse_than_naive`
    step, last = values[-1]
    name, baseline = max(e.goal.baselines.items(), key=lambda pair: e.goal.gain(pair[1]))
    trained = max(_trained(e, step), key=e.goal.gain, default=last)
    if e.goal.gain(trained) - e.goal.gain(last) < GAP or e.goal.gain(last) > e.goal.gain(baseline):
        return None
    return Finding(
        "generalisation gap",
        "The network predicts its training text far better than other text.",
        f"{e.goal.metric}: {trained:.3g} in training and {last:.3g} in validation, where {name} "
        f"reaches {baseline:.3g} by counting.",
        "more text; or " + less_memorising(e),
    )


def less_memorising(e: Evidence) -> str:
    """What to try against a network that memorises."""
    return e.remedy or again(e.settings, dropout=0.3, patience=3)


def window_too_short(e: Evidence) -> Finding | None:
    """A gradient that is truncated after a few steps."""
    gradient, length = e.settings.get("gradient", "full"), e.data.asked[0]
    present = min(length, e.data.shape[0])  # a text may be shorter than the window
    if e.goal.lag is not None or gradient not in ("full", "truncated"):
        return None  # the task gives its own lag, or the gradient has no window
    if gradient == "full" and present == length and "length" not in e.settings:
        return None  # sequences are as long as they are
    window = present if gradient == "full" else min(present, e.settings.get("window", 20))
    if window >= MIN_WINDOW:
        return None
    changes = {"length": None} if length < MIN_WINDOW else {}
    advice = again(e.settings, gradient=None, window=None, **changes)
    return Finding(
        "window too short",
        "The gradient is truncated too early to learn longer dependencies.",
        f"errors go back at most {window} step{'s' if window > 1 else ''}, and even the order-5 "
        f"baseline looks back {MIN_WINDOW}.",
        advice if present == length else "a longer text",
    )


def loss_at_chance(e: Evidence) -> Finding | None:
    """Validation no better than a constant output, and a loss that no longer falls."""
    values = e.history.validations
    if not values or len(e.history.losses) < ENOUGH or falls(e.history.losses):
        return None
    best = max(values, key=lambda pair: e.goal.gain(pair[1]))[1]
    if e.goal.gain(best) > 0.02:
        return None
    return Finding(
        "loss at chance",
        "The network does no better than a model that ignores the input.",
        f"{e.goal.metric}: {best:.4g} at best in {e.history.steps[-1]} steps, and chance is "
        f"{e.goal.chance:.4g}.",
        "check a few inputs against their targets; if they match, "
        + again(e.settings, steps=5 * max(1, e.history.steps[-1])),
    )


def _trained(e: Evidence, step: int) -> list[float]:
    """The training metric at a step: from the log, and of the network if it is from that step.

    The log covers more of the text; the network is measured without noise, such as dropout.
    """
    before = [x for at, x in zip(e.history.steps, e.history.losses, strict=True) if at <= step]
    late = before[-max(1, len(before) // 10) :]
    scores = []
    if e.goal.loss_factor is not None and late and math.isfinite(sum(late)):
        scores.append(e.goal.loss_factor * fmean(late))
    if e.network is not None and len(before) == len(e.history.steps):
        scores.append(e.network.score)
    return scores


def _course(e: Evidence) -> str:
    """The first and the last training loss, in units of the metric if possible."""
    factor, losses = e.goal.loss_factor, e.history.losses
    what = "training loss" if factor is None else f"{e.goal.metric} in training"
    first, last = (f"{(factor or 1.0) * x:.4g}" for x in (losses[0], losses[-1]))
    return f"{what}: {first} at the start and {last} at the end"


def _smaller_rate(history: History, divisor: float) -> dict[str, float]:
    """The setting of a smaller learning rate, unless no finite one is known."""
    rates = [x for x in history.rates if math.isfinite(x)]
    return {"rate": max(rates) / divisor} if rates else {}


def _stuck(e: Evidence) -> bool:
    """Whether the network is at chance on training batches."""
    return e.network is not None and e.goal.gain(e.network.score) < 0.02


def _jumps(history: History) -> list[tuple[float, float]]:
    """Pairs of a largest norm and the median norm of the entries before it."""
    return [
        (peak, median(history.norms[max(0, i - 5) : i]) or 1e-30)
        for i, peak in enumerate(history.largest)
        if i and math.isfinite(peak)
    ]


def _risen(losses: list[float]) -> bool:
    """Whether the loss ends well above its minimum."""
    tenth = max(1, len(losses) // 10)
    parts = [losses[i : i + tenth] for i in range(0, len(losses), tenth)]
    means = [sum(part) / len(part) for part in parts]
    lowest = min(means)
    return not means[-1] < lowest + 0.25 * (abs(means[0] - lowest) + abs(lowest))


def falls(losses: list[float]) -> bool:
    """Whether the last quarter is significantly below the one before (three standard errors)."""
    quarter = len(losses) // 4
    if quarter < 3:
        return False
    before, last = losses[-2 * quarter : -quarter], losses[-quarter:]
    error = math.sqrt((variance(before) + variance(last)) / quarter)
    return fmean(before) - fmean(last) > 3 * error


def _solved(e: Evidence) -> bool:
    return e.goal.solved is not None and any(
        e.goal.gain(value) >= e.goal.gain(e.goal.solved) for _, value in e.history.validations
    )


def _growth(e: Evidence) -> tuple[float, int]:
    """The ratio of the largest error to the one at the output, and its lag."""
    growth = (0.0, 0)
    for profile in e.network.gradient.values() if e.network else []:
        start = next((i for i, x in enumerate(profile) if x > 0), None)
        if start is not None:
            lag = max(range(len(profile)), key=profile.__getitem__)
            growth = max(growth, (profile[lag] / profile[start], lag))
    return growth
