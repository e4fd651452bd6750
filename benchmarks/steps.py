"""The training steps of a configuration, without a run folder: for what times or follows them."""

import equinox as eqx
import numpy as np

from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.runs.loop.step import compiled_step
from ostinato.weights import count_parameters


class Steps:
    """A network and a learner that go on step by step, compiled once.

    Attributes:
        task, parameters: what is learned, and how many numbers of the network learn it.
        now: the weights, the state of the learner, and what is carried from batch to batch.
    """

    def __init__(self, config, task=None):
        self.config, self.task = config, task or build_task(config)
        network, self.learner = build_network(config, self.task), build_learner(config, self.task)
        self.parameters = count_parameters(network)
        self.advance = compiled_step(network, self.learner, seed=0)
        self.begin(network)

    def begin(self, network):
        """Start with the weights of a network."""
        arrays, self.static = eqx.partition(network, eqx.is_array)
        carried = self.learner.start(network, self.batch(0).arrays)
        self.now = arrays, self.learner.initial(network), carried

    def batch(self, number):
        return self.task.batch(number, self.config.batch_size)

    def step(self, number, batch=None):
        """The loss before a step, on the batch of its number or on another one."""
        batch = self.batch(number).arrays if batch is None else batch
        *self.now, report = self.advance(*self.now, batch, np.int32(number))
        return report["loss"]

    @property
    def network(self):
        return eqx.combine(self.now[0], self.static)
