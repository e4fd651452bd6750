"""Configurations of earlier versions."""

from ..learning import MOMENTUM


def upgraded(found: dict) -> dict:
    """The flat JSON of a configuration that lacks settings of later versions, with what was done.

    Without `readout`, every network had a readout with a bias but those of `krause` and `mlstm`;
    without `factor`, that of `mrnn` read all that its layer reads; without `velocity`, heavy ball
    and Nesterov kept the rate out of v. They are filled in only where the default of today is
    another.
    """
    then: dict[str, str] = {}
    cell, text = found.get("cell"), found.get("task", "text") == "text"
    if cell == "jordan" or (text and cell in ("simple", "mrnn")):
        then["readout"] = "bias"
    if found.get("skip") and cell == "mrnn":
        then["factor"] = "all"
    if found.get("learner") in MOMENTUM:
        then["velocity"] = "raw"
    return {**then, **found}
