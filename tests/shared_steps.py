"""Runs of the tests that are alike take one compiled step.

Most of these runs train the same small networks for a few steps, and a step takes far longer to
compile than to take. In a user's process each run compiles its own, because the code of the user
may have changed in between. So only runs share here whose task, cell and learner are the library's.
"""

from collections import deque

import equinox as eqx

from ostinato.learning import Transformation
from ostinato.runs.build import steps_of
from ostinato.runs.loop import step
from ostinato.runs.network.budget import units_of

RECENT = 16


def made_of(task, learner, config):
    """What determines the step of a run, but for its network; `None` if code of a user does."""
    members = [member for member in (config.learner, config.first) if member is not None]
    kinds = [type(task), type(task.loss), config.cell.kind, *(member.kind for member in members)]
    if isinstance(learner, Transformation) or any(not _is_ours(kind) for kind in kinds):
        return None
    sizes = steps_of(config, task), config.batch_size, units_of(config, task)
    ways = config.precision, config.memory, config.backend, task.epochs(1, config.batch_size)
    return task.loss, kinds, members, sizes, ways, config.seed


def _is_ours(kind):
    return kind.__module__.partition(".")[0] == "ostinato"


def _same(one, other):
    try:
        return bool(one == other)
    except ValueError:  # the loss has arrays
        return False


def share_steps(monkeypatch):
    """Let later runs take the step of an earlier one, unless a test replaces `compiled_step`."""
    own_steps, compiled, recent = step.RunGroup.steps, step.compiled_step, deque(maxlen=RECENT)

    def steps(group, task, network, learner, config, devices):
        kind = made_of(task, learner, config)
        own = kind is None or devices.count > 1
        if own or group.shared is not None or step.compiled_step is not compiled:
            return own_steps(group, task, network, learner, config, devices)
        static = eqx.filter(network, eqx.is_array, inverse=True)
        for known, its_kind, function in recent:
            if _same(its_kind, kind) and eqx.tree_equal(known, static):
                return step.Alone(function, devices)
        function = compiled(network, learner, config.seed)
        recent.append((static, kind, function))
        return step.Alone(function, devices)

    monkeypatch.setattr(step.RunGroup, "steps", steps)
