"""Any optax gradient transformation as a learner.

    θ ← θ + u_t,   u_t, state ← update(g_t, state, θ)

The transformation brings its own rate, schedule and clipping: it gets the gradient unchanged, and
its update is applied unchanged.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import optax

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..weights import trained
from .clipping import norms_of
from .gradients import Full, Gradient, GradientLearner, GradientSettings, conjugate
from .learner import RunSize, Stepped, report_of
from .objective import Objective

RATES = ("learning_rate", "rate")


@dataclasses.dataclass(frozen=True)
class Transformation(GradientLearner):
    """A learner that updates the parameters by an optax gradient transformation.

    Attributes:
        transformation: for example `optax.lion(1e-4)`.
        objective: what to minimise.
        gradient: how to compute the objective's gradient.
        rate: the rate to report; by default the norm of the update over that of the gradient.

    Example:
        >>> from ostinato.losses import CrossEntropy
        >>> learner = Transformation(optax.lion(1e-4), Objective(CrossEntropy()))
        >>> learner.rate is None
        True
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(GradientSettings):
        rate: float | None = setting(None, "learning rate", min=0)

    make: ClassVar[Any] = None

    transformation: optax.GradientTransformation
    objective: Objective
    gradient: Gradient = dataclasses.field(default_factory=Full)
    rate: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.transformation, optax.GradientTransformation):
            raise BadInput(
                f"{type(self.transformation).__name__} is not a GradientTransformation of optax"
            )

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "Transformation":
        made = _made(cls.make, name, settings.rate)
        return cls(made, objective, settings.method(), settings.rate)

    @property
    def rule(self) -> Callable:
        return self.transformation.update

    def initial(self, network: Model) -> Any:
        return self.transformation.init(trained(network)[0])

    def step(self, network: Model, learner_state: Any, state: Any, batch: Batch) -> Stepped:
        parameters, rest = trained(network)
        value, gradient, final = self.gradient(self.objective, network, batch, state)
        norms = norms_of(gradient)
        updates, learner_state = optax.with_extra_args_support(self.transformation).update(
            gradient,
            learner_state,
            parameters,
            value=value,
            grad=conjugate(gradient),  # as optax expects it
            value_fn=lambda p: self.objective.value(eqx.combine(p, rest), batch, state)[0],
        )
        size = optax.tree.norm(updates)
        rate = size / jnp.maximum(norms[1], 1e-30) if self.rate is None else self.rate
        report = report_of(value, norms, jnp.asarray(rate, norms[1].dtype))
        return (
            eqx.combine(optax.apply_updates(parameters, updates), rest),
            learner_state,
            final,
            report,
        )

    def chosen_values(self) -> dict[str, Any]:
        return {} if self.rate is None else {"rate": self.rate}

    def advice(self, rate: float) -> str:
        own = rate if self.rate is None else self.rate
        return f"a smaller rate (it was {own:.3g}), or clip the gradient"


def learner_of(make: optax.GradientTransformation | Callable) -> type[Transformation]:
    """The learner class for a transformation, or for a function that returns one.

    Example:
        >>> issubclass(learner_of(optax.lion), Transformation)
        True
    """
    return type("Transformation", (Transformation,), {"make": staticmethod(make)})


def _made(make: Any, name: str, rate: float | None) -> optax.GradientTransformation:
    """The transformation itself, or what its function returns, given the rate if it takes one."""
    given: dict[str, float] = {}
    if not isinstance(make, optax.GradientTransformation):
        needed = inspect.signature(make).parameters
        takes = next((parameter for parameter in RATES if parameter in needed), None)
        missing = [
            p.name
            for p in needed.values()
            if p.default is p.empty
            and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        if takes in missing and rate is None:
            raise BadInput(f"the learner {name} needs --rate")
        if extra := [argument for argument in missing if argument != takes]:
            raise BadInput(
                f"the learner {name} needs {', '.join(extra)} too; write a function that takes no "
                "more than a rate and returns the transformation"
            )
        if takes and rate is not None:
            given, rate = {takes: rate}, None
        try:
            make = make(**given)
        except Exception as error:  # whatever a function raises that is none of ours
            raise BadInput(f"the learner {name} cannot be made: {error}") from error
    if rate is not None:
        raise BadInput(f"the learner {name} takes no rate; leave out --rate {rate:g}")
    if not isinstance(make, optax.GradientTransformation):
        raise BadInput(
            f"the learner {name} must be a GradientTransformation of optax, a function that "
            f"returns one, or a subclass of Learner; got {type(make).__name__}"
        )
    return make
