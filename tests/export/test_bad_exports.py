"""Whatever is wrong with what is exported or read: one line, and nothing half-written."""

import json
import os

import numpy as np
import pytest

from ostinato import Config, open_run
from ostinato.data.wav import Sound, read_wav, wav_bytes
from ostinato.errors import BadInput
from ostinato.export import to_onnx
from ostinato.export.run_export import TARGETS, export_run
from ostinato.tasks import Audio
from ostinato.wiring import from_keras, from_onnx, from_rtneural, to_rtneural
from untrained import untrained_run

WAVES = np.sin(np.arange(200) / 5)
SMALL = {"units": 3, "batch": 2}


@pytest.fixture(scope="module")
def effect(tmp_path_factory):
    """A run that every target can take."""
    task = Audio(WAVES, WAVES**3, 8000, length=10, washout=2)
    return untrained_run(
        Config(cell="lstm", **SMALL), tmp_path_factory.mktemp("effect") / "run", task=task
    )


def refused(run, to, path, words):
    with pytest.raises(BadInput, match=words) as error:
        export_run(run, to, path)
    assert "\n" not in str(error.value)
    assert not [*path.parent.iterdir()]


@pytest.mark.parametrize("to", TARGETS)
def test_every_target_writes_all_or_nothing(to, effect, tmp_path, monkeypatch):
    written = export_run(effect, to, tmp_path / "good")
    assert written and all(path.is_file() for path in written)
    before = sorted(tmp_path.rglob("*"))
    for fails in range(1, len(written) + 1):
        calls, real = [], os.fsync

        def full(handle, calls=calls, real=real, fails=fails):
            calls.append(handle)
            if len(calls) >= fails:
                raise OSError(28, "No space left on device")
            real(handle)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                export_run(effect, to, tmp_path / "bad")
        assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(BadInput, match="exists; choose another --out"):
        export_run(effect, to, tmp_path / "good")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("to", TARGETS)
def test_a_damaged_run_is_refused_by_every_target(to, effect, tmp_path):
    copy = tmp_path / "copy"
    out = tmp_path / "out"
    out.mkdir()
    export_run(effect, "folder", copy)
    (checkpoint,) = (copy / "checkpoints").iterdir()
    whole = checkpoint.read_bytes()
    for harm in (b"", whole[:-1], whole[:-4] + b"harm", b"RIFF" + whole):
        checkpoint.write_bytes(harm)
        refused(open_run(copy), to, out / "a", "no checkpoint in .* can be read")
    checkpoint.unlink()
    refused(open_run(copy), to, out / "a", "no checkpoint yet")


def test_what_has_no_step_says_why(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    both = untrained_run(
        Config(cell="gru", bidirectional=True, **SMALL),
        tmp_path / "both",
        task=Audio(WAVES, WAVES**3, length=10, washout=2),
    )
    for to in ("c", "html"):
        refused(both, to, out / "a", "has no step, because a part of it reads the whole sequence")
    refused(both, "torch", out / "a", "has no GRU that resets before the product; a GRU needs")
    refused(both, "rtneural", out / "a", "reads both ways")


def test_names_that_are_none_are_refused(effect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("", ".", "..", "a/.."):
        with pytest.raises(BadInput, match="--out is where to write, with a name"):
            export_run(effect, "c", type(tmp_path)(name))
    with pytest.raises(BadInput, match="there is no folder"):
        export_run(effect, "c", tmp_path / "none" / "a")
    for name in ('a"b', "a\\b", "a\nb"):  # what no #include can name
        with pytest.raises(BadInput, match="--out is where to write, with a name"):
            export_run(effect, "c", tmp_path / name)
    for name in ("torch", "json.py"):
        with pytest.raises(BadInput, match="would stand in the way of the module"):
            export_run(effect, "torch", tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_a_name_with_the_ending_of_its_file_is_the_name_without(effect, tmp_path):
    for to, name, files in (
        ("html", "v1.5.html", ["v1.5.html"]),
        ("c", "my-net.c", ["my-net.h", "my-net.c"]),
        ("onnx", "a.b", ["a.b.onnx", "a.b-step.onnx"]),
    ):
        assert [path.name for path in export_run(effect, to, tmp_path / name)] == files


def test_a_file_of_one_format_with_the_ending_of_another_is_refused(effect, tmp_path):
    """Every reader is given the files of all others."""
    contents = {
        "wav": wav_bytes(Sound(8000, WAVES[:, None])),
        "rtneural": json.dumps(to_rtneural(effect.network())).encode(),
        "png": b"\x89PNG\r\n\x1a\n" + bytes(50),
        "zip": b"PK\x03\x04" + bytes(50),
        "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(50),
        "text": b"Once upon a time",
        "nothing": b"",
        "safetensors": (8).to_bytes(8, "little") + b"{}      ",
    }
    readers = {
        "wav": (read_wav, ".wav"),
        "rtneural": (from_rtneural, ".json"),
        "keras": (from_keras, ".keras"),
        "hdf5 of keras": (from_keras, ".h5"),
        "onnx": (from_onnx, ".onnx"),
    }
    for name, (read, suffix) in readers.items():
        for kind, content in contents.items():
            path = tmp_path / f"a{suffix}"
            path.write_bytes(content)
            if kind == name:
                read(path)
                continue
            with pytest.raises(BadInput) as error:
                read(path)
            assert "\n" not in str(error.value) and path.name in str(error.value), (name, kind)


def test_damaged_files_are_read_or_refused_in_one_line(effect, tmp_path):
    """Each reader with fifty cuts and a hundred changes of a good file: no other exception."""
    network, rng = effect.network(), np.random.default_rng(0)
    good = {
        ".wav": (read_wav, wav_bytes(Sound(8000, WAVES[:, None]))),
        ".json": (from_rtneural, json.dumps(to_rtneural(network)).encode()),
        ".onnx": (from_onnx, to_onnx(network)),
    }
    for suffix, (read, content) in good.items():
        path, refusals = tmp_path / f"a{suffix}", 0
        cuts = [content[: int(n)] for n in rng.integers(0, len(content), 50)]
        for _ in range(100):
            harmed = bytearray(content)
            for place in rng.integers(0, len(content), 3):
                harmed[place] = rng.integers(256)
            cuts.append(bytes(harmed))
        for harmed in cuts:
            path.write_bytes(harmed)
            try:
                read(path)
            except BadInput as error:
                assert "\n" not in str(error) and path.name in str(error), str(error)
                refusals += 1
        assert refusals >= 50
