"""Configurations: any value for any setting, from Python and from JSON."""

import dataclasses
import json

from .harm import mutated
from .outcomes import ACCEPTED, Case, attempt, check
from .values import anything, integer, real, text

BY_TYPE = {int: integer, float: real, str: text}


def settings(case: Case) -> str:
    """Make a configuration; one that is accepted survives JSON and has sound shares."""
    from ostinato.runs import Config

    chance = case.chance
    known = dataclasses.fields(Config)
    given = {}
    for setting in chance.sample(known, chance.choice((0, 1, 1, 1, 2, 3, 6))):
        given[setting.name] = _value(setting, chance)
    if chance.random() < 0.03:
        given[chance.choice(("", "unit", "Units", "format", "💥"))] = 1
    if chance.random() < 0.6:
        case.what = f"Config(**{_short(given)})"
        found = attempt(lambda: Config(**given))
    else:
        whole = Config().as_json() | given
        words = ""
        if chance.random() < 0.5:
            words, whole = mutated(Config().as_json(), chance)
        case.what = f"Config.from_json: {words or _short(given)}"
        found = attempt(lambda: Config.from_json(whole))
    shares = found.shares
    check(abs(sum(shares) - 1) < 1e-6 and min(shares) >= 0, f"shares of {shares}")
    document = json.loads(str(found), parse_constant=_no_number)
    check(Config.from_json(document) == found, "JSON gives another configuration")
    return ACCEPTED


def _value(setting: dataclasses.Field, chance):
    from ostinato.runs.config import kind

    among = setting.metadata.get("among")
    draw = chance.random()
    if among and draw < 0.5:
        return chance.choice(among)
    if draw < 0.85:
        return BY_TYPE.get(kind(setting), anything)(chance)
    return anything(chance)


def _no_number(name: str):
    raise ValueError(f"{name} in the JSON of a configuration")


def _short(given: dict) -> str:
    return repr({name: f"{value!r:.40}" for name, value in given.items()})
