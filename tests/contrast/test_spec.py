"""Specifications: what they mean, and one line with its place for what is wrong."""

import json
import re

import pytest

from ostinato.contrast import Spec
from ostinato.contrast.entries import entries_of
from ostinato.contrast.spec import line_of
from ostinato.errors import BadInput
from ostinato.runs.build import build_task
from ostinato.runs.network.budget import parameter_count, units_of

SPEC = """\
budget = 2000
seeds = [3, 4]
trials = 3
tasks = ["adding"]
cells = [
    "lstm",
    "mine.py:Mine",
]

[settings]
length = 10
steps = 5

[wirings]
flat = {}
deep = { layers = 2 }

[learners.adam]
[learners.slow]
learner = "sgd"
batch = 4
"""
MINE = "from ostinato.cells import Simple\nclass Mine(Simple):\n    pass\n"


def written(folder, text=SPEC):
    (folder / "mine.py").write_text(MINE)
    (folder / "SPEC.toml").write_text(text)
    return folder / "SPEC.toml"


def test_the_grid_has_every_combination_at_the_same_budget(tmp_path):
    spec = Spec.from_toml(written(tmp_path))
    found = entries_of(spec)
    assert [entry.name for entry in found] == [
        f"{cell}-{wiring}-{learner}"
        for cell in ("lstm", "mine.py-Mine", "Mine")
        for wiring in ("flat", "deep")
        for learner in ("adam", "slow")
        if cell != "mine.py-Mine"
    ]
    for entry in found:
        config = entry.with_seed(3, entry.usual)
        task = build_task(config)
        count = parameter_count(config, task, units_of(config, task))
        assert abs(count - 2000) < 200 and config.seed == 3 and config.length == 10
        assert config.layers == (2 if "deep" in entry.name else 1)
        assert config.rate == entry.usual["rate"]
        low, high = entry.ranges["rate"]
        assert low < config.rate < high
    slow = found[1].config
    assert (slow.learner.name, slow.batch) == ("sgd", 4)


def test_json_gives_the_same_specification(tmp_path):
    spec = Spec.from_toml(written(tmp_path))
    assert Spec.from_dict(json.loads(json.dumps(spec.as_json()))) == spec


def test_a_setting_that_is_given_is_not_tuned_unless_a_range_is():
    given = {"cells": ["lstm"], "tasks": ["adding"], "settings": {"length": 9, "rate": 0.01}}
    (entry,) = entries_of(Spec.from_dict(given))
    assert entry.ranges == {} and entry.config.rate == 0.01
    (entry,) = entries_of(Spec.from_dict({**given, "tune": {"rate": [0.001, 0.004]}}))
    assert entry.ranges == {"rate": (0.001, 0.004)} and entry.usual == {
        "rate": pytest.approx(0.002)
    }


def test_a_range_is_for_the_entries_that_have_the_setting():
    learners = {"adam": {}, "hf": {"batch": 20, "steps": 3}}
    given = {"cells": ["lstm"], "tasks": ["adding"], "settings": {"length": 9}}
    tune = {"rate": [0.001, 0.01], "weight_decay": [1e-4, 1e-2]}
    adam, hf = entries_of(Spec.from_dict({**given, "learners": learners, "tune": tune}))
    assert adam.ranges == {"rate": (0.001, 0.01), "weight_decay": (1e-4, 1e-2)}
    assert adam.usual == {"rate": 0.004, "weight_decay": pytest.approx(1e-3)}
    assert [*hf.ranges] == ["structural"] and hf.usual == {"structural": 0.003}


WRONG = [
    (
        "budget = 2000",
        "bugdet = 2000",
        1,
        "'bugdet' is no part of a contrast; did you mean budget?",
    ),
    ('"lstm",', '"lstn",', 6, "there is no cell 'lstn'; did you mean lstm?"),
    ('"mine.py:Mine"', '"mine.py:Yours"', 7, "has no Yours; its cells are Mine"),
    ('["adding"]', '["ading"]', 4, "there is no task 'ading'"),
    ("length = 10", "lenght = 10", 11, "'lenght', which is not a setting (did you mean length?)"),
    ("length = 10", "length = 'ten'", 11, "length must be of type int, got 'ten'"),
    ("layers = 2", "layers = 0", 16, "layers must be at least 1"),
    ("layers = 2", "reset = 'after'", 16, "reset is a setting of the cell gru; the cell is lstm"),
    ('learner = "sgd"', 'learner = "sdg"', 20, "there is no learner 'sdg'"),
    ("batch = 4", "steps = 0", 21, "steps must be at least 1"),
    ("batch = 4", "layers = 3", 21, "layers is set by learners.slow and by wirings.deep"),
    ("budget = 2000", "budget = 20", 1, "the smallest lstm for this task has"),
    ("budget = 2000", "budget = 'big'", 1, "budget is a whole number from 1 on"),
    ("seeds = [3, 4]", "seeds = [3]\ntest = true", 2, "it needs at least two; there is one"),
    ("seeds = [3, 4]", "seeds = [3, 3]", 2, "the same seed twice"),
    ("seeds = [3, 4]", "seeds = [0, 3]", 2, "from 1 to"),
    ("trials = 3", "trials = -1", 3, "trials is a whole number from 0 on, got -1"),
    ("trials = 3", "trials = 9999999999", 3, "trials is at most 1000, got 9999999999"),
    ("trials = 3", "tune = { rate = [1, 0.1] }", 3, "tune.rate is a least and a largest value"),
    ("trials = 3", "tune = { beam = [0.1, 1] }", 3, "no entry has a setting beam to tune"),
    ("trials = 3", "tune = { rate = [1, inf] }", 3, "rate must be a number that float32 holds"),
    ("trials = 3", "tune = { zoneout = [0.1, 3] }", 3, "zoneout must be below 1, got 3.0"),
    ("trials = 3", "tune = { layers = [1, 4] }", 3, "layers must be of type int, got 1.0"),
    ("length = 10", "budget = 10", 11, "give budget beside the settings, not among them"),
    ('learner = "sgd"', "learner = 3", 20, "learners.slow.learner is a name, got 3"),
    ("flat = {}", "flat = 3", 15, "wirings.flat is a table of settings, got 3"),
    ('tasks = ["adding"]', 'tasks = ["adding", "adding"]', 4, "tasks has adding twice"),
    ("trials = 3", "trials = ", 3, "is not a TOML file"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=lambda x: str(x)[:24])
def test_mistakes_name_their_line(tmp_path, old, new, line, words):
    assert old in SPEC
    path = written(tmp_path, SPEC.replace(old, new))
    with pytest.raises(BadInput) as error:
        entries_of(Spec.from_toml(path))
    found = str(error.value)
    assert words in found and "\n" not in found
    where = re.search(r"SPEC.toml(?:, line | is not a TOML file.*line )(\d+)", found)
    assert (int(where[1]) if where else None) == line, found


def test_lines_of_dotted_and_quoted_keys():
    text = '# cells = 1\nlearners.adam.rate = 1\n["wirings"."my deep"]\nlayers = 2\n'
    assert line_of(text, ["learners", "adam", "rate"]) == 2
    assert line_of(text, ["wirings", "my deep", "layers"]) == 4
    assert line_of(text, ["wirings", "my deep"]) == 3 and line_of(text, ["cells"]) is None
