"""Settings are checked alike wherever they come from, and every member's fit its constructor."""

import dataclasses
import inspect

import jax
import numpy as np
import pytest

from ostinato.cells import CELLS, AdditiveDelay
from ostinato.cells.initialisers import initialiser, normal
from ostinato.errors import BadInput
from ostinato.learning import LEARNERS
from ostinato.runs import Config
from ostinato.runs.config.sections import SHARED, from_text
from ostinato.settings import (
    NoSettings,
    as_json,
    make,
    options,
    read_numbers,
    setting,
    settings_of,
    shown,
)
from ostinato.tasks import TASKS, Lorenz, Recall, Series

NESTED = {name: {letter * 9: letter * 40 for letter in "abcd"} for name in ("one", "two", "three")}
SIZES = "sizes must be a whole number, or one per layer like [150, 130]; got"


@dataclasses.dataclass(frozen=True)
class Mine:
    depth: int = setting(3, "how deep", min=1, max=9)
    share: float = setting(0.5, "how much", below=1)
    kind: str | None = setting(None, "which", among=("one", "two"))
    sizes: int | tuple[int, ...] | None = setting(None, "of layers", min=1)
    plain: bool = False
    scale: float | None = setting(None, "by how much", read=lambda x: 2 * x)


def test_values_become_settings_options_and_json():
    found = make(Mine, {"sizes": [4, 5], "kind": "two", "scale": 3})
    assert found == Mine(sizes=(4, 5), kind="two", scale=3)
    assert options(found) == {
        "depth": 3, "share": 0.5, "kind": "two", "sizes": (4, 5), "plain": False, "scale": 6
    }  # fmt: skip
    assert as_json(found)["sizes"] == [4, 5] and make(Mine, as_json(found)) == found
    assert make(Mine, {"sizes": [7]}).sizes == make(Mine, {"sizes": 7}).sizes == 7
    assert settings_of(NoSettings) == {} and options(NoSettings()) == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"depth": 10}, "depth must be at most 9, got 10"),
        ({"depth": "3"}, "depth must be of type int, got '3'"),
        ({"depth": True}, "depth must be of type int, got True"),
        ({"depth": None}, "depth must be of type int, got None"),
        ({"share": 1.0}, "share must be below 1, got 1.0"),
        ({"share": float("nan")}, "share must be a number that float32 holds, got nan"),
        ({"kind": "three"}, "kind must be one of one, two; got three"),
        ({"plain": 0}, "plain must be of type bool, got 0"),
        ({"depth": 3.0}, "depth must be of type int, got 3.0"),
        ({"depth": np.float64(3)}, "depth must be of type int, got 3.0"),
        ({"depth": np.bool_(True)}, "depth must be of type int, got True"),
        ({"share": "0.5"}, "share must be of type float, got '0.5'"),
        ({"share": True}, "share must be of type float, got True"),
        ({"sizes": "8"}, f"{SIZES} '8'"),
        ({"sizes": "4,5"}, f"{SIZES} '4,5'"),
        ({"sizes": 8.0}, f"{SIZES} 8.0"),
        ({"sizes": [[8]]}, f"{SIZES} [[8]]"),
        ({"sizes": []}, f"{SIZES} []"),
        ({"sizes": (4, True)}, f"{SIZES} (4, True)"),
    ],
)  # fmt: skip
def test_wrong_values(given, words):
    with pytest.raises(BadInput) as error:
        make(Mine, given)
    assert str(error.value) == words


def test_numbers_of_numpy_become_those_of_python():
    given = {"depth": np.int64(2), "share": np.float32(0.25), "sizes": (np.int32(4), 5)}
    found = make(Mine, given | {"plain": np.bool_(True)})
    assert found == Mine(depth=2, share=0.25, sizes=(4, 5), plain=True)
    assert type(found.depth) is int and type(found.sizes[0]) is int and found.plain is True


