"""Programs and additions: what is generated, how hard it is, and what a trained run does."""

import contextlib
import io
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.data.generated import part_of
from ostinato.data.tokens import END
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Addition, Execute
from ostinato.tasks.applying import ApplyOptions
from ostinato.wiring import outputs_of
from untrained import untrained_run

SMALL = {"nesting": 2, "digits": 2}


def printed(text):
    """What Python prints when it runs the text."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(text, {})
    return out.getvalue().strip()


def texts(task, batch):
    """Programs and outputs of a batch; checks the ends, and that the decoder reads the target."""
    pair, found = batch.inputs, []
    for n in range(batch.sequences):
        source = pair.source[: pair.lengths[0, n], n]
        target = batch.targets[: batch.lengths[n], n]
        assert source[-1] == target[-1] == END and (source[:-1] != END).all()
        assert batch.weights[:, n].sum() == batch.lengths[n]
        assert pair.target[0, n] == END
        assert np.array_equal(pair.target[1 : len(target), n], target[:-1])
        program = task.code.source_text(source)
        found.append((program, task.targets.decode(target)))
    return found


def terms(program):
    """The numbers of an addition, in digits."""
    return tuple(map(len, program.removeprefix("print(").removesuffix(")").split("+")))


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"backwards": True}])
@pytest.mark.parametrize("kind", [Execute, Addition])
def test_answers_are_what_python_prints(kind, options):
    task = kind(digits=2, strategy="mix", **options)
    batches = [task.batch(index, 16) for index in (0, 1, 9)] + [next(task.held_out("valid", 16))]
    for batch in batches:
        for program, output in texts(task, batch):
            assert output == printed(program), program


def test_digits_can_be_written_from_the_last_to_the_first():
    task = Addition(digits=2, backwards=True)
    batch = next(task.held_out("test", 1))
    ((_, output),) = texts(task, batch)
    symbols = batch.targets[: batch.lengths[0] - 1, 0]
    assert "".join(task.targets.pieces(symbols)) == output[::-1]


def test_held_out_examples_never_occur_in_training():
    task = Execute(**SMALL)
    for index in (0, 8, 100):
        assert {part_of(program) for program, _ in texts(task, task.batch(index, 32))} == {"train"}
    for part in ("valid", "test"):
        found = [program for batch in task.held_out(part, 100) for program, _ in texts(task, batch)]
        assert {*map(part_of, found)} == {part} and len(found) == 1000
    adding = Addition(digits=2)
    for part, batch in (
        ("train", adding.batch(0, 64)),
        ("valid", next(adding.held_out("valid", 64))),
    ):
        numbers = [program[6:-1].split("+") for program, _ in texts(adding, batch)]
        assert {part_of(str(sorted(map(int, pair)))) for pair in numbers} == {part}


def digits_in(task, *indices):
    return {terms(program) for n in indices for program, _ in texts(task, task.batch(n, 32))}


def test_strategies_set_the_digits():
    every = {(one, two) for one in (1, 2, 3) for two in (1, 2, 3)}
    assert digits_in(Addition(digits=3, strategy="baseline"), 0, 50) == {(3, 3)}
    assert digits_in(Addition(digits=3, strategy="mix"), *range(8)) == every
    naive = Addition(digits=3, strategy="naive", growth=80)
    courses = [digits_in(naive, index) for index in (0, 39, 40, 79, 80, 800)]
    assert courses == [{(1, 1)}, {(1, 1)}, {(2, 2)}, {(2, 2)}, {(3, 3)}, {(3, 3)}]
    assert digits_in(Addition(digits=3, strategy="combined", growth=80), *range(8)) == every
    valid = next(Addition(digits=3, strategy="naive").held_out("valid", 64))
    assert {terms(program) for program, _ in texts(naive, valid)} == {(3, 3)}


def test_batches_are_of_similar_lengths_and_few_shapes():
    task = Execute(nesting=3, digits=3)
    batches = [task.batch(index, 16) for index in range(32)]
    shapes = {(batch.inputs.source.shape, batch.targets.shape) for batch in batches}
    assert 2 < len(shapes) <= 8
    spread = [np.ptp(batch.inputs.lengths[0]) for batch in batches[:8]]
    joined = np.concatenate([batch.inputs.lengths[0] for batch in batches[:8]])
    assert np.median(spread) < np.ptp(joined) / 2
    short = task.batch(3, 16, length=4)
    assert (short.lengths <= 4).all() and short.sequences == 16


@pytest.mark.slow
def test_a_batch_is_its_sequences_one_at_a_time():
    """Loss and gradient of different lengths, in float64."""
    task = Execute(**SMALL, strategy="mix")
    network = build_network(Config(task="execute", units=3, embedding=4), task)
    batch = task.batch(1, 2)
    assert len({*batch.inputs.lengths[0].tolist()}) == 2
    with jax.enable_x64(True):
        arrays, static = eqx.partition(network, eqx.is_inexact_array)
        arrays = jax.tree.map(lambda x: jnp.asarray(x, float), arrays)

        @jax.jit
        @jax.value_and_grad
        def loss(arrays, batch):
            outputs, _ = outputs_of(eqx.combine(arrays, static), batch)
            return task.loss.total(outputs, batch)

        whole = loss(arrays, batch.arrays)
        one, two = (loss(arrays, alone(batch, n).arrays) for n in (0, 1))
        added = jax.tree.map(jnp.add, one, two)
        for x, y in zip(*map(jax.tree.leaves, (whole, added)), strict=True):
            assert x.dtype == np.float64
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def alone(batch, n):
    """Sequence n without padding."""
    read, write = int(batch.inputs.lengths[0, n]), int(batch.lengths[n])
    one = batch.take(slice(n, n + 1))
    pair = one.inputs._replace(source=one.inputs.source[:read], target=one.inputs.target[:write])
    return one._replace(inputs=pair, targets=one.targets[:write], weights=one.weights[:write])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Execute(nesting=0), "nesting must be at least 1, got 0"),
        (lambda: Execute(digits=13), "the length of a program must be from 1 to 12, got 13"),
        (lambda: Execute(strategy="easy"), "one of baseline, naive, mix, combined; got easy"),
        (lambda: Execute(growth=-1), "growth must be at least 1, got -1"),
        (lambda: Addition(digits=19), "digits must be at most 18, got 19"),
        (lambda: Addition(digits=0), "digits must be at least 1, got 0"),
        (lambda: Addition(seed=-1), "a seed is a whole number"),
        (lambda: Config(task="execute", nesting=26), "nesting must be .*at most 25"),
        (lambda: Config(task="addition", nesting=2), "nesting"),
        (lambda: Config(task="addition", strategy="easy"), "baseline, naive, mix, combined"),
    ],
)
def test_bad_settings_get_one_line(make, words):
    with pytest.raises(BadInput, match=words) as found:
        make()
    assert "\n" not in str(found.value)


# A run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("execution") / "run"
    settings = {"digits": 1, "units": 4, "embedding": 4, "backwards": True, "reverse": True}
    return untrained_run(Config(task="addition", **settings), folder).path


def called(*arguments, given=None):
    return CliRunner().invoke(app, [*map(str, arguments)], input=given)


def test_lines_are_answered(run):
    found = called(
        "apply", run, "--json", "--beam", 2, "--n-best", 2, given="print(1+2)\n\nprint(3+4)"
    )
    assert found.exit_code == 0, found.output
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert [line["source"] for line in lines] == ["print(1+2)", "", "print(3+4)"]
    assert [len(line["answers"]) for line in lines] == [2, 1, 2]


def test_programs_of_several_lines(tmp_path):
    """In a file and in a preview a semicolon separates the lines of a program."""
    task = Execute(**SMALL)
    network = build_network(Config(task="execute", units=4, **SMALL), task)
    program = "j=58;for x in range(8):j+=92;print(j)"
    (tmp_path / "programs").write_text(program + "\n")
    how = ApplyOptions(tmp_path / "programs", Execute.Settings(), task.artefacts(), beam=1)
    (found,) = Execute.apply(network, how)
    assert found["source"] == program
    source = np.array([*task.sources.encode(program.replace(";", "\n")), END])
    (answer,) = task.code.written(network, [source], how)
    assert found["answers"][0]["score"] == pytest.approx(answer[0].score, rel=1e-5)
    lines = task.preview(network, jax.random.key(0)).splitlines()
    assert sum("print(" in line for line in lines) == 4 and any(";" in line for line in lines)


def test_files_of_programs_are_evaluated(run, tmp_path):
    file = tmp_path / "programs.tsv"
    file.write_text("print(1+2)\t3\nprint(4+9)\t13\n")
    found = called("evaluate", run, file, "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["metric"] == "exact match" and 0 <= document["value"] <= 1


@pytest.mark.parametrize(
    "arguments, given, words",
    [
        (
            ["apply"],
            "print(7+1)\nprint(8/2)\n",
            "line 2: the model does not know the character '/'",
        ),
        (["apply"], "1" * 10_000 + "\n", "line 1 has 10,000 symbols"),
        (["evaluate"], "print(8/2)\t4\n", "line 1: the model does not know the character '/'"),
        (["evaluate"], "print(3)\tthree\n", "line 1: 'three' is not a number to print"),
        (["evaluate"], "print(3)\n", "line 1 is not source<TAB>target"),
    ],
)
def test_bad_input_gets_one_line(run, tmp_path, arguments, given, words):
    file = tmp_path / "given.txt"
    file.write_text(given)
    found = called(*arguments, run, file)
    assert found.exit_code != 0
    assert words in " ".join(found.output.split()) or words in str(found.exception)


def test_baselines():
    found = Execute(nesting=1, digits=1).baselines()
    assert found["chance"] == 0 and 0.02 < found["most frequent answer"] < 0.2
