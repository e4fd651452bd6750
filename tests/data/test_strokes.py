"""Pen strokes: their files, their steps, and strings in the hands of writers."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ostinato.data import find_data
from ostinato.data.drawn import PATHS, path
from ostinato.data.ink import drawn_ink, omniglot_ink
from ostinato.data.strokes import (
    POINTS,
    SPACING,
    checked_drawing,
    evenly,
    joined,
    pen_steps,
    read_drawings,
    read_omniglot,
    steps_of_drawings,
)
from ostinato.errors import BadInput

ARCHIVE = "omniglot/strokes_background_small1.zip"
SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
CROSS = [np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]])]


def write_archive(folder: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(folder / "strokes.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(f"strokes/{name}", text)
    return folder / "strokes.zip"


def test_steps_are_even_and_add_up():
    xs, lengths = steps_of_drawings([[SQUARE], [3 * SQUARE + 7], CROSS])
    assert xs.dtype == np.float32 and xs.shape == (lengths.max(), 3, 3)
    count = lengths[0]
    assert count == np.ceil(4 / SPACING)
    np.testing.assert_array_equal(xs[:, 0], xs[:, 1])  # neither size nor place matters
    assert not xs[:, 0, 2].any()
    sizes = np.hypot(xs[:count, 0, 0], xs[:count, 0, 1])
    straight = np.isclose(sizes, 4 / count / SPACING, atol=1e-5)
    assert straight.sum() >= count - 3 and (sizes[~straight] < sizes[straight][0]).all()
    np.testing.assert_allclose(xs[:, 0].sum(0), 0, atol=1e-5)
    # The cross: from (0, 0) to (1, 0), one step of it through the air.
    np.testing.assert_allclose(
        xs[:, 2].sum(0) * [SPACING, SPACING, 1], [1, 0, 1], rtol=0.06, atol=1e-5
    )
    assert not xs[lengths[2] :, 2].any()


def test_long_drawings_are_sampled_more_coarsely():
    points, up = (x[None] for x in joined([SQUARE]))
    fine, _ = pen_steps(points, up)
    xs, lengths = pen_steps(points, up, 8)
    assert xs.shape == (8, 1, 3) and lengths.tolist() == [8]
    np.testing.assert_allclose(np.abs(xs).sum(), np.abs(fine).sum(), rtol=1e-5)
    padded, lengths = pen_steps(points, up, 50)
    np.testing.assert_array_equal(padded[: len(fine)], fine)
    assert len(padded) == 50 and lengths.tolist() == [len(fine)] and not padded[len(fine) :].any()


def test_steps_do_not_depend_on_the_other_drawings():
    alone = [steps_of_drawings([x])[0][:, 0] for x in ([SQUARE], CROSS)]
    together, lengths = steps_of_drawings([[SQUARE], CROSS])
    for n, one in enumerate(alone):
        np.testing.assert_allclose(together[: lengths[n], n], one, atol=1e-6)


def test_evenly_divides_strokes():
    points, up = evenly([SQUARE, CROSS[0]], POINTS)
    assert points.shape == (POINTS, 2) and np.flatnonzero(up).size == 1
    begin = int(np.flatnonzero(up)[0])
    assert begin == pytest.approx(POINTS * 4 / (4 + np.sqrt(2)), abs=2)
    np.testing.assert_allclose(points[begin:, 0], np.linspace(0, 1, POINTS - begin))
    with pytest.raises(BadInput, match="needs more than 3 points"):
        evenly(CROSS, 3)


def test_every_character_fills_a_box_of_height_one():
    for character in PATHS:
        points, _ = joined(path(character))
        assert np.abs(points.min(0)).max() < 0.06, character
        assert points[:, 1].max() == pytest.approx(1, abs=0.06)
        assert 0.2 < points[:, 0].max() < 0.9


def test_writers_differ_and_stay_the_same():
    few, more = drawn_ink(3, 4, "0A"), drawn_ink(3, 6, "0A")
    np.testing.assert_array_equal(few.points, more.points[:4])
    assert few.points.shape == (4, 2, POINTS, 2)
    apart = np.abs(few.points[:, None] - few.points[None]).mean((2, 3, 4))
    assert (apart[~np.eye(4, dtype=bool)] > 0.01).all()
    assert not np.array_equal(few.points, drawn_ink(4, 4, "0A").points)


def test_strings_are_their_characters_side_by_side():
    ink = drawn_ink(0, 1, "0A")
    symbols, counts = np.array([[0, 1, 1], [1, 0, 0]]), np.array([3, 1])
    points, up = ink.write(np.random.default_rng(0), symbols, counts, 0.0)
    each = points.reshape(2, 3, POINTS, 2)
    for n, symbol in enumerate(symbols[0]):
        moved = each[0, n] - ink.points[0, symbol]
        np.testing.assert_allclose(moved, moved[:1].repeat(POINTS, 0), atol=1e-6)
    left, right = each[0, ..., 0].min(-1), each[0, ..., 0].max(-1)
    np.testing.assert_allclose(left[1:] - right[:-1], ink.gaps[0], atol=1e-6)
    # The second string ends after its first character.
    assert (points[1, POINTS:] == points[1, POINTS - 1]).all() and not up[1, POINTS:].any()
    assert up[0, [POINTS, 2 * POINTS]].all() and not up[:, 0].any()


def test_reads_drawings_from_both_kinds_of_files(tmp_path):
    lines = [json.dumps([x.tolist() for x in CROSS]), json.dumps({"strokes": [SQUARE.tolist()]})]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    strokes = np.zeros((2, 5, 3))
    strokes[0, :4] = np.c_[np.concatenate(CROSS), [1, 0, 1, 0]]
    strokes[1, :, :2] = SQUARE
    np.savez(tmp_path / "a.npz", strokes=strokes, lengths=np.array([4, 5]))
    for name in ("a.jsonl", "a.npz"):
        first, second = read_drawings(tmp_path / name)
        assert all(map(np.array_equal, first, CROSS)) and len(first) == 2
        assert np.array_equal(second[0], SQUARE) and len(second) == 1


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "a.jsonl is empty"),
        (f"[[[{'9' * 400}, 0], [1, 1]]]", "stroke 0 is not a list of points"),
        ("[[[1e308, 0], [-1e308, 1]]]", "point 0 of stroke 0 is too far away"),
        ("[[[0, 0], [1, 1]]]\n[[[3, 3], [3, 3]]]", "line 2 is a single point"),
        ('[[["1", "2"], ["3", "4"]]]', "stroke 0 is not a list of points"),
        ("[[[0, 0], [1, 1]]]\n[]", "line 2 must be a list of at least one stroke"),
        ("[[[0, 0], [1, 1]]]\nnope", "line 2 is not JSON: 'nope'"),
        ("\n", "line 1 is not JSON"),
        ('{"text": "A"}', "line 1 must be a list of at least one stroke, got None"),
        ("[[[0, 0], [1]]]", "line 1: stroke 0 is not a list of points"),
        ("[[[0, 0, 0, 0]]]", r"stroke 0 must be \(n, 2\).* got shape \(1, 4\)"),
        ('[[[0, 0], ["a", 1]]]', "stroke 0 is not a list of points"),
        ("[[[0, 0], [NaN, 1]]]", "point 1 of stroke 0 is not finite"),
        ("[[[0, 0]]]", "one point only"),
        ("[[]]", r"got shape \(0,\)"),
        ("[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_bad_lines_get_one_line(tmp_path, text, words):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(BadInput, match=words) as found:
        read_drawings(tmp_path / "a.jsonl")
    assert "\n" not in str(found.value) and len(str(found.value)) < 300


@pytest.mark.parametrize(
    "arrays, words",
    [
        ({"x": np.zeros(3)}, r"must have an array strokes \(N, T, 3\)"),
        ({"strokes": np.zeros((2, 5))}, r"got float64 of shape \(2, 5\)"),
        ({"strokes": np.full((1, 2, 3), "a")}, "got <U1"),
        ({"strokes": np.ones((2, 5, 3)), "lengths": np.array([5, 6])}, "numbers from 1 to 5"),
        ({"strokes": np.ones((2, 5, 3)), "lengths": np.array([5.0, 2])}, "numbers from 1 to 5"),
        ({"strokes": np.full((1, 4, 3), np.nan)}, "drawing 0: point 0 of stroke 0 is not finite"),
    ],
)
def test_bad_arrays_get_one_line(tmp_path, arrays, words):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadInput, match=words) as found:
        read_drawings(tmp_path / "a.npz")
    assert "\n" not in str(found.value)


def test_damaged_and_missing_files(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\3\4 not a zip")
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe")
    for name, words in (
        ("a.npz", "not a file of NumPy"),
        ("a.jsonl", "line 1: not UTF-8, byte 0xff"),
        ("b", "no file"),
    ):
        with pytest.raises(BadInput, match=words) as found:
            read_drawings(tmp_path / name)
        assert "\n" not in str(found.value)
    with pytest.raises(BadInput, match="drawing 1 is a single point"):
        steps_of_drawings([CROSS, [np.ones((3, 2))]])
    with pytest.raises(BadInput, match="list of at least one stroke"):
        checked_drawing("A")


GOOD = "START\n0,0,0\n10,-5,20\nBREAK\n3,4,50\n5,4,60\nBREAK\n"


def test_reads_an_archive(tmp_path):
    files = {f"Latin/character{c:02}/00{c}_{d:02}.txt": GOOD for c in (1, 2) for d in (1, 2, 3)}
    archive = write_archive(tmp_path, files | {"Latin/.DS_Store": ""})
    found = read_omniglot(archive, "Latin")
    assert sorted(found) == [1, 2, 3] and sorted(found[1]) == [1, 2]
    assert [x.tolist() for x in found[2][1]] == [
        [[0, 0, 0], [10, -5, 20]],
        [[3, 4, 50], [5, 4, 60]],
    ]
    ink = omniglot_ink(str(archive), "Latin")
    assert ink.characters == "ab" and ink.points.shape == (3, 2, POINTS, 2)
    assert ink.points[..., 0].min() == 0 and ink.up.sum(-1).tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("Latin/character01/0001_01.txt", "START\n1,2\n", "line 2 is not x,y,t: '1,2'"),
        ("Latin/character01/0001_01.txt", "START\n1,nan,3\n4,5,6\n", "point 0 of stroke 0 is not"),
        ("Latin/character01/0001_01.txt", "START\n", "at least one stroke"),
        ("Latin/character01/broken.txt", GOOD, "is not named ALPHABET/characterNN/ID_DD.txt"),
        ("Greek/character01/0001_01.txt", GOOD, "has no alphabet 'Latin'; it has Greek"),
        ("Latin/character02/0001_01.txt", GOOD, "drawer 1 of Latin lacks character 01"),
    ],
)
def test_bad_archives_get_one_line(tmp_path, name, text, words):
    with pytest.raises(BadInput, match=words) as found:
        omniglot_ink(str(write_archive(tmp_path, {name: text})), "Latin")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("damage", ["cut", "other", "flipped"])
def test_broken_zip(tmp_path, damage):
    name = "Latin/character01/0001_01.txt"
    good = write_archive(tmp_path, {name: GOOD}).read_bytes()
    place = good.index(GOOD.encode()) + 3
    flipped = good[:place] + b"#" + good[place + 1 :]
    content = {"cut": good[: len(good) // 2], "other": b"nothing", "flipped": flipped}[damage]
    (tmp_path / "strokes.zip").write_bytes(content)
    with pytest.raises(BadInput, match=r"cannot be unpacked .*; get it again") as found:
        read_omniglot(tmp_path / "strokes.zip", "Latin")
    assert "\n" not in str(found.value)


@pytest.mark.data(ARCHIVE)
def test_real_strokes():
    file = find_data(ARCHIVE)
    found = read_omniglot(file, "Latin")
    assert sorted(found) == [*range(1, 21)]
    assert all(sorted(drawings) == [*range(1, 27)] for drawings in found.values())
    with zipfile.ZipFile(file) as archive:
        name = next(
            x
            for x in archive.namelist()
            if "s_background_small1/Latin/character01/" in x and "_01" in x
        )
        lines = io.TextIOWrapper(archive.open(name)).read().split("\n")
    points = [line for line in lines if "," in line]
    assert sum(map(len, found[1][1])) == len(points)
    assert found[1][1][0][0].tolist() == [float(x) for x in points[0].split(",")]
