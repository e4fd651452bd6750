"""What the pages say can be done: their code, commands, options, names, files, counts and links."""

import ast
import importlib
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from everyday import some
from ostinato import cli, lens
from ostinato.claims import CLAIMS
from ostinato.cli.compiled import OFF
from ostinato.errors import NeedsExtra
from ostinato.experiments import RECIPES
from ostinato.learning.first_order import FIRST_ORDER
from ostinato.learning.hessian_free.learner import DAMPINGS
from ostinato.learning.schedules import SCHEDULES
from ostinato.runs import Config
from ostinato.runs.config.members import REGISTRIES
from ostinato.tasks import TASKS
from ostinato.tasks.generated import Synthetic

ROOT = Path(__file__).parent.parent
GUIDES = [p for place in ("*.md", "tutorials/*.md") for p in (ROOT / "docs").glob(place)]
DOCS = sorted(p.relative_to(ROOT).as_posix() for p in GUIDES)
PAGES = ["README.md", "CONTRIBUTING.md", "benchmarks/RESULTS.md", *DOCS]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


WITH_CODE = (
    "lens",
    "hessian_free",
    "programs",
    "turing",
    "reservoirs",
    "contrast",
    "reproduce",
    "evolve",
)
CODE = some([f"docs/{name}.md" for name in WITH_CODE], ["docs/lens.md", "docs/programs.md"])


@pytest.mark.parametrize("page", CODE)
def test_the_code_runs(page, capsys):
    """As it stands; that of README.md and docs/training.md is run in `test_readme.py`."""
    blocks = re.findall(r"```python\n(.+?)```", text_of(page), flags=re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, page, "exec"), {"__name__": "page"})
        assert capsys.readouterr().out


def test_the_calls_of_the_lens_page_have_the_arguments_that_are_needed():
    """Every `name(arguments)` of the table, and what a cell of the table adds as `key=value`."""
    rows = re.findall(r"(?m)^\| `.+$", text_of("docs/lens.md"))
    calls = [call for row in rows for call in re.findall(r"`(\w+\([^`]*\))`", row)]
    assert len(calls) >= 10
    for call in calls:
        tree = ast.parse(call, mode="eval").body
        signature = inspect.signature(getattr(lens, tree.func.id))
        signature.bind(*(a.id for a in tree.args), **{k.arg: None for k in tree.keywords})
    (jacobian,) = (row for row in rows if "`jacobian_by_lag(" in row)
    assert "probes=2, key=key" in jacobian


def test_one_form_of_the_command_that_installs_an_extra():
    """No registry has the package, so the hint is what works: from the source, in its folder."""
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    places = [*PAGES, "src/ostinato/export/templates/card.md"]
    places += [p.relative_to(ROOT).as_posix() for p in (ROOT / "src").rglob("*.py")]
    found = []
    for place in places:
        for words in re.findall(r"pip install [`'\"]?(?:ostinato|\.\[)[^`\n]*", text_of(place)):
            form = re.fullmatch(r"pip install '\.\[([a-z,{}]+)\]'(?!').*", words)
            assert form, f"{place}: {words}"
            found += form[1].split(",")
    assert {*found} - {"{extra}"} <= extras.keys() and len({*found}) > 10
    with pytest.raises(NeedsExtra, match=r": pip install '\.\[plot\]' in the source folder$"):
        raise NeedsExtra("a picture", "matplotlib", "plot")


