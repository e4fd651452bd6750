"""The entries of a contrast: one configuration for each combination of its grid."""

import dataclasses
import itertools
import re
from typing import Any

import equinox as eqx

from ..errors import BadInput
from ..names import class_name
from ..runs import Config
from ..runs.build import build_learner, build_network, build_task, precision
from ..runs.config.sections import ROLES
from ..runs.fit import check_fits
from ..runs.network.budget import units_of
from .spec import Spec

# Settings that are tuned by default: how far from their usual value, as a factor.
TUNED = {"rate": 10.0, "structural": 10.0, "radius": 2.0, "input_scaling": 10.0}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One combination of a cell, a wiring, a learner and a task.

    Attributes:
        name: unique in the contrast, and a valid name of a folder.
        label: what it is called among the entries of its task.
        task: the name of the task's variant.
        config: its configuration, with the seed of the tuning.
        ranges: the settings that are tuned: least and largest value.
        usual: their usual values, which are tried first.
        bounds: of the metric.
    """

    name: str
    label: str
    task: str
    config: Config
    ranges: dict[str, tuple[float, float]]
    usual: dict[str, float]
    bounds: tuple[float, float]

    def with_seed(self, seed: int, tuned: dict[str, float]) -> Config:
        """The configuration of a run: with a seed, and values for the tuned settings."""
        return self.config.replace(seed=seed, **tuned)


def entries_of(spec: Spec) -> list[Entry]:
    """The entries of a contrast, each checked: its settings, its data and its budget.

    Example:
        >>> settings = {"length": 10, "steps": 5}
        >>> given = {"tasks": ["adding"], "cells": ["lstm", "gru"], "settings": settings}
        >>> for entry in entries_of(Spec.from_dict({**given, "budget": 1000})):
        ...     print(entry.name, units_of(entry.config, build_task(entry.config)))
        lstm 14
        gru 17
    """
    axes = {axis: variants or {"": {}} for axis, variants in spec.axes.items()}
    grid = itertools.product(*(variants.items() for variants in axes.values()))
    entries = [_entry(spec, dict(zip(axes, chosen, strict=True))) for chosen in grid]
    for name in spec.tune or {}:
        if not any(name in entry.ranges for entry in entries):
            raise spec.source.error(f"no entry has a setting {name} to tune", "tune", name)
    names = [entry.name for entry in entries]
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise spec.source.error(f"two entries are called {twice[0]}; rename one of them")
    return entries


def _entry(spec: Spec, chosen: dict[str, tuple[str, dict[str, Any]]]) -> Entry:
    given = dict(spec.settings)
    origin: dict[str, tuple[str, ...]] = {name: ("settings", name) for name in given}
    for axis, (variant, settings) in chosen.items():
        for name, value in settings.items():
            if name in origin and origin[name][0] != "settings":
                raise spec.source.error(
                    f"{name} is set by {axis}.{variant} and by {'.'.join(origin[name][:-1])}; it "
                    "can be set by only one of them",
                    axis,
                    variant,
                    name,
                )
            given[name], origin[name] = value, (axis, variant, name)
    if spec.budget is not None:
        given["budget"], origin["budget"] = spec.budget, ("budget",)
    try:
        return _checked(spec, chosen, given, origin)
    except BadInput as error:
        words = str(error)
        places = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) for name in origin}
        named = [(x.start(), name) for name, x in places.items() if x and name not in ROLES]
        where = origin[min(named)[1]] if named else ()
        raise spec.source.error(f"{_label(spec, chosen)}: {words}", *where) from None


def _checked(spec: Spec, chosen: dict, given: dict[str, Any], origin: dict) -> Entry:
    config = Config(**given) if spec.source.named else Config.from_folder(given)
    with precision(config):
        task = build_task(config)
        learner, units = build_learner(config, task), units_of(config, task)
        check_fits(config, task, learner, units)
        # Refuses wirings that the task does not allow.
        eqx.filter_eval_shape(lambda: build_network(config, task, units))
    own = config.flat()
    values = {**own, **{name: x for name, x in learner.chosen_values().items() if name in own}}
    ranges = {
        name: (values[name] / factor, values[name] * factor)
        for name, factor in TUNED.items()
        if name not in origin and isinstance(values.get(name), float) and values[name] > 0
    } | {name: bounds for name, bounds in (spec.tune or {}).items() if name in own}
    for name in spec.tune or {}:
        origin[name] = ("tune", name)  # for the line of an error
        for bound in ranges.get(name, ()):
            config.replace(**{name: bound})
    usual = {name: _within(values[name], *bounds) for name, bounds in ranges.items()}
    task_name = chosen["tasks"][0] or str(config.task)
    several = [axis for axis, variants in spec.axes.items() if len(variants) > 1]
    parts = [class_name(chosen[axis][0]) for axis in several]
    label = _label(spec, chosen) or str(config.cell)
    return Entry(
        name=_slug("-".join(parts) or str(config.cell)),
        label=label,
        task=class_name(task_name),
        config=config,
        ranges=ranges,
        usual=usual,
        bounds=task.metric.bounds,
    )


def _within(usual: Any, low: float, high: float) -> float:
    """The usual value of a setting, or the middle of its range if it is not in it."""
    if isinstance(usual, int | float) and low <= usual <= high:
        return float(usual)
    return (low * high) ** 0.5


def _label(spec: Spec, chosen: dict) -> str:
    """The variants on the axes that have several, except the task."""
    several = [axis for axis, x in spec.axes.items() if axis != "tasks" and len(x) > 1]
    return ", ".join(class_name(chosen[axis][0]) for axis in several or ["cells"])


def _slug(words: str) -> str:
    return re.sub(r"[^\w.-]+", "-", words).strip("-.") or "entry"
