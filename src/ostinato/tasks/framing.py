"""What a batch asks at which step: an answer at the last one, or the symbols that a decoder writes.

For an answer per step, or per sequence of its own length, see `data.examples.Examples.batch`; for a
transcript without places, `ctc`.
"""

from collections.abc import Sequence

import numpy as np

from ..data import Batch
from ..data.padding import columns
from ..data.tokens import END
from ..wiring.encoder_decoder import Pair


def at_last(length: int, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights of a task in which only the last step counts.

    Args:
        length: T, the number of steps.
        targets: the targets of the last step, `(B,)` symbols or `(B, outputs)`.

    Returns:
        targets `(T, B, ...)` and weights `(T, B)`, both zero before the last step.
    """
    everywhere = np.zeros((length, *targets.shape), targets.dtype)
    everywhere[-1] = targets
    weights = np.zeros((length, len(targets)), np.float32)
    weights[-1] = 1
    return everywhere, weights


def written_by_decoder(
    source: np.ndarray, lengths: np.ndarray, targets: Sequence[np.ndarray], steps: int
) -> Batch:
    """A batch in which a decoder reads each symbol of a target before it writes the next.

    Args:
        source: `(S, B, ...)`, what the encoder reads.
        lengths: `(B,)`, the steps of each source.
        targets: symbols with their ends; sources without a target count nothing.
        steps: T, to which the targets are padded.

    Example:
        >>> from ostinato.tasks.framing import written_by_decoder
        >>> source, lengths = np.array([[5, 6]]), np.array([1, 1])
        >>> batch = written_by_decoder(source, lengths, [np.array([3, 4, 0]), np.array([3, 0])], 3)
        >>> batch.inputs.target[:, 0].tolist(), batch.targets[:, 0].tolist(), batch.weights[:, 1]
        ([0, 3, 4], [3, 4, 0], array([1., 1., 0.], dtype=float32))
    """
    wanted, sizes = columns(targets, steps, len(lengths))
    read = np.concatenate([np.full_like(wanted[:1], END), wanted[:-1]])
    weights = (np.arange(steps)[:, None] < sizes).astype(np.float32)
    weights[:, len(targets) :] = 0
    return Batch(Pair(read, source, lengths[None]), wanted, weights, lengths=sizes)
