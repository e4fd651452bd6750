"""Faults of methods that depend on something else, or mix sequences or times."""

import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np

from ._mine import Mine, fault, parameter

COUNT = itertools.count()
SEEN: list = []
LAST: dict = {}


@fault("step is not pure", "same state and input")
class Impure(Mine):
    def step(self, state, u):
        h, _ = super().step(state, u)
        return h, h + random.random()


@fault("step is not pure", "same state and input")
class NumPyNoise(Mine):
    def step(self, state, u):
        return super().step(state + np.random.normal(size=4), u)


@fault("step is not pure", "same state and input")
class CountsCalls(Mine):
    def step(self, state, u):
        return super().step(state, u * next(COUNT))


@fault("step is not pure", "compiled")
class OtherWhenCompiled(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, 2 * y if isinstance(y, jax.core.Tracer) else y


@fault("step changes a list", "part of the state")
class AppendsToField(Mine):
    history: list = parameter(3, 0)

    def __init__(self):
        cell = Mine()
        self.W, self.R, self.gain, self.history = cell.W, cell.R, cell.gain, []

    def step(self, state, u):
        h, y = super().step(state, u)
        self.history.append(1)
        return h, y


@fault("step", "kept in a global", "part of the state")
class GlobalState(Mine):
    def step(self, state, u):
        h, y = super().step(state, u + LAST.get("h", 0))
        LAST["h"] = h
        return h, y


@fault("initial is not pure", "key in a field")
class RandomInitial(Mine):
    def initial(self, batch):
        return jnp.asarray(np.random.normal(size=(*batch, 4)), self.R.dtype)


@fault("initial is not pure", "called twice")
class CountingInitial(Mine):
    def initial(self, batch):
        return jnp.full((*batch, 4), next(COUNT), self.R.dtype)


@fault("inputs is not pure", "same input")
class CountingInputs(Mine):
    def inputs(self, x):
        return x @ self.W + next(COUNT)


@fault("inputs is not pure", "same input")
class NoisyInputs(Mine):
    def inputs(self, x):
        return (x + np.random.normal(size=x.shape)) @ self.W


@fault("initial((2,)) gives a sequence another state", "place in the batch")
class InitialByPlace(Mine):
    def initial(self, batch):
        return jax.random.normal(jax.random.key(0), (*batch, 4), self.R.dtype)


@fault("batch axes are mishandled", "in step", "than alone")
class MixedBatch(Mine):
    def step(self, state, u):
        return super().step(state - state.mean(0), u)


@fault("batch axes are mishandled", "in step", "last axis")
class BatchNorm(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R))
        mean = h.reshape(-1, 4).mean(0)
        return h, h - mean


@fault("step", "batch axes", "last axis")
class SoftmaxOverBatch(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, jax.nn.softmax(y, axis=0)


@fault("step", "batch axes ()", "last axis")
class AxisOne(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, jax.nn.softmax(y, axis=1)


@fault("step", "batch axes ()", "last axis")
class LoopOverBatch(Mine):
    def step(self, state, u):
        h = jnp.stack([jnp.tanh(a + self.gain * (h @ self.R)) for a, h in zip(u, state)])  # noqa: B905
        return h, h


@fault("step", "batch axes", "last axis")
class TransposedState(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (self.R.T @ state.T).T)
        return h, h


@fault("batch axes are mishandled", "in step", "last axis")
class NoiseByPlace(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y * jax.random.bernoulli(jax.random.key(0), 0.5, y.shape)


@fault("batch axes are mishandled", "in inputs", "last axis")
class InputsOverBatch(Mine):
    def inputs(self, x):
        x = x - x.mean(-2, keepdims=True) if x.ndim > 1 else x
        return x @ self.W


@fault("inputs mixes times", "leading axes alike")
class MixedTimes(Mine):
    def inputs(self, x):
        return jnp.cumsum(x, axis=0) @ self.W


@fault("inputs mixes times", "leading axes alike")
class Reversed(Mine):
    def inputs(self, x):
        return x[::-1] @ self.W
