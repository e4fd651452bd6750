"""Faults of the data: what a batch shows about how it was made."""

from .evidence import Evidence
from .finding import Finding

MOST = 0.95


def batch_and_time_swapped(e: Evidence) -> Finding | None:
    """Targets that are the input beside, a loss of whole sequences, or the shape turned round."""
    data = e.data
    steps, sequences = data.shape
    turned = data.shape != data.asked and data.shape == (data.asked[1], data.asked[0])
    beside = data.beside is not None and data.beside > MOST and (data.next or 0) < MOST
    if not (turned or beside or data.across):
        return None
    signs = [
        f"a batch has {steps} steps of {sequences} sequences"
        + (f", and {data.asked[0]} steps of {data.asked[1]} were asked for" if turned else "")
    ]
    if beside:
        signs.append(f"{data.beside:.0%} of the targets are the input of the sequence beside")
    if data.across:
        signs.append("the loss counts at all steps of some sequences and at none of the others")
    return Finding(
        "batch and time swapped",
        "The sequences lie along the axis that should be time.",
        "; ".join(signs) + ".",
        "xs, targets, weights = (np.swapaxes(a, 0, 1) for a in (xs, targets, weights))",
    )


def state_of_other_sequences(e: Evidence) -> Finding | None:
    """A carried state, and batches that do not go on where the last one ended."""
    data = e.data
    if not data.carried or data.goes_on is None or data.goes_on > 0.5:
        return None
    return Finding(
        "state of other sequences",
        "The state is carried into the next batch, but its sequences are others.",
        f"only {data.goes_on:.0%} of the sequences of a batch begin with the symbol that the batch "
        "before was to predict last.",
        "keep the order of the streams from batch to batch, or give every batch `first=True`",
    )


def targets_not_shifted(e: Evidence) -> Finding | None:
    """Targets that the network has been shown already."""
    data = e.data
    for share, which, step in (
        (data.same, "of the same step", "t"),
        (data.previous, "of the step before", "t-1"),
    ):
        if share is not None and share > MOST and (data.next or 0) < MOST:
            return Finding(
                "targets not shifted",
                "The network is asked for what it has just been shown.",
                f"{share:.0%} of the targets are the input {which}, x[{step}], and "
                f"{data.next or 0:.0%} that of the next.",
                "xs, targets = text[:-1], text[1:]",
            )
    return None


def vocabulary_mismatch(e: Evidence) -> Finding | None:
    """Symbols beyond the table, or numbers that mean something else in validation."""
    data = e.data
    for largest, count, what in (
        (data.largest_symbol, data.symbols, "input symbols"),
        (data.largest_answer, data.answers, "answers"),
    ):
        if largest is not None and count is not None and largest >= count:
            return Finding(
                "vocabulary mismatch",
                "The data have symbols that the network does not know.",
                f"the largest of the {what} is number {largest}, and the network has {count}, "
                f"numbered from 0 to {count - 1}.",
                "symbols = vocabulary.encode(text)  # the one table with which the task was made",
            )
    if data.parts_differ is not None and data.parts_differ > 0.5:
        return Finding(
            "vocabulary mismatch",
            "Training and validation do not number their symbols alike.",
            f"the shares of the symbols differ by {data.parts_differ:.2f} (0 is alike, 1 has "
            "nothing in common).",
            "symbols = vocabulary.encode(text)  # the same table for both parts",
        )
    return None
