"""Random subclasses of cells and wirings: a target gives the outputs of `unroll`, or refuses."""

import random
import sys
from functools import cache
from pathlib import Path

import jax
import pytest

from ostinato.errors import BadInput
from ostinato.export import trace

from .members import TARGETS, Subject

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from fuzzing import subclasses

COUNT = 60
DAILY = (8, 23, 24, 32, 34, 38, 46, 55)  # changes of every method, by themselves and in wirings
IN_PYTHON = subclasses.TARGETS  # one network after the other
# All networks in one program. Sequences of ONNX and sources of torch are among those in Python.
TOGETHER = {name: TARGETS[name].run for name in ("stream", "c", "javascript", "onnx, a step")}
EVERY = [
    pytest.param(DAILY, id="daily"),
    pytest.param(range(COUNT), id="all", marks=pytest.mark.slow),
]


@cache
def made(number):
    """A network, a sequence, and what the library makes of it."""
    with jax.enable_x64(False):
        one = subclasses.subject(random.Random(number))
        xs = subclasses.inputs_of(one)
        return one, xs, subclasses.unrolled(one, xs)


@pytest.mark.parametrize("numbers", EVERY)
@pytest.mark.parametrize("target", IN_PYTHON)
def test_an_export_is_its_unroll_or_is_refused(target, numbers):
    wrong, refused = {}, 0
    for number in numbers:
        one, xs, expected = made(number)
        try:
            with jax.enable_x64(False):
                outputs = IN_PYTHON[target](one, xs)
        except BadInput:
            refused += 1
            continue
        apart = subclasses.distance(outputs, expected)
        if not apart < subclasses.WITHIN:
            wrong[f"{number}: {one.words}"] = apart
    assert not wrong
    if target in ("onnx", "torch source"):
        assert refused < len(numbers) / 2


@pytest.mark.parametrize("numbers", EVERY)
@pytest.mark.parametrize("target", TOGETHER)
def test_a_step_is_exported_as_it_is_or_is_refused(target, numbers, tmp_path):
    subjects, inputs, expected = {}, {}, {}
    with jax.enable_x64(False):
        for number in numbers:
            one, xs, ys = made(number)
            try:
                program = trace(one.network, one.size)
            except BadInput:
                continue
            name = f"{number}: {one.words}"
            subjects[name] = Subject(one.network, one.size, program)
            inputs[name], expected[name] = xs, ys
    outputs = TOGETHER[target](subjects, inputs, tmp_path)
    apart = {name: subclasses.distance(ys, expected[name]) for name, ys in outputs.items()}
    assert {name: x for name, x in apart.items() if not x < subclasses.WITHIN} == {}
    assert len(subjects) > len(numbers) / 2
