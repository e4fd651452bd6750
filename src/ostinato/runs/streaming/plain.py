"""The step of a network in plain NumPy, for one sequence: without the way to a compiled program.

On a CPU most of the time of a small compiled step is the way there and back, through another
thread. The traced step is a list of equations; each becomes a call of NumPy.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ...wiring.program import Equation, Program, trace_step
from ...wiring.stepping import Stepping

Step = Callable[[list[np.ndarray], np.ndarray], tuple[list[np.ndarray], np.ndarray]]
_ONE, _LEAST = np.float32(1), np.float32(-87)  # below it the exponential overflows

# Primitives that are a function of NumPy as they are.
_SAME: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign, "square": np.square,
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "tanh": np.tanh,
    "sin": np.sin, "cos": np.cos, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    # By the exponential: half of 1 + tanh(x/2) is as fast, but a small value loses its digits.
    "logistic": lambda x: np.reciprocal(_ONE + np.exp(-np.maximum(x, _LEAST))),
}  # fmt: skip


def plain_step(stepping: Stepping, inputs: int | None) -> Step | None:
    """A step in NumPy; `None` if it has an operation that is not known here.

    Args:
        stepping: what is stepped.
        inputs: the size of an input vector, if it reads vectors.
    """
    try:
        program = trace_step(stepping, inputs)
        calls = [(_function(x, program), x.inputs, x.outputs) for x in program.equations]
    except (BadInput, _Unknown):  # too long a loop, or another operation
        return None
    blank: list[Any] = [program.constants.get(n) for n in range(len(program.shapes))]
    given, out = [*program.state, program.x], [*program.next_state, program.y]

    def call(leaves: list[np.ndarray], x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        values = blank.copy()
        for n, value in zip(given, [*leaves, x], strict=True):
            values[n] = value
        for function, inputs, outputs in calls:
            result = function(*[values[n] for n in inputs])
            if len(outputs) == 1:
                values[outputs[0]] = result
            else:
                for n, one in zip(outputs, result, strict=True):
                    values[n] = one
        *after, y = [values[n] for n in out]
        return after, y

    return call


class _Unknown(Exception):
    """An operation that NumPy is not told how to do."""


def _function(equation: Equation, program: Program) -> Callable[..., Any]:
    """What NumPy does for an equation."""
    name, params = equation.primitive, equation.params
    if name in _SAME:
        return _SAME[name]
    shapes = [program.shapes[n] for n in equation.inputs]
    shape, dtype = program.shapes[equation.outputs[0]], program.dtypes[equation.outputs[0]]
    match name:
        case "reshape" | "squeeze" | "expand_dims":
            return lambda x: x.reshape(shape)
        case "convert_element_type":
            return lambda x: x.astype(dtype)
        case "integer_pow":
            return lambda x: x ** params["y"]
        case "concatenate":
            return lambda *xs: np.concatenate(xs, axis=params["dimension"])
        case "transpose":
            return lambda x: np.transpose(x, params["permutation"])
        case "broadcast_in_dim":
            places = params["broadcast_dimensions"]
            inner = [shapes[0][places.index(n)] if n in places else 1 for n in range(len(shape))]
            return lambda x: np.broadcast_to(x.reshape(inner), shape)
        case "slice":
            strides = params["strides"] or (1,) * len(shape)
            cut = tuple(map(slice, params["start_indices"], params["limit_indices"], strides))
            return lambda x: x[cut]
        case "split":
            ends = np.cumsum([0, *params["sizes"]]).tolist()
            before = (slice(None),) * params["axis"]
            cuts = [(*before, slice(a, b)) for a, b in itertools.pairwise(ends)]
            return (lambda x: x) if len(cuts) == 1 else (lambda x: [x[cut] for cut in cuts])
        case "select_n" if len(shapes) == 3:
            return lambda which, no, yes: np.where(which, yes, no)
        case "reduce_sum":
            return lambda x: np.sum(x, axis=params["axes"], dtype=dtype)
        case "reduce_max":
            return lambda x: np.max(x, axis=params["axes"])
        case "dynamic_slice":
            room = [whole - part for whole, part in zip(shapes[0], shape, strict=True)]
            return lambda x, *starts: x[
                tuple(
                    slice(at, at + size)
                    for at, size in zip(
                        [min(max(int(s), 0), most) for s, most in zip(starts, room, strict=True)],
                        shape,
                        strict=True,
                    )
                )
            ]
        case "dot_general":
            (left, right), (some, others) = params["dimension_numbers"]
            if some or others:
                raise _Unknown
            if len(shapes[0]) == 1 and len(shapes[1]) == 2 and right == (0,):
                return np.dot
            return lambda a, b: np.tensordot(a, b, (left, right))
    raise _Unknown
