"""`ostinato evaluate`: measure a trained network."""

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from typer import Argument, Option

from ..cells import Model
from ..data.files import check_file
from ..decoding.sampling import NotFinite
from ..errors import BadInput
from ..progress import Report, each
from ..runs import Run, open_run
from ..runs.analysis import evaluation
from ..runs.analysis.spelling import spelling, training_words, words_of
from ..runs.loop.devices import Devices
from ..runs.loop.processes import all_or_none, facts
from ..runs.loop.processes import index as process_index
from ..tasks import Task, TextTask
from ..tasks.confusion import Confusion, confusion
from ..tasks.metrics import perplexity
from ..tasks.series.backtest import backtest as run_backtest
from ..tasks.series.forecast_scores import Hindcasts, hindcasts
from ..tasks.series.series import Series
from .arguments import (
    Coordinator,
    DeviceCount,
    Distributed,
    Json,
    Process,
    Processes,
    RunFolder,
    check_seed,
    path,
    shared,
)
from .output import answer
from .progress import progress

SAMPLES, MAX_SAMPLES = 10_000, 10_000_000
CHARACTERS, MAX_TEXTS = 1000, 10_000  # of each of several texts, and how many


def evaluate(
    run: RunFolder,
    file: Annotated[
        Path | None,
        Argument(help="another file to evaluate on", show_default="the run's data", parser=path),
    ] = None,
    part: Annotated[
        str | None, Option(help="part of the run's data: valid or test", show_default="valid")
    ] = None,
    dynamic: Annotated[
        bool,
        Option("--dynamic", help="also evaluate while the network keeps learning from the text"),
    ] = False,
    rate: Annotated[
        float | None,
        Option(help="learning rate of --dynamic", show_default=str(evaluation.RATE)),
    ] = None,
    words: Annotated[
        Path | None,
        Option(
            help="list of words, one per line",
            show_default="the words of the training text",
            parser=path,
        ),
    ] = None,
    samples: Annotated[
        int | None,
        Option(
            help="characters to generate for the word fail rate",
            show_default=f"{SAMPLES}; {CHARACTERS} with --texts",
        ),
    ] = None,
    texts: Annotated[
        int | None,
        Option(help="generate so many texts, and show the fail rate of each", show_default="1"),
    ] = None,
    seed: Annotated[int, Option(help="random seed of the generated text")] = 0,
    backtest: Annotated[
        int | None,
        Option(help="forecasts: also from so many origins in the test part", show_default="none"),
    ] = None,
    yardsticks: Annotated[
        str | None,
        Option(help="with --backtest: ets, theta or both, ets,theta", show_default="none"),
    ] = None,
    devices: DeviceCount = None,
    distributed: Distributed = False,
    coordinator: Coordinator = None,
    processes: Processes = None,
    process: Process = None,
    as_json: Json = False,
) -> None:
    """Measure a trained network: bits per character, perplexity, spelling, or its task's metrics.

    Of forecasts the errors and the coverage of intervals are shown by step ahead and by series.

    Examples:
        ostinato evaluate runs/text-lstm-1 --part test --dynamic
        ostinato evaluate runs/text-lstm-1 other.txt --words /usr/share/dict/words
        ostinato evaluate runs/text-lstm-1 --texts 10 --samples 1000
        ostinato evaluate runs/series-lstm-1 --backtest 10 --yardsticks ets,theta
    """
    if part not in (None, "valid", "test"):
        raise BadInput(f"--part must be valid or test, got {part}")
    if rate is not None and not dynamic:
        raise BadInput("--rate is for dynamic evaluation; add --dynamic")
    if samples is not None and not 0 <= samples <= MAX_SAMPLES:
        limit = "at least 0" if samples < 0 else f"at most {MAX_SAMPLES}"
        raise BadInput(f"--samples must be {limit}, got {samples}")
    if samples == 0 and words is not None:
        raise BadInput("--words is for generated text; leave it out with --samples 0")
    if texts is not None and not 1 <= texts <= MAX_TEXTS:
        raise BadInput(f"--texts must be from 1 to {MAX_TEXTS}, got {texts}")
    if samples == 0 and texts is not None:
        raise BadInput("--texts generates texts; leave it out with --samples 0")
    if file is not None and part is not None:
        raise BadInput("--part is for the run's own data; give either --part or a file")
    if yardsticks is not None and backtest is None:
        raise BadInput("--yardsticks are fitted at the origins of a backtest; add --backtest 10")
    if backtest is not None and backtest < 1:
        raise BadInput(f"--backtest must be at least 1, got {backtest}")
    if backtest is not None and part is not None:
        raise BadInput("--backtest has its origins in the test part; leave out --part")
    check_seed(seed)
    many = 1 if texts is None else texts
    check_seed(seed + many - 1)
    count = (SAMPLES if texts is None else CHARACTERS) if samples is None else samples
    if count * many > MAX_SAMPLES:
        raise BadInput(f"--samples times --texts must be at most {MAX_SAMPLES}, got {count * many}")
    together = shared(devices, distributed, coordinator, processes, process)
    trained, first = open_run(run), process_index() == 0
    with trained.precision(), progress(quiet=as_json or not first) as report:
        if trained.vocabulary is None:
            of_texts = {"dynamic": dynamic, "words": words, "samples": samples, "texts": texts}
            for name, value in of_texts.items():
                if value:
                    raise BadInput(
                        f"--{name} is for texts; {run} was trained on {trained.sizes.name}"
                    )
        if words is not None:
            check_file(words, "list of words")
        where = part or ("valid" if backtest is None else "test")
        report(0, None, "reading the data and the network")
        with all_or_none() as alike:
            task = trained.task() if file is None else trained.task_on(file)
            step, network = trained.saved()
            alike |= facts(where, task, network, trained=True)
        result: dict[str, Any] = {"run": str(run), "step": step}
        result["on"] = where if file is None else str(file)
        metrics, made = _scored(trained, network, task, where, report, together)
        result |= _measured(network, task, where, metrics, own=file is None)
        result |= _forecasts(network, task, made, backtest, yardsticks, report)
        if dynamic:
            result["dynamic"] = _dynamic(network, task, where, rate, report)
        if trained.vocabulary is not None and count:
            known = _training_words(trained) if words is None else _listed(words)
            result |= spelling(network, trained.vocabulary, known, count, seed, report, texts=many)
    if first:
        answer(result, lambda: _show(result), as_json)


