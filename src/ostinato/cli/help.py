"""Help for `ostinato` and `ostinato train`, without importing what it is about.

JAX and all tasks take seconds to import, so the short pages are made from the text of the sources:
a verb's line is the docstring of its module, and an option's is its `setting(...)`. The page of a
task, cell or learner has exactly its settings, and imports that one alone. Where Ostinato is
installed as bytecode, without its sources, the modules are imported instead.
"""

import ast
import dataclasses
import importlib.util
import inspect
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import BadInput
from ..names import did_you_mean, option_of
from ..runs.config.common import COMMON, USUAL
from .compiled import OFF
from .verbs import VERBS

HELP = ("-h", "--help")
ALL = "all"
MORE = "More help"
WIDEST = 100
NAMING = ("--task", "--cell", "--learner", "--first", "--config")
LINE = "Recurrent networks: train, sample, evaluate and inspect them, and verify claims."
FILE = (
    "your data: a text or a folder of texts, a .csv, .jsonl, .parquet, .npy or .npz file, or the "
    "name of a data set"
)
OWN = {  # the options of `train` that are no settings
    "run": "the run folder (by default the next free one in runs/)",
    "config": "a TOML file with settings; options on the command line win over it",
    "resume": "continue the run of --run",
    "tensorboard": "also write the metrics for TensorBoard",
    "json": "print one JSON document at the end and nothing else",
}
TOGETHER = {  # those that are about several processes
    "distributed": "one of several processes that work together; all get the same options",
    "coordinator": "where the first of them listens, HOST:PORT; a launcher that JAX knows tells it",
    "processes": "how many there are, without such a launcher",
    "process": "which one this is, from 0",
}


class Row(NamedTuple):
    """A line of a panel: an option or a verb, and what it is."""

    name: str
    words: str


