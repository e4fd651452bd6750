"""Configurations of earlier versions."""

from ..learning import MOMENTUM


def upgraded(found: dict) -> dict:
    """The flat JSON of an old configuration, with settings that were added since.

    Before `readout`, every network except those of `krause` and `mlstm` had a readout with a bias;
    before `factor`, the factor of `mrnn` read all inputs of its layer; before `velocity`, heavy
    ball and Nesterov kept the rate out of v. A setting is filled in only where its default differs
    from that.
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
