"""Help that imports nothing, options by the names of other programs, and the nearest names."""

import json
import subprocess
import sys

import pytest

from ostinato.cli import help as pages
from ostinato.cli.options import parameters
from ostinato.cli.verbs import VERBS, asked_for
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task, steps_of
from ostinato.runs.config.common import COMMON, SELDOM, USUAL
from ostinato.runs.config.members import REGISTRIES
from ostinato.runs.config.sections import ALIASES, SHARED
from ostinato.settings import settings_of
from ostinato.studio import worker

TASKS, CELLS, LEARNERS = REGISTRIES.values()
IMPORTS = """
import sys
from ostinato import cli
for words in (["--help"], ["--version"], ["train", "--help"], ["train", "--help", "cell"]):
    sys.argv = ["ostinato", *words]
    try:
        cli.main()
    except SystemExit as end:
        assert end.code == 0, end.code
print(sorted({"jax", "scipy", "optax"} & set(sys.modules)))
"""


def test_the_short_pages_import_nothing():
    found = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"
    assert "ostinato 0." in found.stdout


@pytest.mark.parametrize("columns", [80, 100])
def test_the_page_of_train_is_short_and_as_wide_as_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = pages.train_page().splitlines()
    assert len(lines) <= 60
    assert {len(line) for line in lines if line[0:1] in "│╭╰" and line} == {columns}
    for option in ("--task", "--units", "--rate", "--epochs", "--resume", "--help all"):
        assert option in "\n".join(lines)


def test_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, pages.train_page().splitlines())) <= 60


SOURCES = {
    "tasks.series.series_settings": [TASKS["series"].Settings],
    "tasks.text.classification": [TASKS["classify"].Settings],
    "learning.first_order": [LEARNERS["adam"].Settings],
    "runs.config.sections": [*SHARED.values()],
}


def test_what_is_read_from_sources_are_the_settings():
    for modules in COMMON.values():
        for module, names in modules.items():
            real = {
                name: row
                for kind in SOURCES[module]
                for name, row in zip(settings_of(kind), pages.settings_rows(kind), strict=True)
            }
            for name in names:
                read = pages.declared(module)[name]
                begins = real[name].words.startswith(read.words.partition(" (default")[0] + ":")
                assert read == real[name] or (read.name == real[name].name and begins)
    for section in ("task", "cell", "learner"):
        assert f"(default: {USUAL[section]}" in pages.train_page()


def test_help_and_the_form_of_the_studio_show_the_same_settings_first():
    form = worker.form({})
    members = {role["section"]: role["members"] for role in form["roles"]}
    fields = [one for section in form["shared"].values() for one in section]
    fields += members["learner"]["adam"]["fields"]
    shown = {panel: {x for names in one.values() for x in names} for panel, one in COMMON.items()}
    of_tasks = shown.pop("Data and task")
    assert {one["name"] for one in fields if one["often"]} == set.union(*shown.values())
    assert not of_tasks & {*SELDOM}
    tasks = [name for kind in REGISTRIES["task"].values() for name in settings_of(kind.Settings)]
    assert {*SELDOM} <= {*tasks}


def test_every_verb_has_a_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    rows = [line for line in pages.front_page().splitlines() if line.startswith("│ ")]
    assert [row.split()[1] for row in rows[: len(VERBS)]] == list(VERBS)
    assert all(len(row.split()) > 4 for row in rows)


@pytest.mark.parametrize("role", REGISTRIES)
def test_the_page_of_a_member_has_exactly_its_settings(role):
    for name, kind in REGISTRIES[role].items():
        rows = pages.settings_rows(kind.Settings)
        named = [row.name.split()[0].replace("[no-]", "").lstrip("-").lower() for row in rows]
        assert [x.replace("-", "_") for x in named] == list(settings_of(kind.Settings))
        page = pages.topic_page(name)
        assert f"{role.capitalize()}: {name} " in page
        assert all(f"│ {row.name} " in page for row in rows)
        assert page.count("│ --") == sum(x != "file" for x in named) + 1  # --help
    every = pages.topic_page(role)
    assert all(f"│ {name} " in every for name in REGISTRIES[role])


@pytest.mark.parametrize("section", SHARED)
def test_the_page_of_every_run_has_exactly_its_settings(section):
    page, rows = pages.topic_page(section), pages.settings_rows(SHARED[section])
    assert all(f"│ {row.name} " in page for row in rows)
    assert page.count("│ --") == len(settings_of(SHARED[section]))


def test_names_belong_to_one_role():
    names = [*TASKS, *CELLS, *LEARNERS, *REGISTRIES, *SHARED, pages.ALL]
    assert len(names) == len(set(names))


def test_members_have_the_names_of_their_classes():
    from ostinato.learning.first_order import FIRST_ORDER

    assert all(kind.name == name for name, kind in TASKS.items())
    assert set(FIRST_ORDER) == {
        name for name, kind in LEARNERS.items() if kind.__name__ == "FirstOrder"
    }