def test_text_is_a_number_only_where_text_is_read():
    assert read_numbers("150,130") == (150, 130) and read_numbers("8") == 8
    with pytest.raises(BadInput, match="a whole number, or one per layer like 150,130,110; got 4;"):
        read_numbers("4;")
    with pytest.raises(
        BadInput, match=r"units must be a whole number, or one per layer .*; got '8'"
    ):
        Config(units="8")
    assert from_text("units", "4,5") == (4, 5) and from_text("units", "[4, 5]") == [4, 5]
    assert from_text("units", "x") == "x" and from_text("rate", "1e-3") == 1e-3
    assert from_text("bidirectional", "true") is True and from_text("budget", "null") is None
    assert from_text("cell", "gru") == "gru" and from_text("file", "3") == "3"
    # A file of some tasks, and a number of another.
    assert from_text("vectors", "3") == 3 and from_text("vectors", "glove.txt") == "glove.txt"


@pytest.mark.parametrize(
    ("hint", "default", "words"),
    [
        (list, None, "Odd.x must be an int, float, str, bool or tuple"),
        ("Nowhere", None, "the types of Odd cannot be read: name 'Nowhere' is not defined"),
        (int, dataclasses.MISSING, "Odd.x must have a default"),
    ],
)
def test_dataclasses_that_are_no_settings(hint, default, words):
    fields = [("x", hint)] if default is dataclasses.MISSING else [("x", hint, default)]
    with pytest.raises(BadInput, match=words):
        settings_of(dataclasses.make_dataclass("Odd", fields))
    with pytest.raises(BadInput, match="int must be a dataclass"):
        settings_of(int)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_s_settings_are_its_options_with_their_defaults(name):
    kind, asked = CELLS[name], {}
    for parent in reversed(kind.__mro__):
        asked |= getattr(inspect.signature(parent.__init__), "parameters", {})
    found = settings_of(kind.Settings)
    built = {"self", "inputs", "units", "key", "outputs", "factor_inputs"}
    assert found.keys() == {n for n, p in asked.items() if p.kind is p.KEYWORD_ONLY} - built
    for one in found.values():
        if one.read is not initialiser:
            default = one.default if one.read is None else one.read(one.default)
            assert default == asked[one.name].default
    cell = kind(3, 4, key=jax.random.key(0), **options(kind.Settings()))
    same = kind(3, 4, key=jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, cell, same)


def test_a_setting_has_one_type_and_one_text():
    """Whatever form its value is given in, in Python, a configuration or a file."""
    series, levels = np.arange(400.0), (0.1, 0.5, 0.9)
    texts = {"quantiles": "0.1,0.5,0.9", "split": "80/10/10"}
    forms = [
        {"quantiles": levels, "split": (0.8, 0.1, 0.1)},
        {"quantiles": [*levels], "split": [0.8, 0.1, 0.1]},
        {"quantiles": np.array(levels), "split": np.array([0.8, 0.1, 0.1])},
        texts,
    ]
    for given in forms:
        task = Series(series, **given)
        assert {name: getattr(task.settings, name) for name in texts} == texts
        assert (task.quantiles, len(task.parts["train"].there)) == (levels, 319)
    config = Config(task="series", **texts)
    assert {name: getattr(config, name) for name in texts} == texts
    assert Config.from_json(config.as_json()) == config
    splits = ((2 / 3, 1 / 3, 0), "66.6666666667/33.3333333333/0"), ((1, 0, 0), "100/0/0")
    for given, text in splits:
        assert Lorenz(split=given).settings.split == text


def test_constructors_count_with_numbers_of_numpy():
    assert len(Recall(np.int64(3)).patterns) == len(Recall(3).patterns) == 3
    delays = AdditiveDelay(
        3, 4, key=jax.random.key(0), output_delays=(np.int64(1), np.int32(2))
    ).delays
    assert delays == ((0,), (1, 2), (0,))


