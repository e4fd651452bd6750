"""Artefacts of wrong types in a folder whose checksum is right: they work, or get one line.

Every value in the JSON of a run, at every place, is replaced by values of other types; then the run
is opened, and its network, its task and its answers are asked for. Nothing is trained.
"""

import copy
import json
import random
import warnings
from pathlib import Path

import pytest

from ostinato.decoding.text import opening
from ostinato.errors import BadInput
from ostinato.runs import Config, look_inside, open_run
from ostinato.runs.folder.manifest import _checksum
from ostinato.tasks.applying import ApplyOptions
from untrained import KINDS, untrained, write_files

OTHERS = (None, True, "x", "", 3, 0, -1, 1.5, 1e300, float("nan"), float("inf"), 2**40, 10**30)
OTHERS += ([], [None], ["x"], [3, 4], [[1]], {}, {"x": 1}, {"level": []})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"))


def places(value, path=()):
    """The path of every value within JSON; of a long list, its ends."""
    yield path
    if isinstance(value, dict):
        for name, x in value.items():
            yield from places(x, (*path, name))
    elif isinstance(value, list):
        for n in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from places(value[n], (*path, n))


def changes(document):
    """Every place in a document, with each value of another type for it; `KeyError`: none."""
    for path in [*places(document)][1:]:
        own = document
        for key in path:
            own = own[key]
        for other in (*OTHERS, KeyError):
            if type(own) is not type(other) or own != other:
                yield path, other


def changed(document, path, other):
    """A copy of a document with another value at a place."""
    found = part = copy.deepcopy(document)
    for key in path[:-1]:
        part = part[key]
    if other is KeyError:
        del part[path[-1]]
    else:
        part[path[-1]] = other
    return found


def use(path: Path, kind: str, files: Path, apply: bool) -> None:
    """Open a run, and do with it whatever needs its artefacts."""
    _, other, given = KINDS[kind]
    run = open_run(path)
    with run.precision():
        network = run.network()
        for make in (run.task, *([lambda: run.task_on(files / other)] if other else [])):
            task = make()
            next(iter(task.evaluated("test")), None)
            task.baselines(), task.metrics, task.yardsticks("test")
        if run.vocabulary is not None:
            opening(run.vocabulary), run.vocabulary.encode("the")
        if apply and given is not None:
            how = ApplyOptions(files / given, run.config.task.settings, run.artefacts, beam=1)
            next(iter(run.config.task.kind.apply(network, how)))
        if apply and kind in ("text", "bytes", "tag"):
            look_inside(run, "the dog", limit=8).pieces(0, 2)
    run.events(), run.units, run.name, run.config.flat()


def judged(path: Path, kind: str, files: Path, apply: bool) -> str | None:
    """What is wrong with how a run was taken or refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path, kind, files, apply)
    except BadInput as error:
        return f"{error!r}, in several lines" if "\n" in str(error) else None
    except Exception as error:
        return repr(error)[:150]
    return None


def attacked(kind: str, files: Path, path: Path, count: int | None, apply: bool) -> list[str]:
    """The changes that got through, of `count` drawn at random or of all."""
    untrained(kind, files, path)
    assert judged(path, kind, files, apply) is None
    model = json.loads((path / "model.json").read_bytes())
    model.pop("sha256")
    found = []
    every = [*changes(model)]
    for place, other in every if count is None else random.Random(kind).sample(every, count):
        other_model = changed(model, place, other)
        if isinstance(other_model.get("format"), int):
            other_model["sha256"] = _checksum(other_model)
        (path / "model.json").write_text(json.dumps(other_model))
        if wrong := judged(path, kind, files, apply):
            found.append(f"{'.'.join(map(str, place))} = {other!r}: {wrong}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_types_with_a_right_checksum(kind, files, tmp_path):
    assert attacked(kind, files, tmp_path / "run", 8, apply=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_type_with_a_right_checksum(kind, files, tmp_path):
    assert attacked(kind, files, tmp_path / "run", None, apply=True) == []


def test_what_a_folder_says_is_shown_short(files, tmp_path):
    """A number of a thousand digits or an unknown name makes no long line."""
    untrained("text", files, tmp_path / "run")
    model = json.loads((tmp_path / "run" / "model.json").read_bytes())
    model.pop("sha256")
    for place in (("sizes", "inputs"), ("made", "network", "encoding")):
        other = changed(model, place, 10**1000)
        other["sha256"] = _checksum(other)
        (tmp_path / "run" / "model.json").write_text(json.dumps(other))
        with pytest.raises(BadInput, match=r"1001 digits|int` <= 2147483647") as found:
            open_run(tmp_path / "run").network()
        assert len(str(found.value)) < 400
    model["made"]["config"]["task"]["name"] = "nothing"
    with pytest.raises(BadInput, match="no task 'nothing' in this version") as found:
        Config.from_json(model["made"]["config"])
    assert len(str(found.value)) < 100
