"""A compiled program does, step by step, what the interpreter does."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ostinato.errors import BadInput
from ostinato.symbolic import compile_program, interpret, load_program, network_trace, parse
from ostinato.symbolic.execution import SPARSE_ABOVE
from ostinato.symbolic.language import EXAMPLES

from .random_programs import programs

STEPS = 1000


def result(name, dtype="float32", **inputs):
    """The answer of an example, after comparing every state of both."""
    program = load_program(name)
    network = compile_program(program, dtype)
    for state, step in zip(interpret(program, inputs), network_trace(network, inputs), strict=True):
        assert step.state == state
    return dict(zip(program.variables, state.values, strict=True))[EXAMPLES[name]]


def test_the_examples_are_right():
    assert result("addition", a=3, b=4) == 7 and result("addition") == 0
    for a, b in [(0, 3), (3, 0), (1, 1), (12, 11)]:
        assert result("multiplication", a=a, b=b) == a * b
    for a, b in [(0, 0), (0, 5), (5, 0), (7, 7), (12, 18), (35, 64), (48, 36)]:
        assert result("gcd", a=a, b=b) == math.gcd(a, b)
    numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert [result("fibonacci", n=n) for n in range(11)] == numbers
    primes = [n for n in range(26) if result("prime", n=n)]
    assert primes == [2, 3, 5, 7, 11, 13, 17, 19, 23]


def compare(text, inputs):
    program = parse(text)
    expected = list(itertools.islice(interpret(program, inputs), STEPS))
    found = network_trace(compile_program(program), inputs, steps=2 * STEPS)
    assert [step.state for step in itertools.islice(found, len(expected))] == expected


anything = given(programs())


@settings(max_examples=12, deadline=None, derandomize=True)
@anything
def test_random_programs(program):
    compare(*program)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@anything
def test_500_random_programs(program):
    compare(*program)


def test_weights_and_units():
    program = load_program("multiplication")
    network = compile_program(program)
    variables, instructions = len(program.variables), len(program.instructions)
    branches = sum(x.kind == "ifzero" for x in program.instructions)
    assert len(network.units) == variables + instructions + 2 * branches == 22
    assert set(np.unique(network.cell.R).tolist()) == {-1, 0, 1}
    assert not np.any(network.cell.W) and not np.any(network.cell.b)


def test_time_behaviour():
    """An instruction takes a step, a branch two, whether it is taken or not."""
    program = parse("ifzero x goto on\ninc x\non: ifzero x goto on\nend: goto end")
    found = itertools.islice(network_trace(compile_program(program), {}), 4)
    assert [(step.step, step.state.position) for step in found] == [(0, 0), (2, 2), (4, 2), (6, 2)]
    found = itertools.islice(network_trace(compile_program(program), {"x": 1}), 5)
    places = [(step.step, step.state.position) for step in found]
    assert places == [(0, 0), (2, 1), (3, 2), (5, 3), (6, 3)]


def test_the_end_halts_like_halt():
    for text in ("inc x", "inc x\nhalt\ninc x", "goto end\ninc x\nend:\n"):
        (*_, last) = network_trace(compile_program(parse(text)), {"x": 4})
        assert last.state.position is None
        assert last.state == list(interpret(parse(text), {"x": 4}))[-1]


def test_chunks_do_not_show():
    """A run over several chunks, cut off in the middle of one."""
    program = load_program("multiplication")
    network, inputs = compile_program(program), {"a": 40, "b": 20}
    *_, last = network_trace(network, inputs)
    assert last.step > 4 * 1024
    *_, cut = network_trace(network, inputs, steps=2500)
    assert cut.step in (2499, 2500)


def test_the_sparse_network_of_a_long_program_does_the_same():
    program = parse("\n".join(f"inc v{i % 7}" for i in range(SPARSE_ABOVE)))
    states = [step.state for step in network_trace(compile_program(program), {})]
    assert states == list(interpret(program, {})) and sum(states[-1].values) == SPARSE_ABOVE


def test_float32_is_exact_to_its_limit_and_says_where_it_ends():
    limit = 2**24
    assert result("addition", a=3, b=2, sum=limit - 5) == limit
    with pytest.raises(BadInput, match="addition, line 8: sum reaches 16777216"):
        result("addition", a=3, b=3, sum=limit - 5)
    copy = parse("inc x\ninc x\ndec x", "two")
    *_, last = network_trace(compile_program(copy), {"x": limit - 2})
    assert last.state.values == (limit - 1,)
    with pytest.raises(BadInput, match=r"two, line 2: x reaches 16777216 at step 1.*float64"):
        list(network_trace(compile_program(copy), {"x": limit - 1}))
    with pytest.raises(BadInput, match="x = 16777217 is larger than 16777216"):
        list(network_trace(compile_program(copy), {"x": limit + 1}))


def test_float64_goes_on():
    with jax.enable_x64(False):  # as it is outside of the tests
        network = compile_program(parse("inc x\ninc x"), "float64")
    *_, last = network_trace(network, {"x": 2**24 - 1})
    assert last.state.values == (2**24 + 1,)
    *_, last = network_trace(network, {"x": 2**53 - 2})
    assert last.state.values == (2**53,)
    with pytest.raises(BadInput, match=r"x reaches 9007199254740992 at step 1.*without gaps$"):
        list(network_trace(network, {"x": 2**53 - 1}))


@pytest.mark.parametrize("value", [-1, 0.5, True, "3"])
def test_inputs_are_whole_numbers(value):
    with pytest.raises(BadInput, match="an input is a whole number from 0 on, got a ="):
        list(interpret(load_program("gcd"), {"a": value}))


def test_unknown_variables_are_refused():
    with pytest.raises(BadInput, match="gcd has no variable c; its variables are a, b, smaller"):
        compile_program(load_program("gcd")).initial({"c": 1})


def test_large_programs_are_refused():
    with pytest.raises(BadInput, match="needs 9001 units; programs of up to 8192"):
        compile_program(parse("inc x\n" * 9000))
