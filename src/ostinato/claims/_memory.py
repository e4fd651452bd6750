"""The memory of an LSTM, Krause (2015), eq. 2.11-2.18, in NumPy: how errors go back through it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._nets import derivative

INPUTS, UNITS = 2, 4


class Flow(NamedTuple):
    """How the memory after all steps depends on that before them.

    Attributes:
        whole: ∂c_T/∂c_0, along all paths.
        through_c: the same along c alone: what the gates read of the outputs is held fixed.
        forget: the activations of the forget gate, `(steps, units)`.
    """

    whole: np.ndarray
    through_c: np.ndarray
    forget: np.ndarray


def flow(
    steps: int,
    kept: Callable[[Any], Any] = lambda gate: gate,
    forget_bias: float = 0.0,
    peephole: float = 0.0,
) -> Flow:
    """The flow through a random LSTM.

    Args:
        steps: T.
        kept: the factor of the old memory in (2.18), from the activation of the forget gate.
        forget_bias: is added to the input of the forget gate.
        peephole: the weight with which every gate reads its memory cell; zero in Krause (2015).
    """
    rng = np.random.default_rng(0)
    W, R = 0.7 * rng.normal(size=(4, UNITS, INPUTS)), 0.7 * rng.normal(size=(4, UNITS, UNITS))
    xs, h, c = rng.normal(size=(steps, INPUTS)), rng.normal(size=UNITS), rng.normal(size=UNITS)

    def run(c: Any, held: Any = None) -> tuple[Any, Any, Any]:
        """The last memory, and all outputs and forget gates; gates read `held` if it is given."""
        out, hs, gates = h, [h], []
        for t, x in enumerate(xs):
            a = W @ x + R @ (out if held is None else held[t])
            a[1] = a[1] + forget_bias
            write, forget, read = (_sigmoid(a[k] + peephole * c) for k in (0, 1, 2))
            c = kept(forget) * c + write * a[3]  # (2.14), (2.18)
            out = np.tanh(c * read)  # (2.15)
            hs.append(out)
            gates.append(forget)
        return c, np.array(hs), np.array(gates)

    _, hs, gates = run(c)
    return Flow(
        derivative(lambda c: run(c)[0], c), derivative(lambda c: run(c, hs)[0], c), gates.real
    )


def _sigmoid(a: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * a))
