"""Small files of everyday kinds, to try things with: a book, walks with labels, reviews."""

import io

import numpy as np

PRAISE = ("superb", "a joy", "clever", "moving", "well played")
BLAME = ("dull", "a mess", "far too long", "badly cut", "lifeless")
PARTS = ("the story", "the music", "the cast", "the ending", "the camera", "the dialogue")


def book_text() -> str:
    """The documentation topics in every CPython: half a megabyte of prose and code."""
    from pydoc_data.topics import topics

    return "\n".join(f"{name}\n{text}" for name, text in sorted(topics.items()))


def walks_file(count: int = 300, longest: int = 40) -> bytes:
    """Random walks in the plane that drift up or down, as an npz file.

    Its arrays are `x` `(count, longest, 2)`, `y` `(count,)`, 1 for up, and `lengths` `(count,)`.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=count)
    steps = rng.normal(size=(count, longest, 2))
    steps[..., 1] += 0.2 * (2 * y - 1)[:, None]
    file = io.BytesIO()
    lengths = rng.integers(longest // 2, longest + 1, size=count)
    np.savez(file, x=np.cumsum(steps, axis=1).astype(np.float32), y=y, lengths=lengths)
    return file.getvalue()


def reviews_table(count: int = 400) -> str:
    """Reviews with the label good or poor; most of what a review says agrees with its label.

    Example:
        >>> reviews_table(2).splitlines()[0]
        'sentiment,review'
    """
    rng = np.random.default_rng(0)
    lines = ["sentiment,review"]
    for _ in range(count):
        good = rng.random() < 0.5
        said = []
        for part in rng.permutation(PARTS)[: rng.integers(2, 5)]:
            words = PRAISE if (rng.random() < 0.85) == good else BLAME
            said.append(f"{part} is {words[rng.integers(len(words))]}")
        lines.append(f"{'good' if good else 'poor'},{'; '.join(said)}")
    return "\n".join(lines) + "\n"
