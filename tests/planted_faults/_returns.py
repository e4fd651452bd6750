"""Faults in what the methods take and return."""

import equinox as eqx
import jax.numpy as jnp

from ._mine import Mine, fault, parameter


@fault("step returned None", "return state, y")
class NoReturn(Mine):
    def step(self, state, u):
        jnp.tanh(u + self.gain * (state @ self.R))


@fault("initial returned None", "return the state")
class InitialWithoutReturn(Mine):
    def initial(self, batch):
        jnp.zeros((*batch, 4), self.R.dtype)


@fault("inputs returned None", "return what step needs")
class InputsWithoutReturn(Mine):
    def inputs(self, x):
        x @ self.W


@fault("step must return a pair", "return state, y", "float64(2, 4)")
class OutputAlone(Mine):
    def step(self, state, u):
        return jnp.tanh(u + self.gain * (state @ self.R))


@fault("step must return a pair", "return state, y")
class Triple(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y, u


@fault("step must keep the state's shape", "second of the pair would fit", "return state, y")
class Swapped(Mine):
    V: object = parameter(3, 4, 2)

    def step(self, state, u):
        h, _ = super().step(state, u)
        return h @ self.V, h


@fault("step returns the state that it got", "return the new state")
class OldState(Mine):
    def step(self, state, u):
        return state, super().step(state, u)[1]


@fault("step returned no output", "with an array y")
class NoOutput(Mine):
    def step(self, state, u):
        return super().step(state, u)[0], None


@fault("step is a generator", "return, not yield")
class Generator(Mine):
    def step(self, state, u):
        yield super().step(state, u)


@fault("step must keep the state's shape", "float64(2, 4)", "float64(2, 8)")
class LargerState(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return jnp.concatenate([h, h], axis=-1), y


@fault("step must keep the state's shape", "(2, 1, 4)", "(2, 2, 4)")
class GrowingHistory(Mine):
    def initial(self, batch):
        return super().initial(batch)[..., None, :]

    def step(self, state, u):
        h, y = super().step(state[..., -1, :], u)
        return jnp.concatenate([state, h[..., None, :]], axis=-2), y


@fault("step must return a state built like the one it got", "float64(2, 4)")
class OtherStructure(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return (h, h), y


@fault("step must return a state built like the one it got", "same tuples, lists and keys")
class ListForTuple(Mine):
    def initial(self, batch):
        h = super().initial(batch)
        return [h, h]

    def step(self, state, u):
        h, y = super().step(state[0], u)
        return (h, state[1] + h), y


@fault("step must return a state built like the one it got", "previous")
class OtherKeys(Mine):
    def initial(self, batch):
        return {"h": super().initial(batch)}

    def step(self, state, u):
        h, y = super().step(state["h"], u)
        return {"h": h, "previous": state["h"]}, y


@fault("step must return a state built like the one it got", "None")
class NoneFirst(Mine):
    def initial(self, batch):
        return super().initial(batch), None

    def step(self, state, u):
        h, y = super().step(state[0], u)
        return (h, h), y


@fault("initial((2,)) must return arrays", "Python number 0", "jnp.full")
class PythonInt(Mine):
    def initial(self, batch):
        return super().initial(batch), 0

    def step(self, state, u):
        h, y = super().step(state[0], u)
        return (h, state[1] + 1), y


@fault("initial((2,)) must return arrays", "Python number 0.0", "jnp.full")
class PythonFloat(Mine):
    def initial(self, batch):
        return 0.0

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * state)
        return h, h


@fault("step must return arrays", "Python number 1.0")
class PythonFloatFromStep(Mine):
    def initial(self, batch):
        return super().initial(batch), jnp.zeros(batch, self.R.dtype)

    def step(self, state, u):
        h, y = super().step(state[0], u)
        return (h, 1.0), y


@fault("initial((2,)) must return arrays", "str 'warm'", "static field")
class Text(Mine):
    def initial(self, batch):
        return super().initial(batch), "warm"

    def step(self, state, u):
        h, y = super().step(state[0], u)
        return (h, state[1]), y


@fault("initial((2,)) must return arrays whose first axes are (2,)", "(4,)")
class NoBatch(Mine):
    def initial(self, batch):
        return jnp.zeros(self.R.shape[0], self.R.dtype)


@fault("initial((2,)) must return arrays whose first axes are (2,)", "(4, 2)")
class BatchLast(Mine):
    def initial(self, batch):
        return jnp.zeros((self.R.shape[0], *batch), self.R.dtype)


@fault("initial", "IndexError", "batch axes ()", "(*batch, units)")
class OneBatchAxis(Mine):
    def initial(self, batch):
        return jnp.zeros((batch[0], self.R.shape[0]), self.R.dtype)


@fault("step must return arrays whose first axes are (2,)", "()")
class OutputWithoutBatch(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y.sum()


@fault("inputs must return arrays whose first axes are (8, 2)", "(4,)")
class InputsWithoutTime(Mine):
    def inputs(self, x):
        return self.W.sum(0)


@fault("step must take state and u", "def step(self, state, u)", "(state, u, t)")
class ThreeArguments(Mine):
    def step(self, state, u, t):
        return super().step(state, u)


@fault("step must take state and u", "def step(self, state, u)")
class StaticStep(Mine):
    @staticmethod
    def step(self, state, u):
        return state, state


@fault("initial must take batch", "def initial(self, batch)")
class NoArgument(Mine):
    def initial(self):
        return jnp.zeros(4, self.R.dtype)


@fault("inputs must be a method", "@property")
class InputsAsProperty(Mine):
    @property
    def inputs(self):
        return self.W


@fault("it is not a Cell", "ostinato.cells.Cell", "initial, inputs and step")
class NotACell(eqx.Module):
    W: object = parameter(0, 3, 4)

    def __call__(self, x, h):
        return jnp.tanh(x @ self.W + h)
