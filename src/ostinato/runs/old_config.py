"""Configurations of earlier versions."""

from typing import Any

RENAMED = {("network", "hidden"): "readout_units"}


def upgraded(found: dict) -> dict:
    """The flat JSON of an old configuration, with settings that were added since.

    Before `readout`, every network except those of `krause` and `mlstm` had a readout with a bias;
    before `factor`, the factor of `mrnn` read all inputs of its layer; before `velocity`, heavy
    ball and Nesterov kept the rate out of v. A setting is filled in only where its default differs
    from that.
    """
    from ..learning import MOMENTUM  # late, because it imports optax

    then: dict[str, str] = {}
    cell, text = found.get("cell"), found.get("task", "text") == "text"
    if cell == "jordan" or (text and cell in ("simple", "mrnn")):
        then["readout"] = "bias"
    if found.get("skip") and cell == "mrnn":
        then["factor"] = "all"
    if found.get("learner") in MOMENTUM:
        then["velocity"] = "raw"
    return {**then, **found}


def renamed(found: dict[str, Any]) -> dict[str, Any]:
    """The sections of a configuration, with today's names of its settings.

    Example:
        >>> renamed({"network": {"hidden": 8, "layers": 2}})
        {'network': {'readout_units': 8, 'layers': 2}}
    """
    return {
        section: {RENAMED.get((section, name), name): value for name, value in part.items()}
        if isinstance(part, dict)
        else part
        for section, part in found.items()
    }
