"""Recursive least squares: the readout is fitted online, step by step."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..learning import Objective
from ..settings import setting
from ..wiring import Readout
from .readout_learner import ReadoutLearner, Regression, count_features, filled, linear_readout


class State(NamedTuple):
    """The state of `RecursiveLeastSquares`: P `(F, F)`, the inverse of the weighted sum of h hᵀ."""

    P: jax.Array


@dataclasses.dataclass(frozen=True)
class RecursiveLeastSquares(ReadoutLearner):
    """Fit the readout after every time step.

        k = P h / (γ + hᵀ P h)
        V ← V + k (y - Vᵀ h)ᵀ
        P ← (P - k hᵀ P) / γ

    P starts as `I / strength` and V where the network has it. Steps of the past count γ^age: with
    γ = 1 and V = 0 at the start, the result is the ridge solution in which the bias is penalised
    like the other weights. The sequences of a batch come one after the other at each step of
    time. Nothing but the readout changes.

    Sources: Haykin (2002), chapter 9; for reservoirs, Jaeger (2003).

    Attributes:
        objective: its loss is reported, and says what targets mean as numbers.
        forgetting: γ, above 0 and at most 1.
        strength: of the penalty at the start.

    Example:
        >>> network = Network(Reservoir(2, 50, key=key), Readout(50, 1, key=key))
        >>> learner = RecursiveLeastSquares(Objective(SquaredError()))
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> after, learner_state, state, report = step(network, learner_state, state, batch)
        >>> *_, again = step(after, learner_state, state, batch)
        >>> bool(again["loss"] < report["loss"])
        True
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        forgetting: float = setting(1.0, "how much of the past each step keeps", min=0, max=1)
        strength: float = setting(1e-4, "ridge strength λ at the start", min=1e-12)

    objective: Objective
    forgetting: float = 1.0
    strength: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.forgetting <= 1:
            raise BadInput(f"forgetting must be above 0 and at most 1, got {self.forgetting}")

    def advice(self, rate: float) -> str:
        return "a larger --strength, or --forgetting nearer to 1"

    def initial(self, network: Model) -> State:
        features = count_features(linear_readout(network))
        return State(jnp.eye(features, dtype=jnp.result_type(float)) / self.strength)

    def fit(
        self, learner_state: State, readout: Readout, steps: Regression, batch: Batch
    ) -> tuple[State, Readout, dict[str, jax.Array]]:
        dtype = learner_state.P.dtype
        rows = [readout.V] if readout.b is None else [readout.V, readout.b[None]]
        solution = jnp.concatenate(rows).astype(dtype)

        def learned(now: tuple, one: tuple) -> tuple:
            P, V = now
            x, y, weight = one
            product = P @ x
            # A step of weight w is one whose features and targets are multiplied by √w.
            k = weight * product / (self.forgetting + weight * (x @ product))
            after = (P - jnp.outer(k, product)) / self.forgetting, V + jnp.outer(k, y - x @ V)
            return jax.tree.map(lambda a, b: jnp.where(weight > 0, b, a), (P, V), after), None

        (P, solution), _ = jax.lax.scan(
            learned, (learner_state.P, solution), tuple(x.astype(dtype) for x in steps)
        )
        return State((P + P.T) / 2), filled(readout, solution), {}
