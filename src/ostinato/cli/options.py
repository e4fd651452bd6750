"""The options of `ostinato train`, made from the settings of every task, cell and learner.

A setting that several members share is one option, in the panel of their role; the settings of a
single class have their own panel. Your own classes are found on the command line and in the file of
`--config` before the options are made, so their settings are options too.
"""

import inspect
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from ..errors import BadInput
from ..names import option_of
from ..runs.config.common import USUAL
from ..runs.config.members import REGISTRIES, find
from ..runs.config.sections import ALIASES, ROLES, SHARED, from_text
from ..settings import Setting, read_numbers, settings_of
from .help import FILE, described
from .named import named_members

ORDER = ("task", "network", "cell", "learner", "training")
PANELS = {part: part.capitalize() for part in ORDER}
OWN = "or your own: module:Class or file.py:Class"
HELP = {
    "task": f"what to learn: {', '.join(REGISTRIES['task'])}; {OWN}",
    "cell": f"the recurrent cell: {', '.join(REGISTRIES['cell'])}; {OWN}",
    "learner": (
        f"the optimiser: {', '.join(REGISTRIES['learner'])}; any in optax, such as optax:lion; "
        f"{OWN}"
    ),
    "first": "with hf and saddle-free: a first-order learner that takes turns with it",
}
RESERVED = (
    *("run", "resume", "tensorboard", "json", "as_json", "config", "help", "context"),
    *("distributed", "coordinator", "processes", "process"),
)


def parameters(arguments: Iterable[str] = ()) -> list[inspect.Parameter]:
    """The parameters of the command, for a command line that may name the user's classes."""
    options: dict[str, inspect.Parameter] = {}
    own = _own_classes(list(arguments))
    for part in ORDER:
        if part in SHARED:
            for setting in settings_of(SHARED[part]).values():
                options[setting.name] = _parameter(setting, PANELS[part])
            continue
        sections = [section for section, role in ROLES.items() if role == part]
        for section in sections:
            options[section] = _choice(section)
        _add_role(options, part, [own[section] for section in sections if section in own])
    for other, name in ALIASES.items():
        if other not in options:
            option = options[name].annotation.__metadata__[0]
            option.param_decls = (*(option.param_decls or (option_of(name),)), option_of(other))
    return list(options.values())


def _own_classes(arguments: list[str]) -> dict[str, tuple[str, Any]]:
    """The user's classes among the named members."""
    return {
        section: find(ROLES[section], name)
        for section, name in named_members(arguments).items()
        if ":" in name and name not in REGISTRIES[ROLES[section]]
    }


def _add_role(options: dict[str, inspect.Parameter], role: str, own: list[tuple[str, Any]]) -> None:
    """The options of all tasks, cells or learners."""
    members = REGISTRIES[role]
    owners: dict[str, list[tuple[str, Any]]] = {}
    for member in members.items():
        for name in settings_of(member[1].Settings):
            owners.setdefault(name, []).append(member)
    for name, having in owners.items():
        settings = [settings_of(kind.Settings)[name] for _, kind in having]
        names = [name for name, _ in having]
        panel, few = PANELS[role], ""
        if len({kind for _, kind in having}) == 1:
            panel = f"{PANELS[role]}: {getattr(having[0][1], 'title', ', '.join(names))}"
        elif len(names) <= len(members) // 2:
            few = ", ".join(names)
        same = len({setting.default for setting in settings}) == 1
        if len({setting.type for setting in settings}) > 1:
            options[name] = _of_several_types(settings[0], panel, few)
        else:
            options[name] = _parameter(settings[0], panel, few, same)
    for whole, kind in own:
        for setting in settings_of(kind.Settings).values():
            if setting.name in RESERVED:
                raise BadInput(
                    f"{whole} has a setting {setting.name}, which is an option of train; rename it"
                )
            if setting.name in owners and _same(options[setting.name], setting):
                continue
            panel = f"{PANELS[role]}: {whole.rpartition(':')[2]}"
            options[setting.name] = _parameter(setting, panel)


def _same(option: inspect.Parameter, setting: Setting) -> bool:
    """Whether a built-in option reads values of the same type."""
    return option.annotation == _parameter(setting, "").annotation


def _choice(section: str) -> inspect.Parameter:
    """The option that names a task, a cell or a learner."""
    panel, usual = PANELS[ROLES[section]], USUAL[section]
    words = HELP[section] + (f" (default: {usual})" if usual else "")
    return keyword(section, Annotated[str | None, _option(words, panel)], None)


def _parameter(
    setting: Setting, panel: str, few: str = "", same_default: bool = True
) -> inspect.Parameter:
    """The option of a setting; `None` means not given."""
    words = described(setting.name, setting.help, setting.default if same_default else None, few)
    kind: Any = setting.type
    if setting.name == "file":
        given: Any = typer.Argument(help=FILE, show_default=False)
    elif kind is tuple:
        given = _option(words, panel, parser=_numbers, metavar="NUMBERS")
    else:
        given = _option(words, panel)
    return keyword(setting.name, Annotated[kind | None, given], None)


def _of_several_types(setting: Setting, panel: str, few: str) -> inspect.Parameter:
    """The option of a setting that is text of one member and a number of another."""
    words = described(setting.name, setting.help, None, few)

    def read(given: Any) -> Any:
        return from_text(setting.name, given) if isinstance(given, str) else given

    option = _option(words, panel, parser=read, metavar="VALUE")
    return keyword(setting.name, Annotated[Any, option], None)


def _option(words: str, panel: str, **how: Any) -> Any:
    """An option whose help has the default already."""
    return typer.Option(help=words, rich_help_panel=panel, show_default=False, **how)


def _numbers(given: Any) -> Any:
    """Parse an option of whole numbers."""
    try:
        return read_numbers(given) if isinstance(given, str) else given
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None


def keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, annotation=annotation, default=default)
