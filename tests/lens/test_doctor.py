"""The doctor: every planted fault is named, and nothing is said about healthy runs."""

import math
import re
import shlex
from dataclasses import fields, replace

import pytest
import typer

from ostinato.cli import app
from ostinato.lens.doctor import RULES, Evidence, diagnose
from ostinato.lens.doctor.evidence import again, look_at_batches
from ostinato.lens.doctor.rules_for_data import tail, too_little
from ostinato.runs import Config, train
from ostinato.runs.analysis.examination import gather
from ostinato.tasks import Text

from .doctor_cases import CASES, FAULTS, HEALTHY, rounded


def names(evidence: Evidence) -> list[str]:
    return [finding.name for finding in diagnose(evidence)]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.name)
def test_a_planted_fault_is_named(case):
    assert case.fault in names(case.recorded())


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_a_healthy_run_raises_no_alarm(case):
    assert names(case.recorded()) == []


def test_enough_cases_of_many_kinds():
    assert len(FAULTS) >= 15 and len(HEALTHY) >= 15
    settings = [case.config for case in HEALTHY]
    assert len({config.cell.name for config in settings}) >= 6
    assert len({config.learner.name for config in settings}) >= 6
    assert len({config.task.name for config in settings}) >= 5


def test_every_rule_has_a_case():
    found = {name for case in FAULTS for name in names(case.recorded())}
    kinds = {rule.__name__.replace("_", " ") for rule in RULES}
    assert {name.replace("-", " ") for name in found} == kinds


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_words_are_whole_sentences_with_numbers_and_a_thing_to_try(case):
    for finding in diagnose(case.recorded()):
        assert finding.words[0].isupper() and finding.words.endswith(".")
        assert any(letter.isdigit() for letter in finding.evidence), finding.evidence
        assert finding.advice
        assert "nan" not in finding.advice and "None" not in finding.advice, finding.advice


@pytest.mark.parametrize("name", ["text lstm adam", "adding hf", "adding lstm adam"])
def test_a_run_that_has_just_begun_raises_no_alarm(name):
    evidence = CASES[name].recorded()
    history = evidence.history
    begun = replace(
        history,
        validations=[(2, evidence.goal.chance)],
        **{
            key: getattr(history, key)[:2]
            for key in (
                *("steps", "losses", "norms", "largest", "rates", "clipped"),
                *("moved", "farthest"),
            )
        },
    )
    assert diagnose(replace(evidence, history=begun)) == []


def test_a_loss_that_still_falls_is_not_at_chance():
    evidence = CASES["answers of other sequences"].recorded()
    assert "loss at chance" in names(evidence)
    falling = [10 - 0.1 * i for i in range(len(evidence.history.losses))]
    history = replace(evidence.history, losses=falling)
    assert "loss at chance" not in names(replace(evidence, history=history))


def test_a_run_without_weights_can_be_judged():
    evidence = replace(CASES["targets not shifted"].recorded(), network=None)
    assert names(evidence) == ["targets not shifted"]


def test_a_log_without_entries_can_be_judged():
    evidence = CASES["text lstm adam"].recorded()
    columns = {f.name: [] for f in fields(evidence.history) if f.name != "trouble"}
    assert names(replace(evidence, history=replace(evidence.history, **columns))) == []


@pytest.mark.parametrize("column", ["moved", "losses", "norms", "farthest", "largest"])
def test_what_was_not_finite_is_no_sign_of_a_rate_too_low(column):
    evidence = CASES["adam rate 1e-7"].recorded()
    missing = [math.nan] * len(evidence.history.steps)
    found = names(replace(evidence, history=replace(evidence.history, **{column: missing})))
    assert ("rate too low" in found) == (column not in ("moved", "losses"))


