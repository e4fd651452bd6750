"""What a trained network answers, from Python: methods of `Run`, one per kind of task.

They give what `ostinato apply`, `sample` and `evaluate` give, from the same code. New input is in
memory, or a file that is given by its path.
"""

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ...cells import Model
from ...errors import BadInput
from ...progress import Report, silent
from ...settings import shown
from ...tasks import AnsweringTask
from ...tasks.applying import ApplyOptions, Classified
from ...tasks.series.forecast import Forecast
from ..folder.run import RunFolder

if TYPE_CHECKING:
    from ...tasks.series.backtest import Backtested
    from ..streaming.stream import Stream

# How a run is used, by the verb of its task; see `Task.verb`.
USES = {
    "apply": "it answers: run.apply(given)",
    "caption": "it captions: run.caption(pictures)",
    "classify": "it classifies: run.classify(texts)",
    "evaluate": 'it can be evaluated: run.evaluate("test")',
    "forecast": "it forecasts: run.forecast(table)",
    "predict": "it predicts numbers: run.predict(sequences)",
    "render": "it renders a sound: run.render(samples)",
    "sample": "it samples: run.sample(prompt)",
    "tag": "it tags: run.tag(tokens)",
    "translate": "it translates: run.translate(lines)",
}
Words = Sequence[str]


