"""Parameter counts that the literature publishes, to the last parameter.

The networks are built as shapes only, so that even the largest costs no memory.
"""

import json

import equinox as eqx
import jax
import pytest

from ostinato import Network, Readout, count_parameters
from ostinato.cells import LSTM, MLSTM, MRNN, KrauseLSTM, Simple
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.runs.network.parts import Sizes
from ostinato.tasks import TASKS
from ostinato.wiring import Embedding, OneHot, Stack, Zoneout

KEY = jax.random.key(0)


def characters(symbols, make, units):
    """A network of Krause (2015): symbols as unit vectors, and a readout without bias."""

    def build(key):
        cell = make(symbols, units, key=key)
        return Network(cell, Readout(units, symbols, key=key, bias=False), OneHot(symbols))

    return build


def stacked(key):
    """The stack of Krause (2015) (4.4-4.6): only the input is a factor."""
    cell = Stack.of(MRNN, 70, [150, 130, 110], key=key, skip=True, factor_inputs=70)
    return Network(cell, Readout(390, 70, key=key, bias=False), OneHot(70))


def text(make, units):
    """A network of Delgado del Cerro (2021), section 5: 98 symbols, learned vectors of 256."""

    def build(key):
        cell = make(256, units, key=key)
        return Network(cell, Readout(units, 98, key=key), Embedding(98, 256, key=key))

    return build