@pytest.mark.parametrize("registry", [LEARNERS, TASKS], ids=["learners", "tasks"])
def test_a_learner_and_its_settings_have_the_same_defaults(registry):
    """Python and the command line train alike; `None` leaves the choice to the constructor."""
    differing = []
    for name, kind in registry.items():
        asked = {}
        for parent in reversed(kind.__mro__):
            asked |= getattr(inspect.signature(parent.__init__), "parameters", {})
        for one in settings_of(kind.Settings).values():
            default = asked[one.name].default if one.name in asked else None
            if isinstance(default, str | int | float) and default != one.default is not None:
                differing.append((name, one.name, default, one.default))
    assert not differing


def test_an_initialiser_in_words_is_that_initialiser():
    key = jax.random.key(0)
    ones = initialiser("normal:0.25")(key, (3, 4), np.float64)
    np.testing.assert_array_equal(ones, normal(0.25)(key, (3, 4), np.float64))
    scaled = initialiser("spectral-radius:1.1,incoming:2")(key, (5, 5), np.float64)
    assert np.isclose(np.abs(np.linalg.eigvals(scaled)).max(), 1.1)
    assert np.array_equal((scaled != 0).sum(axis=0), [2] * 5)


@pytest.mark.parametrize("words", [
    "", "normal:", "normal:x", "normal:-1", "normal:nan", "normal:1,2", "glorot:1", "sparse:2",
    "incoming:0", "incoming:1.5", "spectral-radius", "spectral-radius:1,none", "orthogonal:inf",
])  # fmt: skip
def test_words_that_are_no_initialiser(words):
    with pytest.raises(BadInput, match="initialiser"):
        initialiser(words)


def test_no_two_settings_of_one_run_have_the_same_name():
    """So that they can be written flat; every combination of built-in members is looked at."""
    everywhere = [name for kind in SHARED.values() for name in settings_of(kind)]
    roles = [
        {name for kind in members.values() for name in settings_of(kind.Settings)}
        for members in (TASKS, CELLS, LEARNERS)
    ]
    names = [*everywhere, *(name for role in roles for name in role)]
    assert len(names) == len(set(names))


def test_a_configuration_reads_flat_and_in_sections():
    config = Config(task="adding", length=9, cell="gru", reset="after", learner="hf", first="sgd",
                    rate=0.1, units=(3, 2))  # fmt: skip
    assert Config.from_json(config.as_json()) == config == Config(**config.flat())
    assert hash(config) == hash(Config(**config.flat()))
    assert config.as_json()["first"]["rate"] == config.rate == config.first.settings.rate == 0.1
    assert config.as_json()["cell"] == {
        "name": "gru", "input": None, "recurrent": None, "reset": "after"
    }  # fmt: skip
    other = config.replace(cell="lstm", learner="adam", first=None)
    assert other.cell.settings == CELLS["lstm"].Settings() and other.learner.settings.rate == 0.1
    with pytest.raises(AttributeError, match="no setting 'reset'"):
        other.reset  # noqa: B018


def test_a_constructor_shows_and_takes_the_settings_of_its_task():
    shown = inspect.signature(TASKS["series"]).parameters
    assert shown["horizon"].default == 1
    assert "given" not in shown
    assert "file" not in shown  # it says what is read, which is given
    task = TASKS["series"](np.arange(40.0), horizon=2, split=(0.5, 0.25, 0.25))
    same = TASKS["series"](np.arange(40.0), horizon=2, split="50/25/25")
    assert task.fingerprint() == same.fingerprint()
    for name in ("file", "height"):
        with pytest.raises(BadInput, match=f"there is no setting '{name}'; there are columns, "):
            TASKS["series"](np.arange(40.0), **{name: "a"})


def test_a_value_in_a_message_is_short_however_deep_it_is_nested():
    text = shown([NESTED] * 6)
    assert len(text) <= 161 and text.startswith("[{'one': {'aaaaaaaaa': ") and text.endswith("…")
    assert shown([1, {"a": None}]) == "[1, {'a': None}]"