class _Metrics(NamedTuple):
    """All metrics of a task on one part of its data, and how many targets count in it."""

    values: dict[str, float | None]
    predicted: int


def _scored(
    run: Run, network: Model, task: Task, part: str, report: Report, devices: Devices
) -> tuple[_Metrics, Hindcasts | None]:
    """All metrics on one part, and the forecasts that they and `_forecasts` are made of."""
    predicted = [
        int(np.count_nonzero(batch.counted))
        for batch in each(task.evaluated(part), report, f"reading the {part} part")
    ]
    how = run, network, task, part, report, len(predicted), devices
    if (series := task.ability(Series)) is None:
        return _Metrics(evaluation.all_metrics(*how), sum(predicted)), None
    values = evaluation.own_metrics(*how)
    report(0, None, "scoring the forecasts")
    made = hindcasts(network, series, part)
    return _Metrics(values | series.scores_from(network, part, lambda: made), sum(predicted)), made


def _measured(network: Model, task: Task, part: str, metrics: _Metrics, *, own: bool) -> dict:
    """What is shown of every task."""
    values = dict(metrics.values)
    value = values.pop(task.metric.name)
    confused = confusion(network, task, part)
    return {
        "metric": task.metric.name,
        "value": _finite(value),
        "higher_is_better": task.metric.higher_is_better,
        "chance": task.chance if own else None,
        "yardsticks": task.yardsticks(part),
        "metrics": {name: _or_none(value) for name, value in values.items()},
        "predicted": metrics.predicted,
        **({} if confused is None else {"confusion": confused.as_json()}),
    }


def _forecasts(
    network: Model,
    task: Task,
    made: Hindcasts | None,
    origins: int | None,
    yardsticks: str | None,
    report: Report,
) -> dict:
    """What is known of forecasts alone: by step ahead, by series and from several origins."""
    series = task.ability(Series)
    if series is None or made is None:
        if origins is not None:
            raise BadInput(f"--backtest is for forecasts; this run was trained on {task.name}")
        return {}
    each_series = {name: one.metrics() for name, one in made.each_series().items()}
    result: dict[str, Any] = {"forecasts": {"by_step": made.by_step(), "by_series": each_series}}
    if origins is not None:
        made_then = run_backtest(network, series, origins, yardsticks, report)
        result["backtest"] = made_then.as_json()
    return result


def _dynamic(network: Model, task: Task, part: str, rate: float | None, report: Report) -> dict:
    """Bits and perplexity of dynamic evaluation."""
    rate = evaluation.RATE if rate is None else rate
    text = task.ability(TextTask)
    assert text is not None
    value = evaluation.dynamic_evaluate(network, text.stream(part), rate=rate, report=report)
    return {"rate": rate, "value": value, "perplexity": perplexity(value)}


def _finite(value: float | None) -> float:
    if value is None or not math.isfinite(value):
        raise NotFinite
    return value


