"""Faults of the data, found in the batches, and of forecasts, found beside naive ones."""

import math

from .evidence import Evidence, Finding, Forecasts, again
from .rules_for_training import falls, less_memorising

MAX = 0.95
PER_TARGET = 100  # parameters; with more, and MANY epochs, a network learns its data by heart
MANY = 100
ENOUGH_SYMBOLS = 1000  # training symbols; the frequencies in fewer of them say little
OFF = 0.05  # by which a coverage may differ, however sure it is
CHANCE = 0.001  # of an alarm about intervals that are right


def batch_and_time_swapped(e: Evidence) -> Finding | None:
    """Targets that are another sequence's input, or batches with transposed shapes or weights."""
    data = e.data
    steps, sequences = data.shape
    transposed = data.shape != data.asked and data.shape == (data.asked[1], data.asked[0])
    beside = data.beside is not None and data.beside > MAX and (data.next or 0) < MAX
    if not (transposed or beside or data.across):
        return None
    signs = [
        f"a batch has {steps} steps of {sequences} sequences"
        + (f", and {data.asked[0]} steps of {data.asked[1]} were asked for" if transposed else "")
    ]
    if beside:
        signs.append(f"{data.beside:.0%} of the targets are the input of the next sequence")
    if data.across:
        signs.append("the loss counts at all steps of some sequences and at none of the others")
    return Finding(
        "batch and time swapped",
        "Sequences are on the axis that should be time.",
        "; ".join(signs) + ".",
        "xs, targets, weights = (np.swapaxes(a, 0, 1) for a in (xs, targets, weights))",
    )


def state_of_other_sequences(e: Evidence) -> Finding | None:
    """A state that is carried over to batches with unrelated sequences."""
    data = e.data
    if not data.carried or data.goes_on is None or data.goes_on > 0.5:
        return None
    return Finding(
        "state of other sequences",
        "The state is carried into the next batch, which does not continue the same sequences.",
        f"only {data.goes_on:.0%} of the sequences of a batch start with the last target of the "
        "previous batch.",
        "keep the order of the streams from batch to batch, or set `first=True` in every batch",
    )


def targets_not_shifted(e: Evidence) -> Finding | None:
    """Targets that are inputs the network has already seen."""
    data = e.data
    for share, which, step in (
        (data.same, "of the same step", "t"),
        (data.previous, "of the previous step", "t-1"),
    ):
        if share is not None and share > MAX and (data.next or 0) < MAX:
            return Finding(
                "targets not shifted",
                "The targets are inputs that the network has already seen.",
                f"{share:.0%} of the targets are the input {which}, x[{step}], and "
                f"{data.next or 0:.0%} are the next input.",
                "xs, targets = text[:-1], text[1:]",
            )
    return None


def vocabulary_mismatch(e: Evidence) -> Finding | None:
    """Symbols outside the vocabulary, or a different vocabulary in validation."""
    data = e.data
    for largest, count, what in (
        (data.largest_symbol, data.symbols, "input symbols"),
        (data.largest_answer, data.answers, "answers"),
    ):
        if largest is not None and count is not None and largest >= count:
            return Finding(
                "vocabulary mismatch",
                "The data contain symbols outside the network's vocabulary.",
                f"the largest of the {what} is {largest}, but the network has {count}, "
                f"numbered from 0 to {count - 1}.",
                "symbols = vocabulary.encode(text)  # with the vocabulary of the task",
            )
    enough = data.training is None or data.training >= ENOUGH_SYMBOLS
    if data.parts_differ is not None and data.parts_differ > 0.5 and enough:
        return Finding(
            "vocabulary mismatch",
            "Training and validation do not encode symbols in the same way.",
            f"the symbol frequencies differ by {data.parts_differ:.2f} (0: equal, 1: disjoint).",
            "symbols = vocabulary.encode(text)  # the same vocabulary for both parts",
        )
    return None