def test_a_gap_is_no_fault_where_validation_beats_counting():
    evidence = CASES["some text"].recorded()
    assert "generalisation gap" in names(evidence)
    easy = replace(evidence.goal, baselines={"bigram": 4.5, "order 5": 4.3})
    assert "generalisation gap" not in names(replace(evidence, goal=easy))
    assert "generalisation gap" not in names(replace(evidence, goal=replace(easy, baselines={})))
    # 0.5 bits of the usual 4.7 are a gap, 0.3 are none.
    last = evidence.history.validations[-1][1]
    for bits, is_gap in ((0.5, True), (0.3, False)):
        network = replace(evidence.network, score=last - bits)
        losses = [math.log(2) * (last - bits)] * len(evidence.history.losses)
        history = replace(evidence.history, losses=losses)
        found = names(replace(evidence, network=network, history=history))
        assert ("generalisation gap" in found) == is_gap


def test_a_gap_is_that_at_the_time_of_the_validation():
    """A network that has learned since is not compared with a validation of long ago."""
    evidence = CASES["text lstm adam"].recorded()
    early = evidence.history.steps[0]
    chance = replace(evidence.history, validations=[(early, evidence.goal.chance)])
    known = replace(evidence.network, score=1.0)
    found = names(replace(evidence, history=chance, network=known))
    assert "generalisation gap" not in found