def help_for(arguments: list[str]) -> str | None:
    """The page that a command line asks for, if it is one of those that are made here."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = next((n for n, word in enumerate(before) if word in HELP), None)
    verb = next((n for n, word in enumerate(before) if not word.startswith("-")), None)
    if not arguments or (asked is not None and (verb is None or asked < verb)):
        return front_page()
    if asked is None or verb is None or before[verb] != "train":
        return None
    topic = next((word for word in before[asked + 1 : asked + 2] if word[:1] != "-"), None)
    if topic == ALL:
        return None
    if topic is not None:
        return topic_page(topic)
    if any(word.partition("=")[0] in NAMING for word in before):
        from .named import named_members  # late, because it imports JAX

        if names := named_members(before):
            return members_page(names)
    return train_page()


def front_page() -> str:
    """The page of `ostinato --help`."""
    rows = [Row(verb, _sentence(_first_line(verb))) for verb in VERBS]
    options = [
        Row("--version", "Print the version."),
        Row("--install-completion", "Let this shell complete verbs and options."),
        Row("--show-completion", "Print what that would install."),
        Row(OFF, "Neither use nor keep compiled programs of earlier commands."),
        Row("-h, --help", "Print this page; after a verb, the page of that verb."),
    ]
    return page("ostinato VERB ...", [LINE], {"Verbs": rows, "Options": options})


def train_page() -> str:
    """The page of `ostinato train --help`: the options that most people need."""
    from ..runs.config.members import REGISTRIES

    panels: dict[str, list[Row]] = {
        "Data and task": [
            Row("FILE", FILE),
            Row("--task NAME", f"what to learn (default: {USUAL['task']}, or by the kind of file)"),
        ],
        "Network": [Row("--cell NAME", f"the recurrent cell (default: {USUAL['cell']})")],
        "Learning": [Row("--learner NAME", f"the optimiser (default: {USUAL['learner']})")],
        "Run": [],
    }
    for panel, modules in COMMON.items():
        for module, names in modules.items():
            settings = declared(module)
            panels[panel] += [settings[name] for name in names]
    values = {"run": " FOLDER", "config": " FILE"}
    panels["Run"] += [Row(f"--{name}{values.get(name, '')}", words) for name, words in OWN.items()]
    panels[MORE] = [
        Row("--help task", "all tasks; also --help cell and --help learner"),
        Row("--help series", "the options of a task, a cell or a learner"),
        Row("--help network", "those of every network; also --help training, processes"),
        Row("--help all", "everything"),
    ]
    words = [
        f"Train a network on a file of yours, or on one of {len(REGISTRIES['task'])} tasks.",
        "All is kept in a run folder; a run that was stopped goes on with --resume.",
    ]
    return page("ostinato train [FILE] [OPTIONS]", words, panels)


def topic_page(topic: str) -> str:
    """The page of `ostinato train --help TOPIC`."""
    from ..runs.config.members import REGISTRIES

    if topic in REGISTRIES:
        return list_page(topic)
    roles = [role for role, members in REGISTRIES.items() if topic in members]
    if roles:
        return members_page(dict.fromkeys(roles, topic))
    if topic in ("network", "training"):
        from ..runs.config.sections import SHARED

        words = [_first_paragraph(SHARED[topic].__doc__)]
        panels = {topic.capitalize(): list(settings_rows(SHARED[topic]))}
        return page("ostinato train [OPTIONS]", words, panels)
    if topic == "processes":
        words = ["Train in several processes, on one machine or many, all with the same options."]
        rows = [Row(f"--{name}", what) for name, what in TOGETHER.items()]
        return page("ostinato train --distributed [OPTIONS]", words, {"Processes": rows})
    if ":" in topic:
        return members_page({_role_of(topic): topic})
    known = [*REGISTRIES, "network", "training", "processes", ALL]
    known += [name for members in REGISTRIES.values() for name in members]
    raise BadInput(f"there is no help on {topic!r:.60}; {did_you_mean(topic, known)}")


def list_page(role: str) -> str:
    """All tasks, cells or learners, a line each."""
    from ..runs.config.members import REGISTRIES

    members = REGISTRIES[role]
    rows = [Row(name, _docstring_of(members, name)) for name in members]
    words = [f"The {role}s of --{role}; yours is module:Class or file.py:Class."]
    panels = {
        f"{role.capitalize()}s": rows,
        MORE: [Row(f"--help {rows[0].name}", f"the options of {rows[0].name}, and so on")],
    }
    return page(f"ostinato train --{role} NAME", words, panels)


def members_page(names: Mapping[str, str]) -> str:
    """The options of some members, by section, each in a panel."""
    from ..runs.config.members import find
    from ..runs.config.sections import ROLES

    panels, words = {}, []
    for section, name in names.items():
        whole, kind = find(ROLES[section], name)
        title = f"{ROLES[section].capitalize()}: {whole.rpartition(':')[2]}"
        words.append(_first_paragraph(kind.__doc__))
        panels[title] = list(settings_rows(kind.Settings)) or [Row("", "It has no options.")]
        if section == "task" and kind.recipe:
            given = (f"{option_of(x)} {value}" for x, value in kind.recipe.items())
            panels["Unless --cell is given"] = [Row("", " ".join(given))]
    asked = " ".join(f"--{section} {name}" for section, name in names.items())
    panels[MORE] = [Row("--help", "the options of every run")]
    return page(f"ostinato train {asked} [OPTIONS]", words, panels)


def settings_rows(kind: type) -> Iterator[Row]:
    """A row for each setting of a dataclass."""
    from ..settings import settings_of

    for one in settings_of(kind).values():
        among = one.among if one.among and not all(x in one.help for x in one.among) else ()
        words = described(one.name, one.help, one.default, ", ".join(among))
        yield _row(one.name, one.type.__name__, one.default, words)


def described(name: str, words: str, default: Any, *notes: str) -> str:
    """The help of an option, with notes and its default."""
    remarks = [note for note in notes if note]
    if default is not None and default is not False:
        remarks.append(f"default: {f'--{name}' if default is True else default}")
    return words + (f" ({'; '.join(remarks)})" if remarks else "")


def declared(module: str) -> dict[str, Row]:
    """The settings that the source of a module declares, as rows, without importing it.

    Help that is put together when the module runs is cut where that begins.
    """
    rows = {}
    if (text := _source(module)) is None:
        return _settings_in(importlib.import_module(f"ostinato.{module}"))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            if ast.unparse(node.value.func) == "setting":
                name, (default, words) = ast.unparse(node.target), node.value.args
                usual = default.value if isinstance(default, ast.Constant) else None
                kind = ast.unparse(node.annotation)
                kind = "tuple" if "tuple" in kind else kind.partition(" ")[0]
                rows[name] = _row(name, kind, usual, described(name, _text(words), usual))
    return rows


def _settings_in(module: ModuleType) -> dict[str, Row]:
    """The settings of all dataclasses of a module, and of those within its classes, as rows."""
    from ..settings import settings_of

    classes = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
    classes += [kind for one in classes for _, kind in inspect.getmembers(one, inspect.isclass)]
    own = [kind for kind in classes if kind.__module__ == module.__name__]
    declaring = [
        kind
        for kind in filter(dataclasses.is_dataclass, own)
        if all(field.metadata for field in dataclasses.fields(kind))
    ]
    return {
        name: row
        for kind in declaring
        for name, row in zip(settings_of(kind), settings_rows(kind), strict=True)
    }


def _text(node: ast.expr) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    first = parts[0]
    assert isinstance(first, ast.Constant)
    return str(first.value).rstrip(" :(,") if len(parts) > 1 else str(first.value)


def _row(name: str, kind: str, default: Any, words: str) -> Row:
    option = option_of(name)
    if name == "file":
        return Row("FILE", words)
    if kind == "bool":
        return Row(f"--[no-]{option[2:]}" if default else option, words)
    value = {"int": "N", "float": "X", "tuple": "N,N,..."}.get(kind, "WORD")
    return Row(f"{option} {value}", words)


def page(usage: str, words: Iterable[str], panels: Mapping[str, list[Row]]) -> str:
    """A page of help as wide as the terminal: usage, sentences, and a box for each panel."""
    width = max(40, min(WIDEST, shutil.get_terminal_size().columns))
    lines = [f" Usage: {usage}", ""]
    for sentence in words:
        lines += textwrap.wrap(sentence, width - 2, initial_indent=" ", subsequent_indent=" ")
    lines.append("")
    longest = max(len(row.name) for rows in panels.values() for row in rows)
    column = min(longest, width // 3) + 2
    for title, rows in panels.items():
        lines += _boxed(title, rows, column, width)
    return "\n".join(lines)


def _boxed(title: str, rows: list[Row], column: int, width: int) -> Iterator[str]:
    corners = "╭╮╰╯─│" if _can_draw() else "++++-|"
    inner = width - 4
    yield corners[0] + f"{corners[4]} {title} ".ljust(width - 2, corners[4]) + corners[1]
    for row in rows:
        words = textwrap.wrap(row.words, inner - column) or [""]
        if len(row.name) > column - 2:
            words.insert(0, "")
        for n, line in enumerate(words):
            name = (row.name if n == 0 else "").ljust(column)
            rest = " " * (inner - len(name) - sum(not unicodedata.combining(x) for x in line))
            yield f"{corners[5]} {_coloured(name)}{line}{rest} {corners[5]}"
    yield corners[2] + corners[4] * (width - 2) + corners[3]


def _can_draw() -> bool:
    try:
        "╭".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _coloured(name: str) -> str:
    if not name.strip() or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return name
    return f"\x1b[1;36m{name}\x1b[0m"


def _source(module: str) -> str | None:
    """The text of one of our modules, which is not imported; `None` if only bytecode is there."""
    spec = importlib.util.find_spec(f"ostinato.{module}")
    return spec.loader.get_source(spec.name)  # type: ignore[union-attr]


def _first_line(verb: str) -> str:
    """What a verb does, from the docstring of its module: "`ostinato VERB`: what it does."."""
    module = f"cli.{verb}"
    if (text := _source(module)) is None:
        text = importlib.import_module(f"ostinato.{module}").__doc__ or ""
    return text.partition("\n")[0].removesuffix('"""').partition("`: ")[2]


def _docstring_of(members: Any, name: str) -> str:
    """The first paragraph of a member's docstring."""
    module, kind = members.where(name)
    if (text := _source(module.partition(".")[2])) is None:
        return _first_paragraph(members[name].__doc__)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == kind:
            return _first_paragraph(ast.get_docstring(node))
    return ""


def _first_paragraph(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().partition("\n\n")[0].split())


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _role_of(name: str) -> str:
    """Whether a class of one's own is a task, a cell or a learner."""
    from ..runs.config.members import REGISTRIES, find

    problem: BadInput | None = None
    for role in REGISTRIES:
        try:
            find(role, name)
        except BadInput as error:
            problem = problem or error
        else:
            return role
    assert problem is not None
    raise problem