PUBLISHED = {
    # Krause (2015), table 4.5
    "Krause, RNN, structural damping": (characters(70, Simple, 400), 216_400),
    "Krause, RNN, line-search damping": (characters(70, Simple, 400), 216_400),
    "Krause, mRNN, structural damping": (characters(70, MRNN, 280), 215_880),
    "Krause, mRNN, line-search damping": (characters(70, MRNN, 280), 215_880),
    "Krause, LSTM, online": (characters(70, KrauseLSTM, 195), 220_350),
    "Krause, LSTM, Hessian-free": (characters(70, KrauseLSTM, 195), 220_350),
    "Krause, stacked mRNN": (stacked, 219_090),
    "Krause, mLSTM": (characters(70, MLSTM, 170), 215_900),
    # Krause (2015), the larger experiments
    "Krause, mLSTM 300": (characters(85, MLSTM, 300), 603_000),
    "Krause, mLSTM 800": (characters(85, MLSTM, 800), 3_608_000),
    "Krause, mLSTM 2000": (characters(99, MLSTM, 2000), 21_188_000),
    # Delgado del Cerro (2021), section 5
    "Delgado del Cerro, RNN 2048": (text(Simple, 2048), 4_946_530),
    "Delgado del Cerro, LSTM 2048": (text(LSTM, 2048), 19_108_450),
    "Delgado del Cerro, RNN 1024": (text(Simple, 1024), 1_437_282),
    "Delgado del Cerro, LSTM 1024": (text(LSTM, 1024), 5_372_514),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_published_number_of_parameters(name):
    build, count = PUBLISHED[name]
    assert count_parameters(eqx.filter_eval_shape(build, KEY)) == count


def test_arrays_count_like_their_shapes_and_a_seed_does_not_count():
    cell = LSTM(3, 4, key=KEY)
    assert count_parameters(cell) == 4 * (3 * 4 + 4 * 4 + 4)
    assert count_parameters(Zoneout(cell, 0.1, key=KEY)) == count_parameters(cell)


# The settings of the command line that give a network of the literature.
SETTINGS = {
    "Krause, RNN": ({"cell": "simple", "units": 400}, 70, 216_400),
    "Krause, mRNN": ({"cell": "mrnn", "units": 280}, 70, 215_880),
    "Krause, LSTM": ({"cell": "krause", "units": 195}, 70, 220_350),
    "Krause, mLSTM": ({"cell": "mlstm", "units": 170}, 70, 215_900),
    "Krause, mLSTM 300": ({"cell": "mlstm", "units": 300}, 85, 603_000),
    "Krause, mLSTM 800": ({"cell": "mlstm", "units": 800}, 85, 3_608_000),
    "Krause, mLSTM 2000": ({"cell": "mlstm", "units": 2000}, 99, 21_188_000),
    **{
        f"Delgado del Cerro, {cell} {units}": (
            {"cell": cell, "units": units, "embedding": 256, "readout": "bias"},
            98,
            count,
        )
        for cell, units, count in (
            ("simple", 2048, 4_946_530),
            ("lstm", 2048, 19_108_450),
            ("simple", 1024, 1_437_282),
            ("lstm", 1024, 5_372_514),
        )
    },
}


def size_of(settings, symbols, task="text"):
    sizes = Sizes(task, symbols, symbols, True, TASKS[task].readout_bias)
    return count_parameters(
        eqx.filter_eval_shape(lambda: build_network(Config(task=task, **settings), sizes))
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_give_the_published_number_of_parameters(name):
    settings, symbols, count = SETTINGS[name]
    assert size_of(settings, symbols) == count


# The command lines for the twelve networks of the literature, with the symbols of their texts.
EMBEDDED = "--embedding 256 --readout bias"
COMMANDS = {
    "--cell simple --units 400": (70, 216_400),
    "--cell mrnn --units 280": (70, 215_880),
    "--cell krause --units 195": (70, 220_350),
    "--cell mrnn --units 150,130,110 --skip": (70, 219_090),
    "--cell mlstm --units 170": (70, 215_900),
    "--cell mlstm --units 300": (85, 603_000),
    "--cell mlstm --units 800": (85, 3_608_000),
    "--cell mlstm --units 2000": (99, 21_188_000),
    f"--cell simple --units 2048 {EMBEDDED}": (98, 4_946_530),
    f"--cell lstm --units 2048 {EMBEDDED}": (98, 19_108_450),
    f"--cell simple --units 1024 {EMBEDDED}": (98, 1_437_282),
    f"--cell lstm --units 1024 {EMBEDDED}": (98, 5_372_514),
}


@pytest.mark.parametrize("options", COMMANDS)
def test_a_command_line_gives_the_published_number_of_parameters(ostinato, monkeypatch, options):
    asked = {}
    monkeypatch.setattr("ostinato.cli.train._train", lambda given, *_: asked.update(given))
    assert ostinato("train", *options.split())[0] == 0
    symbols, count = COMMANDS[options]
    assert size_of(asked, symbols) == count


@pytest.mark.parametrize(("cell", "units"), [("simple", 400), ("mrnn", 280)])
def test_the_command_line_gives_krauses_networks(ostinato, tmp_path, cell, units):
    (tmp_path / "text.txt").write_text("".join(chr(48 + i % 70) for i in range(2000)))
    code, _, errors = ostinato(
        "train", "text.txt", "--cell", cell, "--units", units, "--steps", 1, "--length", 4,
        "--batch", 1, "--run", "run",
    )  # fmt: skip
    assert code == 0, errors
    first = json.loads((tmp_path / "run" / "events.jsonl").read_text().splitlines()[0])
    assert first["parameters"] == {"simple": 216_400, "mrnn": 215_880}[cell]


def test_a_stack_of_mrnns_multiplies_by_the_input_alone():
    """Krause (2015), (4.4-4.6): W_m of an upper layer has n rows, W has n + h."""
    units, n = 5, 7
    stack = {"cell": "mrnn", "units": units, "layers": 2, "skip": True}
    lower, upper = (2 * units**2 + units + (n + rows) * units + n * units for rows in (0, units))
    assert size_of(stack, n) == lower + upper + 2 * units * n
    assert size_of({**stack, "factor": "all"}, n) == lower + upper + units**2 + 2 * units * n


def test_outside_texts_a_simple_network_has_a_bias_in_its_readout():
    assert size_of({"cell": "simple", "units": 5}, 3, "copy") == 5 * (5 + 3 + 1) + 3 * (5 + 1)
