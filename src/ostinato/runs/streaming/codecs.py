"""From the outputs of a network at one step to an answer, with the reader of its inputs.

kind        reads                       answers
text        a character, or a byte      the next one: `NextSymbol`
forecast    a row                       a `Forecast`, in the units of the data
answers     a row, a word or a symbol   a `Classified`, or numbers in the units of the data
audio       a sample                    a sample
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ...data.scaling import Scaler
from ...decoding.sampling import choose
from ...errors import BadInput
from ...settings import checked_float, checked_int
from ...tasks.applying import Classified
from ...tasks.checks import checked_seed
from ...tasks.interface import Interface
from ...tasks.series.conformal import Conformal
from ...tasks.series.forecast import Forecast
from ...tasks.series.forecast_scores import in_units
from ...tasks.target_codec import TargetCodec
from .readers import CharacterReader, Reader, RowReader, answer_reader


@dataclasses.dataclass(frozen=True)
class StepCodec:
    """What the numbers of a step mean.

    Attributes:
        reader: of what a user gives.
        tell: the answers to outputs `(N, outputs)`, one for each sequence.
        plain: an answer as JSON.
        text: the reader again, if the network writes a text.
    """

    reader: Reader
    tell: Callable[[np.ndarray], list[Any]]
    plain: Callable[[Any], Any]
    text: CharacterReader | None = None


class NextSymbol:
    """What may come next in a text.

    Attributes:
        logits: `(symbols,)`, one for each symbol, in float32.

    Example:
        >>> following = open_run("runs/text-mlstm-1").stream().read("The ")
        >>> round(sum(following.probabilities.values()), 6)
        1.0
        >>> following.sample(temperature=0) == following.most_probable
        True
    """

    def __init__(self, logits: np.ndarray, symbols: tuple[Any, ...]) -> None:
        self.logits, self._symbols = logits, symbols

    @property
    def array(self) -> np.ndarray:
        """The probability of each symbol, `(symbols,)` in float64: the softmax of the logits."""
        above = np.exp(np.asarray(self.logits, float) - float(np.max(self.logits)))
        return above / above.sum()

    @property
    def probabilities(self) -> dict[Any, float]:
        """The probability of each character; of a text that is read as bytes, of each byte."""
        return dict(zip(self._symbols, self.array.tolist(), strict=True))

    def as_json(self, top: int | None = None) -> dict[str, float]:
        """The largest probabilities, the largest first; a byte has a name such as `\\xe4`."""
        ranked = sorted(self.probabilities.items(), key=lambda pair: -pair[1])[:top]
        return {x if isinstance(x, str) else f"\\x{x[0]:02x}": p for x, p in ranked}

    @property
    def most_probable(self) -> Any:
        """The character, or byte, of the largest probability."""
        return self._symbols[int(np.argmax(self.logits))]

    def sample(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        place: int = 0,
    ) -> Any:
        """A character, or byte, drawn at random; the stream does not read it.

        Args:
            temperature, top_k, top_p: see `runs.sample`.
            seed, place: of the random numbers: with the same seed, `runs.sample` draws its symbol
                number `place` by the same numbers.
        """
        how = drawing(temperature, top_k, top_p)
        return self._symbols[int(_drawn(self.logits, checked_seed(seed), place, *how))]


Drawing = tuple[np.float32, np.int32 | None, np.float32 | None]


def drawing(temperature: Any = 1.0, top_k: Any = None, top_p: Any = None) -> Drawing:
    """The settings of a draw, checked; `None` where there is no limit."""
    heat = np.float32(checked_float("temperature", temperature, min=0))
    rank = None if top_k is None else np.int32(min(checked_int("top_k", top_k), 2**30))
    if top_p is not None and not 0 < (top_p := checked_float("top_p", top_p)) <= 1:
        raise BadInput(f"top_p must be above 0 and at most 1, got {top_p}")
    return heat, rank, None if top_p is None or top_p == 1 else np.float32(top_p)


@jax.jit
def _drawn(logits: Any, seed: Any, place: Any, *how: Any) -> jax.Array:
    return choose(logits, jax.random.fold_in(jax.random.key(seed), place), *how)


def _of_text(about: Mapping[str, Any]) -> StepCodec:
    reader = CharacterReader(about)
    return StepCodec(
        reader,
        lambda outputs: [NextSymbol(row, reader.symbols) for row in outputs],
        NextSymbol.as_json,
        reader,
    )


def _of_forecast(about: Mapping[str, Any]) -> StepCodec:
    targets, levels = tuple(about["targets"]), tuple(about["levels"])
    shift, factor = tuple(about["target_shift"]), tuple(about["target_factor"])
    scaler, moved = Scaler(shift, factor, shift), about["moved"]
    own = (None,) if None in levels else levels  # those of the network
    calibration = None if moved is None else Conformal(levels, np.array(moved, float))

    def tell(outputs: np.ndarray) -> list[Any]:
        values = in_units(outputs, scaler, own, len(targets))
        values = values if calibration is None else calibration(values)
        return [Forecast((0,), targets, levels, one[None]) for one in values]

    return StepCodec(RowReader(about), tell, Forecast.rows)


def _of_answers(about: Mapping[str, Any]) -> StepCodec:
    answers = TargetCodec.from_json(about["answers"])

    def tell(outputs: np.ndarray) -> list[Any]:
        told = answers.told(outputs)
        if answers.scaler is not None:
            return [np.array(one["values"]) for one in told]
        return [Classified(one["label"], one["probabilities"]) for one in told]

    plain: Any = Classified.as_json if answers.scaler is None else np.ndarray.tolist
    return StepCodec(answer_reader(about), tell, plain)


def _of_audio(about: Mapping[str, Any]) -> StepCodec:
    plain = {"columns": None, "shift": [0.0], "factor": [1.0], "masked": [], "mean": [0.0]}
    return StepCodec(RowReader(plain), lambda ys: [float(y[0]) for y in ys], float)


CODECS = {"text": _of_text, "forecast": _of_forecast, "answers": _of_answers, "audio": _of_audio}


def codec_of(interface: Interface) -> StepCodec:
    """The codec for what a task says of its numbers."""
    if interface.kind == "raw":
        raise BadInput(
            f"a run of the task {interface.about['task']} does not say what a step of its network "
            "means"
        )
    return CODECS[interface.kind](interface.about)
