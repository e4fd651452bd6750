"""What a network that was trained on labelled sequences says of new ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...cells import Model
from ...data.examples import Examples
from ...data.padding import multiple_above
from ...errors import BadInput
from ...names import typed
from ...progress import each
from ..applying import ApplyOptions, outputs_on
from ..file_task import Reading
from ..target_codec import TargetCodec
from .from_files import sequences_of_file
from .sequences import checked_inputs, scaled_inputs

TOGETHER = 64  # sequences that are answered at once
ROUND = 16  # steps by which padded sequences grow, so that there are few compilations


def answers_to_sequences(network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
    """The classes or numbers of the sequences of a file, or of arrays; see `TargetCodec.told`.

    Args:
        network: trained on `Arrays`.
        how: what to read: arrays in one of the forms that `Arrays` takes, without targets, or a
            file of them, whose targets are not read.

    Returns:
        A dictionary for each sequence: its `number`, its `sequence` if it has a name, and what is
        said of it; where there is an answer per step, a list of that as `steps`.
    """
    known = how.artefacts
    if "per_step" not in known:
        raise BadInput("this run does not say whether it answers at each step; train it again")
    codec, per_step = TargetCodec.from_json(known["answers"]), known["per_step"]
    examples, names = _examples(how)
    blocks = np.split(np.arange(len(examples)), range(TOGETHER, len(examples), TOGETHER))
    for which in each(blocks, how.report, "answering the sequences", len(examples), len):
        said = _outputs(network, examples, which)
        for n, rows in zip(which.tolist(), said, strict=True):
            answer: dict[str, Any] = {"number": n} | ({"sequence": names[n]} if names else {})
            told = codec.told(rows if per_step else rows[-1:], how.n_best)
            answer |= {"steps": told} if per_step else told[0]
            text = " ".join(step["text"] for step in told)
            yield answer | {"text": f"{names[n]}\t{text}" if names else text}


def _examples(how: ApplyOptions) -> tuple[Examples, list[str] | None]:
    """The sequences as the network reads them, and their names."""
    given, names, lengths = how.file_or_data("a file: data.npz, or data.csv"), None, None
    if not how.in_memory:
        reading = Reading(str(given), how.settings, artefacts=how.artefacts)
        given, lengths, names = sequences_of_file(reading)
    rows, sizes, _ = checked_inputs(given, lengths)
    examples = Examples(rows, sizes, np.zeros(len(sizes)), np.zeros(len(sizes), bool), False)
    inputs, _ = scaled_inputs(
        examples,
        np.arange(0),
        how.artefacts["columns"],
        how.artefacts,
        how.settings.missing,
        mask=typed("missing", "mask", in_shell=not how.in_memory),
    )
    return Examples(inputs, sizes, examples.targets, examples.there, False), names


def _outputs(network: Model, examples: Examples, which: np.ndarray) -> list[np.ndarray]:
    """The outputs `(T, outputs)` at the valid steps of some sequences."""
    sizes = examples.lengths[which]
    longest = int(sizes.max())
    varied = bool((sizes < longest).any())
    batch = examples.batch(which, multiple_above(longest, ROUND) if varied else longest)
    batch = batch if varied else batch._replace(lengths=None)
    outputs = np.asarray(outputs_on(network, batch.arrays))
    return [outputs[:size, n] for n, size in enumerate(sizes)]
