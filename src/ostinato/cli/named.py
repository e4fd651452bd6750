"""The members that a command line names, before it is parsed: they say which options there are."""

from ..runs.config.config import parsed_toml
from ..runs.config.sections import ROLES


def named_members(arguments: list[str]) -> dict[str, str]:
    """The tasks, cells and learners that the command line or its TOML file names, by section."""
    names: dict[str, str] = {}
    if (file := _last(arguments, "--config")) is not None:
        sections = parsed_toml(file)
        for section in ROLES:
            part = sections.get(section)
            if isinstance(part, dict) and isinstance(part.get("name"), str):
                names[section] = part["name"]
    for section in ROLES:
        if (given := _last(arguments, f"--{section}")) is not None:
            names[section] = given
    return names


def _last(arguments: list[str], option: str) -> str | None:
    """The last value of an option on a command line that is not parsed yet."""
    value = None
    for place, word in enumerate(arguments):
        if word == "--":
            break
        if word == option and place + 1 < len(arguments):
            value = arguments[place + 1]
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
    return value