def too_little(
    training: int | None, window: int, parameters: int | None, epochs: float | None
) -> str | None:
    """Why so few training targets cannot be learned from, in a sentence; `None` if they can be.

    Args:
        training: steps of the training part with a target; `None` if there is no end to them.
        window: steps of a sequence.
        parameters: that are trained.
        epochs: in the whole run.

    Example:
        >>> too_little(5, 100, 70_000, 1000.0)
        'the training part has 5 targets, fewer than one window of 100 steps'
        >>> too_little(5000, 100, 70_000, 1000.0)
    """
    if training is None:
        return None
    what = f"the training part has {training:,} target{'' if training == 1 else 's'}"
    if training < window:
        return f"{what}, fewer than one window of {window:,} steps"
    many = epochs is not None and epochs >= MANY
    if many and parameters is not None and parameters > PER_TARGET * training:
        return (
            f"{what} for {parameters:,} parameters, and all steps together read each of them "
            f"{epochs:,.0f} times"
        )
    return None


def too_little_data(e: Evidence) -> Finding | None:
    """A text or series that is shorter than a window, or far too short for the network."""
    data = e.data
    why = too_little(data.training, data.asked[0], data.parameters, data.epochs)
    if why is None:
        return None
    return Finding(
        "too little data",
        "There is too little to learn from; the network can only learn it by heart.",
        f"{why}.",
        "more data; or a smaller network: " + again(e.settings, units=8, budget=None, patience=3),
    )


def no_validation_part(e: Evidence) -> Finding | None:
    """A run of which nobody can say how it does on data that it has not seen."""
    if e.data.validated:
        return None
    return Finding(
        "no validation part",
        "Nothing is held out, so the best checkpoint cannot be chosen and overfitting not be seen.",
        "0 targets are in the validation part.",
        again(e.settings, split="80/10/10"),
    )


def worse_than_naive(e: Evidence) -> Finding | None:
    """A naive forecast, which repeats what came, that is better than the network."""
    values = e.history.validations
    if e.forecasts is None or not e.forecasts.naive or not values:
        return None
    pick = max if e.goal.higher_is_better else min
    best = pick(value for _, value in values)
    name, naive = pick(e.forecasts.naive.items(), key=lambda pair: pair[1])
    if pick(best, naive) == best:
        return None
    learned = e.network is not None and pick(e.network.score, naive) == e.network.score
    more = again(e.settings, steps=5 * max(1, e.history.steps[-1]))
    return Finding(
        "worse than naive",
        "A naive forecast is better than the network.",
        f"{e.goal.metric} on the validation part: {best:.4g} at best, and {name} reaches "
        f"{naive:.4g}.",
        less_memorising(e) if learned and not falls(e.history.losses) else more,
    )


def intervals_too_narrow(e: Evidence) -> Finding | None:
    """Intervals that cover less than they should, by more than chance explains."""
    words = "The network is too sure of itself: its intervals cover too little."
    return _intervals(e, -1, "intervals too narrow", words)


def intervals_too_wide(e: Evidence) -> Finding | None:
    """Intervals that cover more than they should, by more than chance explains."""
    words = "The network is not sure enough: its intervals cover too much."
    return _intervals(e, 1, "intervals too wide", words)


def _intervals(e: Evidence, side: int, name: str, words: str) -> Finding | None:
    forecasts = e.forecasts
    if forecasts is None or not _off(forecasts, side):
        return None
    return Finding(
        name,
        words,
        f"{forecasts.covered:.0%} of the validation targets lie in the interval that should cover "
        f"{forecasts.intended:.0%}, over {forecasts.apart:,} forecasts that do not overlap.",
        again(e.settings, conformal=True),
    )


def _off(forecasts: Forecasts, side: int) -> bool:
    """Whether the coverage is off to one side, and hardly by chance."""
    intended, covered, count = forecasts.intended, forecasts.covered, forecasts.apart
    if intended is None or covered is None or side * (covered - intended) < OFF:
        return False
    return tail(count, intended, covered * count, side) < CHANCE


def tail(count: int, share: float, inside: float, side: int) -> float:
    """The probability that at most (side -1), or at least (side 1), so many of `count` are inside.

    It is that of a binomial distribution, `Σ C(n, k) c^k (1 - c)^(n-k)`.

    Example:
        >>> round(tail(10, 0.8, 5, -1), 4)
        0.0328
    """
    from scipy.stats import binom  # slow to import, and only needed here

    if side < 0:
        return float(binom.cdf(math.floor(inside + 1e-9), count, share))
    return float(binom.sf(math.ceil(inside - 1e-9) - 1, count, share))