@pytest.mark.parametrize(
    "length, settings, is_short",
    [
        (2, {}, True),
        (4, {}, True),
        (5, {}, False),
        (25, {"gradient": "truncated", "window": 4}, True),
        (25, {"gradient": "truncated", "window": 5}, False),
        (2, {"gradient": "rtrl"}, False),
    ],
)
def test_a_window_of_a_few_steps(length, settings, is_short):
    evidence = CASES["text lstm adam"].recorded()
    data = replace(evidence.data, shape=(length, 32), asked=(length, 32))
    changed = replace(evidence, data=data, settings=evidence.settings | settings)
    assert ("window too short" in names(changed)) == is_short
    task = replace(changed, goal=replace(changed.goal, lag=1))
    assert "window too short" not in names(task), "a task says itself how far it reaches"


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 30])
def test_batches_of_a_text_of_a_few_characters(count):
    task = Text.of("ab" * (count // 2) + "a" * (count % 2))
    found = look_at_batches(task, task.batch(0, 32), task.batch(1, 32), 32)
    assert found.shape[0] == min(50, len(task.parts["train"]) - 1)
    assert found.next == (1.0 if found.shape[0] > 1 else None)


@pytest.mark.parametrize("name", ["little text", "some text"])
def test_a_fitted_readout_is_not_advised_dropout(name):
    """Dropout and patience are no cure where nothing but a linear readout is fitted."""
    evidence = CASES[name].recorded()
    (finding,) = diagnose(evidence)
    assert "--dropout" in finding.advice
    (fitted,) = diagnose(replace(evidence, remedy="a larger --strength"))
    assert fitted.name == finding.name and fitted.advice.endswith("a larger --strength")
    assert "--dropout" not in fitted.advice and "--patience" not in fitted.advice


@pytest.mark.slow
def test_a_learner_that_fits_once_says_its_own_remedy(tmp_path):
    fast = {"task": "mackey-glass", "samples": 400, "washout": 20, "cell": "reservoir", "units": 5}
    for learner, steps, words in (("rls", 3, "--strength"), ("adam", 1, None)):
        run = train(Config(learner=learner, steps=steps, **fast), tmp_path / learner)
        remedy = gather(run).remedy
        assert words in remedy if words else remedy is None


def test_evidence_without_the_newer_fields_can_be_read():
    found = CASES["some text"].recorded().as_json()
    for name in ("baselines", "loss_factor"):
        del found["goal"][name]
    old = Evidence.from_json(found)
    assert old.goal.baselines == {} and "generalisation gap" not in names(old)


def test_evidence_goes_to_json_and_back():
    evidence = CASES["adding gru adam"].recorded()
    again = Evidence.from_json(evidence.as_json())
    assert rounded(again.as_json()) == rounded(evidence.as_json())
    assert math.isclose(again.goal.gain(again.goal.chance), 0.0)


def test_the_command_to_try():
    settings = {"task": "adding", "rate": 1.0, "carry": False, "layer_norm": True}
    command = again(settings, rate=0.01, layer_norm=None)
    assert command == "ostinato train --task adding --rate 0.01 --no-carry"
    assert again({"units": (5, 4)}) == "ostinato train --units 5,4"
    assert again({"file": "my book.txt"}) == "ostinato train 'my book.txt'"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_commands_are_those_of_the_command_line(case):
    """What is advised can be run: its options make a configuration."""
    train = typer.main.get_command(app).commands["train"]
    for finding in diagnose(case.recorded()):
        if "ostinato train " in finding.advice:
            words = shlex.split(finding.advice.split("ostinato train ")[1])
            given = train.make_context("train", words).params
            own = (
                "run", "config", "resume", "tensorboard", "as_json",
                "distributed", "coordinator", "processes", "process",
            )  # fmt: skip
            Config(**{k: v for k, v in given.items() if k not in own and v is not None})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_same_from_training_anew(case):
    found = names(case.run())
    assert found == [] if case.fault is None else case.fault in found


# Forecasts


def test_a_small_sample_of_intervals_raises_no_alarm():
    """20 of 40 is far from 0.8 by chance once in 40,000 times; 2 of 4 once in 5 times."""
    evidence = CASES["more noise in validation"].recorded()
    for covered, apart, alarms in [
        (0.5, 40, ["intervals too narrow"]),
        (0.5, 4, []),
        (0.0, 4, []),
        (0.78, 10**6, []),  # sure, but not worth a word
        (1.0, 20, []),
        (1.0, 60, ["intervals too wide"]),
        (None, 0, []),
    ]:
        forecasts = replace(evidence.forecasts, covered=covered, apart=apart)
        assert names(replace(evidence, forecasts=forecasts)) == alarms


def test_the_tail_is_that_of_a_binomial_distribution():
    for count, share, inside in [(10, 0.8, 5), (40, 0.8, 20), (300, 0.95, 299), (7, 0.5, 0)]:
        terms = [
            math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)
        ]
        assert tail(count, share, inside, -1) == pytest.approx(sum(terms[: inside + 1]), rel=1e-9)
        assert tail(count, share, inside, 1) == pytest.approx(sum(terms[inside:]), rel=1e-9)


def test_a_naive_forecast_is_compared_with_the_best_validation():
    evidence = CASES["series of means"].recorded()
    best = min(value for _, value in evidence.history.validations)
    for factor, alarms in ((1.01, []), (0.99, ["worse than naive"])):
        forecasts = replace(evidence.forecasts, naive={"persistence": factor * best, "far": 99.0})
        assert names(replace(evidence, forecasts=forecasts)) == alarms
    begun = replace(evidence.history, losses=evidence.history.losses[:3])
    assert "worse than naive" in names(replace(evidence, forecasts=forecasts, history=begun))
    assert "worse than naive" not in names(
        replace(evidence, forecasts=forecasts, history=replace(begun, validations=[]))
    )


@pytest.mark.parametrize(
    "numbers, says",
    [
        ((5, 100, 1000, 10.0), "5 targets, fewer than one window of 100 steps"),
        ((1, 100, 1000, None), "1 target, fewer"),
        ((200, 100, 70_000, 800.0), "200 targets for 70,000 parameters, .* of them 800 times"),
        ((200, 100, 70_000, 20.0), None),  # it is read a few times only
        ((2000, 100, 70_000, 800.0), None),
        ((None, 100, 70_000, None), None),
    ],
)
def test_too_little_data(numbers, says):
    found = too_little(*numbers)
    assert (found is None) == (says is None) and (says is None or re.search(says, found))