class Run(RunFolder):
    """A run, whose network can be asked; each of these methods fits the runs of some tasks.

    A run of another task refuses, and says what it does instead. All but `apply` and `evaluate`
    take data in memory or a `pathlib.Path`. What was done to the input, such as empty rows that
    were left out, is in the `notes` of a `Forecast` and of the first answer of `apply`; the others
    warn of it.
    """

    def answers(
        self, given: Any, asked: Mapping[str, Any], report: Report = silent
    ) -> Iterator[dict[str, Any]]:
        """The answers to new input as they are made, within `precision`; see `apply`.

        Args:
            given: what to read; see `ApplyOptions`.
            asked: options of `ostinato apply` by name.
            report: hears how much of the input is done.
        """
        how = self._how(given, asked, report)
        return self.config.task.kind.apply(self.network(), how)

    def _how(self, given: Any, asked: Mapping[str, Any], report: Report = silent) -> ApplyOptions:
        """What is asked of the task, checked."""
        task = self.config.task
        kind = task.kind.able(AnsweringTask)
        kind.check_options(asked)
        searches = "beam" in kind.apply_options
        return ApplyOptions(
            given, task.settings, self.artefacts, report=report, searches=searches, **asked
        )

    def apply(self, given: Any, **options: Any) -> list[dict[str, Any]]:
        """What `ostinato apply --json` prints: a dictionary for each input.

        Args:
            given: a path; or lines, arrays or a data frame, as the task reads them.
            options: those of `ostinato apply`, by name: `beam`, `n_best`, `steps` and so on.
        """
        _check_given(given)
        with self.precision():
            return [*self.answers(given, options)]

    def forecast(self, table: Any, steps: int | None = None, future: Any = None) -> Forecast:
        """What comes after the last row of each series; `.to_pandas()` makes a data frame of it.

        Args:
            table: the values so far, and those that are known ahead: a path, a data frame, a list
                of dictionaries, one for each row, or arrays `(T, columns)`.
            steps: how many steps, from forecasts that the network made itself; the horizon of the
                run by default.
            future: the rows after the last one, with the columns that are known ahead, in the
                same form as the table; for when the table ends with what has happened.
        """
        self._check("forecast")
        _check_given(table)
        asked = {"steps": steps, "future": future}
        with self.precision():
            how = self._how(table, {name: x for name, x in asked.items() if x is not None})
            return self.config.task.kind.forecast(self.network(), how)

    def classify(self, given: Any) -> list[Classified]:
        """The class of each text, or of each sequence, with all probabilities.

        Args:
            given: a list of texts, or sequences in one of the forms that `tasks.Arrays` takes; or
                a `Path`.

        Returns:
            One for each; of a run that answers at each step, a list of them for each sequence.
        """
        answers = self._answered("classify", given, "texts")
        return [_each_step(answer, _classified) for answer in answers]

    def predict(self, sequences: Any) -> list[np.ndarray]:
        """The numbers of each sequence, `(outputs,)`, or at each step, `(T, outputs)`.

        Args:
            sequences: in one of the forms that `tasks.Arrays` takes, or a `Path`.
        """
        answers = self._answered("predict", sequences, "sequences")
        return [np.array(_each_step(answer, lambda one: one["values"])) for answer in answers]

    def translate(self, lines: Words | Path, **options: Any) -> list[str]:
        """The translation of each line; for scores and other translations see `apply`.

        Args:
            lines: a list of texts, or a `Path`.
            options: `beam`, `penalty`, `temperature` and `seed`.
        """
        answers = self._answered("translate", lines, "lines", **options)
        return [answer["text"] for answer in answers]

    @overload
    def tag(self, tokens: Words) -> list[tuple[str, str]]: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, tokens: Sequence[Words] | Path) -> list[list[tuple[str, str]]]: ...
    def tag(self, tokens: Any) -> Any:
        """The words of a sentence, or of several, each with its tag.

        Args:
            tokens: the words of a sentence; a list of such sentences; or a `Path`.
        """
        alone = isinstance(tokens, list | tuple) and all(isinstance(x, str) for x in tokens)
        answers = self._answered("tag", [tokens] if alone else tokens, "tokens")
        tagged = [[*zip(x["words"], x["tags"], strict=True)] for x in answers]
        return tagged[0] if alone else tagged

    def caption(self, pictures: Any, **options: Any) -> list[str]:
        """A caption for each picture `(N, height, width, channels)`, or for each clip.

        Args:
            pictures: an array, or the path of an .npy or .npz file.
            options: `beam`, `penalty`, `temperature` and `seed`.
        """
        return [answer["text"] for answer in self._answered("caption", pictures, **options)]

    def render(self, samples: Any) -> np.ndarray:
        """A sound through the effect, `(T, channels)`.

        Args:
            samples: `(T,)` or `(T, channels)`, from -1 to 1, at the run's rate; or the `Path` of a
                WAV file.
        """
        (answer,) = self._answered("render", samples, save=True)
        return answer["samples"]

    def sample(self, prompt: str = "", length: int = 1000, **options: Any) -> str:
        """A text that the network writes after a prompt; the arguments are those of `runs.sample`.

        Example:
            >>> len(open_run("runs/text-mlstm-1").sample("The ", 20, temperature=0.8))
            20
        """
        from .playing import sample

        self._check("sample")
        return sample(self, prompt, length, **options)

    def stream(self, sequences: int | None = None, which: str | int = "best") -> "Stream":
        """The network as something that reads one value at a time and keeps its state.

        Args:
            sequences: how many to read side by side; one alone by default.
            which: the checkpoint; see `network`.

        Example:
            >>> stream = open_run("runs/text-mlstm-1").stream()
            >>> round(sum(stream.read("The ").probabilities.values()), 3)
            1.0
        """
        from ...wiring.stepping import Stepping
        from ..streaming.codecs import codec_of
        from ..streaming.stream import Stream

        task = self.config.task
        step, network = self.saved(which)
        try:
            interface = task.kind.interface(task.settings, self.artefacts)
            stepping, codec = Stepping.of(network, interface.residual), codec_of(interface)
        except BadInput as error:
            own = USES.get(task.kind.verb(self.artefacts), USES["apply"])
            raise BadInput(f"{self.path} cannot be streamed: {error}; {own}") from None
        return Stream(stepping, self.sizes.inputs, codec, sequences, f"{self.name}, step {step}")

    def evaluate(self, part: str = "valid") -> dict[str, float | None]:
        """All metrics on the `"valid"` or the `"test"` part of its data; see `runs.evaluate`.

        Example:
            >>> [*open_run("runs/text-mlstm-1").evaluate("test")]
            ['bits per character', 'perplexity per character']
        """
        from .evaluation import evaluate

        return evaluate(self, part)

    def backtest(
        self, origins: int = 10, yardsticks: str | Sequence[str] | None = None
    ) -> "Backtested":
        """Forecasts from several origins of the test part, beside what came, and all metrics.

        It is what `ostinato evaluate --backtest 10 --json` has under `backtest`: `overall`, of the
        naive forecasts (`yardsticks`) and of each of the `origins`, with its dates.

        Args:
            origins: how many, spread evenly. The network is not trained anew at any of them.
            yardsticks: `"ets"` and `"theta"`, if wanted too; they need statsmodels.
        """
        from .forecasts import backtest_run

        return backtest_run(self, origins, yardsticks)

    def _answered(
        self, verb: str, given: Any, name: str | None = None, /, **options: Any
    ) -> list[dict[str, Any]]:
        """What `apply` answers; what was done to the input is a warning.

        Args:
            verb: of the tasks that this fits.
            given: what to read.
            name: what it is called, if it is in memory or a `Path`: then a text alone, which could
                be either, is refused.
            options: those of `apply`.
        """
        self._check(verb)
        if name is not None and (given is None or isinstance(given, str | bytes)):
            raise BadInput(f"{name} must be a list, or the Path of a file; got {shown(given)}")
        answers = self.apply(given, **options)
        for note in itertools.chain.from_iterable(answer.get("notes", ()) for answer in answers):
            warnings.warn(note, UserWarning, stacklevel=3)
        return answers

    def _check(self, verb: str) -> None:
        """Refuse a method that does not fit the task."""
        task = self.config.task
        if (own := task.kind.verb(self.artefacts)) != verb:
            raise BadInput(f"{self.path} is a run of {task}; {USES.get(own, USES['apply'])}")


def open_run(path: str | Path, network: Model | None = None) -> Run:
    """Open an existing run folder and check it.

    Args:
        path: the folder.
        network: the network that was given to `train`, if parts of it are classes of your own or
            of another package, which the folder cannot describe. Its weights are not used.
    """
    return Run.open(path, network)


def _check_given(given: Any) -> None:
    if given is None or (isinstance(given, str | Path) and str(given) == "-"):
        raise BadInput("give a path, or what the task reads; standard input is not read")


def _each_step(answer: dict[str, Any], read: Any) -> Any:
    """What is read of an answer, or of each of its steps."""
    return [read(step) for step in answer["steps"]] if "steps" in answer else read(answer)


def _classified(answer: dict[str, Any]) -> Classified:
    return Classified(answer["label"], answer["probabilities"])
