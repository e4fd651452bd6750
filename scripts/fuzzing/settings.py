"""Configurations: any value for any setting, from Python and from JSON."""

import json

from .harm import mutated
from .outcomes import ACCEPTED, Case, attempt, check
from .values import anything, integer, real, text

BY_TYPE = {int: integer, float: real, str: text}


def settings(case: Case) -> str:
    """Make a configuration; one that is accepted survives JSON, flat and in sections."""
    from ostinato.runs import Config

    chance = case.chance
    given = {section: chance.choice(names) for section, names in _chosen(chance).items()}
    known = _known(given)
    for setting in chance.sample(known, chance.choice((0, 1, 1, 1, 2, 3, 6))):
        given[setting.name] = _value(setting, chance)
    if chance.random() < 0.03:
        given[chance.choice(("", "unit", "Units", "format", "💥"))] = 1
    if chance.random() < 0.6:
        case.what = f"Config(**{_short(given)})"
        config = attempt(lambda: Config(**given))
    else:
        whole = Config().flat() | given
        words = ""
        if chance.random() < 0.5:
            words, whole = mutated(Config().as_json(), chance)
        case.what = f"Config.from_json: {words or _short(given)}"
        config = attempt(lambda: Config.from_json(whole))
    check(Config(**config.flat()) == config, "the flat settings give another configuration")
    document = json.loads(str(config), parse_constant=_no_number)
    check(Config.from_json(document) == config, "JSON gives another configuration")
    return ACCEPTED


def _chosen(chance) -> dict[str, list[str]]:
    """Some of the sections that name a member, with the names that there are."""
    from ostinato.runs.config.members import REGISTRIES
    from ostinato.runs.config.sections import ROLES

    sections = chance.sample(list(ROLES), chance.choice((0, 0, 1, 2)))
    return {section: list(REGISTRIES[ROLES[section]]) for section in sections}


def _known(given: dict) -> list:
    """The settings of the members that are named."""
    from ostinato.runs.config.common import USUAL
    from ostinato.runs.config.sections import chosen_members, settings_by_section
    from ostinato.settings import settings_of

    chosen = chosen_members({**USUAL, **given})
    kinds = settings_by_section(chosen)
    return [setting for kind in kinds.values() for setting in settings_of(kind).values()]


def _value(setting, chance):
    among = setting.among
    draw = chance.random()
    if among and draw < 0.5:
        return chance.choice(among)
    if draw < 0.85:
        return BY_TYPE.get(setting.type, anything)(chance)
    return anything(chance)


def _no_number(name: str):
    raise ValueError(f"{name} in the JSON of a configuration")


def _short(given: dict) -> str:
    return repr({name: f"{value!r:.40}" for name, value in given.items()})
