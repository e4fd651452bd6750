"""`model.json`: what a run was made with, written once and checked whenever the run is opened.

format, sha256    of the file
sizes             what the network knows about its task
artefacts         what the network needs from the data; see `Task.artefacts`
made              the manifest: name, versions, descriptions and settings of the run
"""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ...data import Vocabulary
from ...data.artefact_checks import Kept
from ...errors import BadInput, naming
from ...files import read_json, write_whole
from ...learning.first_order import FIRST_ORDER
from ...settings import shown
from ..config import Config
from ..network.models import check_numbers
from ..network.parts import Size, Sizes
from .checkpoints import FORMAT

OLDEST = 3  # the oldest format that can be read
# What may differ between a run and its continuation; the fingerprint of the data covers the file.
MAY_CHANGE = ("steps", "epochs", "minutes", "file", "devices", "shard_vocabulary")
LARGEST = 1 << 30  # bytes of a JSON file; a vocabulary of words can be long


class _Used(msgspec.Struct):
    units: Size | Annotated[list[Size], msgspec.Meta(min_length=1)] = 1


class _Manifest(msgspec.Struct):
    run: str
    versions: dict
    task: dict
    network: Any
    learner: Any
    given: list
    used: _Used
    config: dict


class _Model(msgspec.Struct):
    """What the file must hold."""

    sizes: Sizes
    artefacts: dict
    made: _Manifest


def write_model(path: Path, sizes: Sizes, artefacts: Any, manifest: dict) -> tuple[dict, dict]:
    """Write the file; artefacts and manifest as they will be read."""
    write_whole(path / "model.json", model_bytes(sizes, artefacts, manifest))
    artefacts, manifest = json.loads(json.dumps((artefacts, manifest)))
    return Kept(artefacts), manifest


def model_bytes(sizes: Sizes, artefacts: Any, manifest: dict) -> bytes:
    """The content of the file."""
    model = {
        "format": FORMAT,
        "sizes": msgspec.structs.asdict(sizes),
        "artefacts": artefacts,
        "made": manifest,
    }
    model["sha256"] = _checksum(model)
    return json.dumps(model).encode()


def read_model(path: Path) -> tuple[Config, Sizes, dict, dict]:
    """The configuration, sizes, artefacts and manifest of a run folder, all of them checked."""
    model = read_object(path / "model.json")
    version = _checked_format(path, model.get("format"))
    sections = _translated(read_object(path / "config.json"), version)
    with naming(path / "config.json"):
        config = Config.from_json(sections)
    try:
        if model.pop("sha256") != _checksum(model):
            raise ValueError("its checksum is wrong")
        sizes = msgspec.convert(model, _Model).sizes
        artefacts, manifest = Kept(model["artefacts"]), model["made"]
        manifest["config"] = _translated(manifest["config"], version)
        if sizes.model is not None:
            check_numbers(sizes.model)
        if "vocabulary" in artefacts:
            Vocabulary.from_json(artefacts["vocabulary"])
        if "task" not in manifest["given"]:
            inputs, outputs = config.task.kind.check_artefacts(artefacts)
            if inputs not in (None, sizes.inputs) or outputs not in (None, sizes.outputs):
                raise ValueError("its sizes do not agree")
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise BadInput(f"{path / 'model.json'} is not what a run writes: {error}") from None
    if sections != manifest["config"]:
        _check_unchanged(path, config, manifest)
    return config, sizes, artefacts, manifest


def _checked_format(path: Path, version: Any) -> int:
    """The format of a folder; one that this version of Ostinato cannot read is refused."""
    if type(version) is not int or version < 1:
        raise BadInput(
            f"{path / 'model.json'} is not what a run writes: its format must be a whole number "
            f"such as {FORMAT}, but it has {'none' if version is None else shown(version)}"
        )
    if version < OLDEST:
        raise BadInput(
            f"{path} was written by an earlier version of Ostinato (format {version}, this one "
            f"reads formats {OLDEST} to {FORMAT}); train it again"
        )
    if version > FORMAT:
        raise BadInput(
            f"{path} was written by a newer version of Ostinato (format {shown(version)}, this one "
            f"reads up to {FORMAT}); install that version"
        )
    return version


def _translated(sections: dict, version: int) -> dict:
    """The sections of a configuration, rewritten if an earlier format gave a value another meaning.

    In format 3 a `weight_decay` of 0 stood for the learner's own default, which is 0.01 for adamw;
    since then `null` stands for the default, and 0 for no decay.
    """
    if version > 3:
        return sections
    return {
        name: {**part, "weight_decay": None} if _had_no_decay(name, part) else part
        for name, part in sections.items()
    }


def _had_no_decay(section: str, part: Any) -> bool:
    first_order = isinstance(part, dict) and part.get("name") in FIRST_ORDER
    return section in ("learner", "first") and first_order and part.get("weight_decay") == 0


def _checksum(model: dict) -> str:
    return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()


def _check_unchanged(path: Path, config: Config, made: dict) -> None:
    """Refuse a configuration that was edited."""
    try:
        own = Config.from_json(made["config"])
    except BadInput as error:
        raise BadInput(f"{path / 'model.json'} is not what a run writes: {error}") from None
    if change := changed_setting(own, config):
        name, value, now = change
        raise BadInput(
            f"{path / 'config.json'} has been changed: {name} = {now}, but the run was made with "
            f"{value}; change it back"
        )


def changed_setting(
    own: Config, other: Config, fixed: Collection[str] = ()
) -> tuple[str, Any, Any] | None:
    """The first setting that must not change but did: its name and both values.

    Args:
        own, other: the two configurations.
        fixed: settings that must not change either, though others of their name may.
    """
    one, two = own.flat(), other.flat()
    for name in {**two, **one}:
        if (name not in MAY_CHANGE or name in fixed) and one.get(name) != two.get(name):
            return name, one.get(name), two.get(name)
    return None


def read_object(path: Path) -> dict:
    """The JSON object that a file of a run folder holds."""
    try:
        content = read_json(path, LARGEST)
    except FileNotFoundError:
        raise BadInput(
            f"{path.parent} is not a complete run folder: it has no {path.name}"
        ) from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path} is not what a run writes: it should hold one JSON object")
    return content