def test_a_page_on_nothing():
    with pytest.raises(BadInput, match="no help on 'sereis'; did you mean series"):
        pages.topic_page("sereis")
    assert pages.help_for(["train", "--help", "all"]) is None  # which is the whole list
    assert pages.help_for(["train", "--", "--help"]) is None
    assert pages.help_for(["sample", "--help"]) is None
    assert pages.help_for(["--help", "train"]) == pages.help_for([]) == pages.front_page()


def test_a_terminal_without_unicode(monkeypatch):
    class Plain:
        encoding = "ascii"

        def isatty(self):
            return False

    monkeypatch.setattr(sys, "stdout", Plain())
    assert pages.page("x", ["y"], {"Z": [pages.Row("a", "b")]}).isascii()


@pytest.mark.parametrize(
    ("word", "near"), [("trian", "train"), ("Evaluat", "evaluate"), ("sampel", "sample")]
)
def test_a_misspelt_verb(word, near):
    with pytest.raises(BadInput, match=f"no verb '{word}'; did you mean {near}"):
        asked_for([word])


GIVEN = {
    "--lr 0.5": {"rate": 0.5},
    "--learning-rate 0.5": {"rate": 0.5},
    "--hidden 7": {"units": 7},
    "--hidden_size 7": {"units": 7},
    "--num_layers 2": {"layers": 2},
    "--optimizer sgd": {"learner": "sgd"},
    "--seq-len 9": {"length": 9},
    "--batch_size 5": {"batch": 5},
    "--batch-size=5": {"batch": 5},
    "--readout_units 5": {"readout_units": 5},
    "--epochs 3": {"epochs": 3},
}


@pytest.mark.parametrize("words", GIVEN)
def test_options_by_the_names_of_other_programs(ostinato, monkeypatch, words):
    seen = {}
    monkeypatch.setattr("ostinato.cli.train._train", lambda asked, *_: seen.update(asked))
    code, _, err = ostinato("train", *words.split())
    assert code == 0, err
    config = Config(**seen)
    assert {name: config.flat()[name] for name in GIVEN[words]} == GIVEN[words]


def test_other_names_are_no_settings_of_python_but_are_explained():
    with pytest.raises(BadInput, match="lr is not a setting; here it is called rate"):
        Config(lr=0.1)
    with pytest.raises(BadInput, match=r"not a setting \(did you mean batch\?"):
        Config.from_json({"training": {"batch_size": 3}})
    assert not ALIASES.keys() & {p.name for p in parameters()}


def test_a_setting_of_one_s_own_may_have_the_name_of_an_alias(ostinato, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import dataclasses\nfrom ostinato.cells import GRU\n"
        "from ostinato.settings import setting\n"
        "class Mine(GRU):\n    @dataclasses.dataclass(frozen=True)\n    class Settings:\n"
        "        hidden: int = setting(1, 'mine')\n"
        "    def __init__(self, inputs, units, hidden=1, *, key):\n"
        "        super().__init__(inputs, units, key=key)\n"
    )
    seen = {}
    monkeypatch.setattr("ostinato.cli.train._train", lambda asked, *_: seen.update(asked))
    code, _, err = ostinato("train", "--cell", "mine.py:Mine", "--hidden", "3")
    assert code == 0 and seen["hidden"] == 3 and "units" not in seen, err
    code, out, err = ostinato("train", "--help", "mine.py:Mine")
    assert code == 0 and "Cell: Mine" in out and "--hidden N" in out, err


def test_epochs_become_steps(tmp_path):
    (tmp_path / "t.txt").write_text("some text. " * 200)
    settings = {"file": str(tmp_path / "t.txt"), "length": 10, "batch": 4}
    one, three = (Config(**settings, epochs=n) for n in (1, 3))
    task = build_task(one)
    assert task.epochs(steps_of(one, task), one.batch_size) == pytest.approx(1, abs=0.05)
    assert steps_of(three, task) == pytest.approx(3 * steps_of(one, task), abs=3)
    assert Config(**three.flat()) == three


def test_epochs_that_are_refused(ostinato):
    with pytest.raises(BadInput, match="epochs must be at least 1"):
        Config(task="text", epochs=0)
    code, _, err = ostinato("train", "--epochs", "2", "--steps", "1000")
    assert code == 2 and err == "ostinato: give either --steps or --epochs, not both\n"


def test_a_run_of_epochs_stops_after_them(ostinato, tmp_path):
    (tmp_path / "t.txt").write_text("some text. " * 60)
    words = "--epochs 2 --length 10 --batch 4 --units 3 --cell simple --run r --json".split()
    code, out, err = ostinato("train", tmp_path / "t.txt", *words)
    assert code == 0, err
    start = json.loads((tmp_path / "r/events.jsonl").read_text().splitlines()[0])
    assert json.loads(out)["step"] == start["steps"] < 100
    assert start["epochs"] == pytest.approx(2, abs=0.15)
    code, out, err = ostinato("train", "--resume", "--run", "r", "--epochs", "3", "--json")
    assert code == 0 and json.loads(out)["step"] > start["steps"], err
