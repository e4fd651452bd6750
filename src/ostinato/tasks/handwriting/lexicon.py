"""Lists of words: what is written, and what a drawing can be recognised as."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ...data.lines import read_lines
from ...errors import BadInput
from ...files import checked_path
from ..ctc import log_likelihoods

COMMON = "common"
# Words of the characters that are drawn, of two to six letters.
WORDS = """
ACHE ACT ALLEY APE CAKE CALM CAMP CANAL CAP CAT CELL CENT CHALK CHANCE CHEAP CLAM CLAY CLUE
CUP EACH EAT ELM EMPTY EVEN EXACT EXAM EYE FACE FACT FALL FAULT FENCE FEW FLAME FLAT FLUTE
FULL HALF HALL HAT HEALTH HEAT HEAVY HELP HUMAN HUNT KETTLE KEY LAKE LAMP LATE LAUNCH LAW
LEAF LEAVE LEFT LEVEL LUCK LUNCH LYNX MAN MANY MAP MAPLE MATCH MEAL MEAT MELT METAL MULE
NAME NAVY NECK NET NEXT NUT PALM PATH PAY PEACE PEN PLACE PLAN PLANET PLANT PLATE PLAY TAKE
TALENT TALK TALL TEA TEAM TEMPLE TEN TENT TEXT UNCLE VALLEY VALUE VELVET WALK WALL WAVE WAX
WAY WEEK WHALE WHAT WHEEL WHEN YAK
""".split()


def read_words(name: str) -> tuple[str, ...]:
    """The words of a file, one per line, or the built-in ones (`common`); a word is in it once."""
    words = WORDS if name == COMMON else read_lines(checked_path("words", name), "list of words")
    known: set[str] = set()
    for number, word in enumerate(words, 1):
        if word in known or len(word.split()) > 1:
            raise BadInput(
                f"{name}, line {number}: give every word once and alone, got {word!r:.40}"
            )
        known.add(word)
    if len(words) < 2:
        raise BadInput(f"{name} has one word; there is nothing to tell apart")
    return tuple(words)


def coded_words(words: Sequence[str], characters: str) -> tuple[np.ndarray, np.ndarray]:
    """Words as numbers of characters from 0, `(W, L)`, and how many each has, `(W,)`."""
    for word in words:
        if missing := set(word) - set(characters):
            raise BadInput(
                f"the word {word!r:.40} has {min(missing)!r}, which is none of the characters "
                f"{characters:.80}"
            )
    coded = np.zeros((len(words), max(map(len, words))), int)
    for row, word in zip(coded, words, strict=True):
        row[: len(word)] = [characters.index(x) for x in word]
    return coded, np.array([*map(len, words)])


def ranked_words(
    outputs: jax.Array, lengths: np.ndarray, words: Sequence[str], characters: str
) -> list[list[tuple[str, float]]]:
    """All words for each sequence by falling probability, with its logarithm; see `CTC`.

    Args:
        outputs: logits `(T, B, characters + 1)`.
        lengths: `(B,)`.
        words: the lexicon.
        characters: in the order of their labels.
    """
    coded, counts = coded_words(words, characters)
    labels = np.where(np.arange(coded.shape[1]) < counts[:, None], coded + 1, 0)
    rows = np.stack(
        [np.asarray(log_likelihoods(outputs, jnp.asarray(lengths), row)) for row in labels]
    )
    orders = np.argsort(-rows, axis=0, kind="stable").T
    return [
        [(words[w], float(rows[w, n])) for w in order] for n, order in enumerate(orders.tolist())
    ]
