"""What runs that are trained at the same time have in common."""

from ..cells import Model
from ..learning import Learner
from ..tasks import Task
from .build import steps_of
from .config import Config
from .devices import Spread
from .signals import Stop
from .step import Alone, Inputs, SharedStep, SharedSteps, Steps, compiled_step


class RunGroup:
    """Runs that are trained at the same time and share what they compile.

    Attributes:
        stop: set by the signal that asks all of them to stop.
        shared: their compiled steps; `None` for a run that has no others beside it.
        mapped: whether their steps are mapped by `jax.vmap`, which kernels cannot be.
    """

    mapped = False

    def __init__(self, stop: Stop, shared: SharedSteps | None):
        self.stop, self.shared = stop, shared

    def steps(
        self, task: Task, network: Model, learner: Learner, config: Config, spread: Spread
    ) -> Steps:
        """How a run takes its steps."""
        if self.shared is None:
            return Alone(compiled_step(network, learner, config.seed), spread)
        step, inputs = self._shared(task, network, learner, config)
        return Alone(step.compiled(inputs), spread)

    def leave(self) -> None:
        """A run has ended."""

    def _shared(
        self, task: Task, network: Model, learner: Learner, config: Config
    ) -> tuple[SharedStep, Inputs]:
        assert self.shared is not None
        backend = getattr(getattr(learner, "objective", None), "backend", None)
        kind = task.loss, steps_of(config, task), backend
        return self.shared.of(network, learner, kind), Inputs.of(network, learner, config.seed)