def _or_none(value: float | None) -> float | None:
    """The value, or `None` for infinity (a perplexity that overflows), which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


def _training_words(run: Run) -> set[str]:
    try:
        task = run.task()
    except BadInput as error:
        raise BadInput(f"{error}; give --words FILE or --samples 0") from None
    return training_words(task)


def _listed(words: Path) -> set[str]:
    """The words of a file, one per line."""
    try:
        known = set(words_of(words.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"cannot read the word list {words}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"the word list {words} is not UTF-8 text") from None
    if not known:
        raise BadInput(f"the word list {words} has no words; it should have one per line")
    return known


def _show(result: dict) -> None:
    known = {"chance": result["chance"], **result["yardsticks"]}
    words = [f"{name} {value:.4g}" for name, value in known.items() if value is not None]
    beside = f"   ({', '.join(words)})" if words else ""
    lines = [f"{result['run']} on {result['on']}, with the weights of step {result['step']:,}"]
    lines.append(f"{result['metric']}: {result['value']:.4g}{beside}")
    for name, value in result["metrics"].items():
        if value is not None:
            lines.append(f"{name}: {value:.4g}")
    if moving := result.get("dynamic"):
        lines.append(
            f"dynamic, with rate {moving['rate']:g}: {moving['value']:.4g} "
            f"{result['metric']}, perplexity {moving['perplexity']:.4g}"
        )
    if "word_fail_rate" in result:
        rate, words = result["word_fail_rate"], result["generated_words"]
        share = "no words were generated" if rate is None else f"{rate:.2%} of {words:,} words"
        lines.append(f"word fail rate of generated text: {share}")
    if rates := [rate for rate in result.get("text_fail_rates", []) if rate is not None]:
        each_text = f"median {np.median(rates):.2%}, from {min(rates):.2%} to {max(rates):.2%}"
        lines.append(f"word fail rate by text: {each_text}")
    if forecasts := result.get("forecasts"):
        if len(forecasts["by_step"]) > 1:
            ahead = {str(n): x for n, x in enumerate(forecasts["by_step"], 1)}
            lines += _table("steps ahead", ahead)
        if len(forecasts["by_series"]) > 1:
            lines += _table("series, the worst first", _worst_first(forecasts["by_series"]))
    if then := result.get("backtest"):
        origins = {origin_in_words(one): one["metrics"] for one in then["origins"]}
        when = "dates" if "times" in then["origins"][0] else "steps"
        lines += _table(f"forecasts from these {when}; {then['note']}", origins)
        lines += _table("all origins", {"this run": then["overall"], **then["yardsticks"]})
        if then["left_out"]:
            few = ", ".join(then["left_out"][:ROWS])
            lines.append(f"left out, because too short for so many origins: series {few}")
    if classes := result.get("confusion"):
        counts = np.array(classes["counts"])
        lines += Confusion(tuple(classes["classes"]), counts).lines()
    for line in lines:
        print(line)


ROWS = 20  # of a table, at most; JSON has all of them


def _table(title: str, rows: dict[str, dict]) -> list[str]:
    """A table of metrics as lines, with a row for each name; many rows are thinned out."""
    short = {row: {_head(name): x for name, x in metrics.items()} for row, metrics in rows.items()}
    heads = [*dict.fromkeys(head for metrics in short.values() for head in metrics)]
    heads = [head for head in heads if any(x.get(head) is not None for x in short.values())]
    places = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), ROWS)).astype(int))
    columns = [numbers_alike([x.get(head) for x in short.values()]) for head in heads]
    body = [*zip(short, *columns, strict=True)]
    cells = [("", *heads), *(body[n] for n in places)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    more = "" if len(rows) <= ROWS else f" ({len(places)} of {len(rows)}; --json has all)"
    lines = [f"{title}{more}:"]
    for first, *others in cells:
        right = (x.rjust(width) for x, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join(["", first.ljust(widths[0]), *right]))
    return lines


def _head(metric: str) -> str:
    """A metric as the head of a narrow column."""
    for long, short in (("mean absolute error", "MAE"), (" of the", ""), (" calibrated", "")):
        metric = metric.replace(long, short)
    return metric.removesuffix(" interval")


def numbers_alike(values: list[float | None]) -> list[str]:
    """The numbers of a column with as many decimals each, unless small ones would be lost."""
    sizes = [abs(x) for x in values if x]
    decimals = max(0, 3 - math.floor(math.log10(max(sizes)))) if sizes else 0
    form = f".{decimals}f" if sizes and min(sizes) * 10**decimals >= 10 else ".4g"
    return ["–" if x is None else f"{x:{form}}" for x in values]


def _worst_first(series: dict[str, dict]) -> dict[str, dict]:
    """The series by falling MASE, or where it is unknown by falling absolute error."""

    def badness(pair: tuple[str, dict]) -> float:
        error = pair[1]["MASE"] if pair[1]["MASE"] is not None else pair[1]["mean absolute error"]
        return -math.inf if error is None else error

    return dict(sorted(series.items(), key=badness, reverse=True))


def origin_in_words(origin: dict) -> str:
    """When the forecasts of an origin begin: the first time or step, or the range over all series.

    Of dates in one year the second is without it.
    """
    if "times" not in origin:
        first, last = min(origin["first"]), max(origin["first"])
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"
    begin, end = min(origin["times"]), max(origin["times"])
    year = begin[:5]
    return begin if begin == end else f"{begin} to {end.removeprefix(year)}"