def home(name):
    """The module that a dotted name of the package belongs to, and what it is there."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        found = module
        for part in parts[count:]:
            found = getattr(found, part)
        return module, found
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("page", PAGES)
def test_names_are_where_the_page_says(page):
    """A name in a package is one that it exports; in a plain module it must be defined there."""
    for name in set(re.findall(r"\bostinato(?:\.[a-zA-Z_]\w*)+", text_of(page))):
        module, found = home(name)
        if not hasattr(module, "__path__") and found is not module:
            assert found.__module__ == module.__name__, f"{name} is in {found.__module__}"


def headings(page):
    """The anchors of a page: its headings as GitHub spells them."""
    found = re.findall(r"(?m)^#+ (.+)$", text_of(page))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in found}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in headings(target.relative_to(ROOT).as_posix()), f"{page}: {link}"


def verbs():
    found = typer.main.get_command(cli.app).commands
    return {**found, **found["data"].commands, **found["program"].commands}


# Options that are not ours: of scripts and benchmarks, of XLA and launchers, and of a cell on
# docs/training.md.
OTHERS = {"CONTRIBUTING.md": {"--area", "--only"}, "docs/training.md": {"--keep", "--xla"}}
OTHERS["docs/scaling.md"] = {"--nodes", "--ntasks-per-node", "--gpus-per-node", "--hostfile"}
OTHERS["docs/reliability.md"] = {"--cases", "--kills", "--damages"}
OTHERS["benchmarks/RESULTS.md"] = {
    "--oscillators", "--seconds", "--separate", "--side-by-side", "--small", "--trackio"
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_option_is_one_that_a_verb_has(page):
    options = [p.opts + p.secondary_opts for verb in verbs().values() for p in verb.params]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text_of(page)))
    assert named <= {"--help", "--version", OFF}.union(OTHERS.get(page, ()), *options)


def commands(page):
    """The command lines in the blocks of a page, without comments, pipes and redirections."""
    blocks = re.findall(r"```(?:bash|console)\n(.+?)```", text_of(page), flags=re.DOTALL)
    lines = [line[4:] for line in text_of(page).splitlines() if line.startswith("    ")]
    whole = "\n".join([*blocks, "\n".join(lines)]).replace("\\\n", " ")
    for line in whole.splitlines():
        for part in re.split(r" (?:[|>]|&&) ", line):
            if part.startswith("ostinato ") and not re.search(r"[\[…]|: ", part):
                yield shlex.split(part, comments=True)[1:]


# Files that a command of a page reads before anything else.
GIVEN = ("settings.toml", "mine.py:", "mypackage", "best.py:")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_understood(page, ostinato, monkeypatch):
    """Options and settings are read and checked; nothing is trained, and no data is opened."""

    def build(asked, run, resume, *_):
        resume or Config(**asked)

    monkeypatch.setattr("ostinato.cli.train._train", build)
    for verb, *rest in commands(page):
        if verb == "train":
            given = [x.replace("examples/", f"{ROOT}/examples/") for x in rest]
            if not any(name in x for x in given for name in GIVEN):
                code, _, errors = ostinato("train", *given)
                assert code == 0, (rest, errors)
            continue
        command = typer.main.get_command(cli.app).commands[verb]
        if verb in ("data", "program"):
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context(verb, rest)


EXAMPLES = ("minimal.py", "line_means.py", "sign_descent.py")  # `test_contributing.py` makes them


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/claims.md"])
def test_every_file_that_is_named_exists(page):
    """Paths below a folder of the repository, and those of a room of `src/ostinato`."""
    rooms = {path.name for path in (ROOT / "src/ostinato").iterdir() if path.is_dir()}
    tops = ("src", "tests", "benchmarks", "examples", "scripts", "docs")
    for path in re.findall(
        r"(?<![\w/.])((?:[\w-]+/)+[\w.-]*\w\.(?:py|md|jsonl|js|html))\b", text_of(page)
    ):
        first = path.split("/")[0]
        if Path(path).name in EXAMPLES:
            continue
        if first in tops:
            assert (ROOT / path).exists(), path
        elif first in rooms and not path.startswith("runs/evolve-"):
            assert (ROOT / "src/ostinato" / path).exists(), path


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_member_is_on_a_page(kind):
    words = " ".join(text_of(page) for page in DOCS)
    assert [name for name in REGISTRIES[kind] if f"`{name}`" not in words] == []


# Those that the README counts; it names bouncing balls and the tasks of the Turing machine apart.
GENERATED = [
    name
    for name, task in TASKS.items()
    if issubclass(task, Synthetic) and name != "bouncing-balls" and not name.startswith("ntm-")
]
NUMBERS = {"three": 3, "five": 5, "seven": 7, "eight": 8, "nine": 9, "two": 2}


@pytest.mark.parametrize(
    ("words", "members"),
    [
        (r"(\w+) synthetic tasks", GENERATED),
        (r"the (\w+)\s+tasks of the neural\s+Turing", [x for x in TASKS if x.startswith("ntm-")]),
        (r"(\w+) first-order learners", FIRST_ORDER),
        (r"(\w+) schedules", SCHEDULES),
        (r"(\w+) kinds of damping", DAMPINGS),
        (r"(\d+) statements", CLAIMS),
        (r"(\d+) published experiments", RECIPES),
    ],
)
def test_the_counts_of_the_readme(words, members):
    (said,) = re.findall(words, text_of("README.md"))
    assert NUMBERS.get(said, said) in (len(members), str(len(members)))


def test_verbs_without_json_are_named():
    """docs/training.md: every verb but these prints one JSON document."""
    (said,) = re.findall(
        r"Every\s+verb\s+but (.+?)\s+has `--json`", text_of("docs/training.md"), re.DOTALL
    )
    without = {
        name
        for name, verb in verbs().items()
        if not hasattr(verb, "commands")
        and "--json" not in [x for p in verb.params for x in p.opts]
    }
    assert {x.split()[-1] for x in re.findall("`(.+?)`", said)} == without


def test_the_table_of_differences_that_seeds_can_show():
    from ostinato.contrast.statistics import smallest_effect

    rows = re.findall(
        r"(?m)^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text_of("docs/contrast.md")
    )
    assert len(rows) == 4
    for seeds, *said in rows:
        for comparisons, value in zip((1, 3, 6), said, strict=True):
            assert smallest_effect(int(seeds), comparisons) == pytest.approx(
                float(value), rel=0.005
            )


def test_the_dampings_of_the_literature_are_those_of_the_recipes():
    """A command line of docs/hessian_free.md has the λ and μ of the row that repeats the work."""
    rows = re.findall(
        r"(?m)^\| Krause \(2015\), his (.+?) \| `(.+)` \|$", text_of("docs/hessian_free.md")
    )
    said = {
        name: dict(re.findall(r"--(tikhonov|structural) ([\d.]+)", line)) for name, line in rows
    }
    recipes = {
        "RNN, LSTM": ("krause-table", "rnn", "lstm"),
        "mRNN, alone and stacked": ("krause-table", "mrnn", "stack"),
        "mLSTM": ("krause-table", "mlstm"),
        "mLSTM on Wikipedia": ("krause-wikipedia", "structural"),
    }
    assert said.keys() == recipes.keys()
    for name, (recipe, *parts) in recipes.items():
        for row in RECIPES[recipe].chosen(parts):
            for setting, value in said[name].items():
                assert row.settings[setting] == float(value), (name, setting)


def test_the_speeds_of_the_readme_are_those_measured():
    """Each shape and ratio is a line of RESULTS.md, in bfloat16 on the GPU."""
    rows = re.findall(r"(?m)\| (B\d+ T\d+ h\d+) \| ([\d.]+) \|$", text_of("README.md"))
    assert len(rows) == 6
    measured = text_of("benchmarks/RESULTS.md")
    for shape, ratio in rows:
        assert re.search(rf"(?m)^\| {shape} \|(?! TF32).*\*\*{ratio}\*\*", measured), (shape, ratio)


def test_the_recipes_of_the_turing_machine_are_on_its_page():
    page = text_of("docs/turing.md").partition("All machines have an LSTM of 100 units")[2]
    for name, task in TASKS.items():
        if "turing" in task.recipe:
            recipe = task.recipe
            short = name.removeprefix("ntm-").replace("-", " ").replace("ngrams", "n-grams")
            row = re.findall(rf"(?m)^\| {short} \|.*$", page)[0]
            size = recipe["turing"].replace("x", " x ")
            numbers = f"| {recipe['rate']:g} | {recipe['batch']} |"
            assert f"| {size}" in row and numbers in row and f"| {recipe['steps']:,} |" in row


@pytest.mark.parametrize("name", ["ntm-copy", "ntm-repeat-copy", "ntm-recall", "ntm-sort"])
def test_the_longer_sequences_of_a_task_are_on_its_page(name):
    (row,) = re.findall(rf"(?m)^\| `{name}` \|.*$", text_of("docs/turing.md"))
    for words in TASKS[name]().longer():
        count = words.split(" ")[0]
        assert words in row or re.search(rf"\b{count}\b[^|]*\|$", row), words
