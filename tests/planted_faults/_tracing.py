"""Faults that raise: exceptions of the user's own code, and what cannot be traced."""

import jax
import jax.numpy as jnp
import numpy as np

from ._mine import Mine, fault, parameter


@fault("step raised ValueError: the gate must be open", "_tracing.py:")
class Raises(Mine):
    def step(self, state, u):
        raise ValueError("the gate must be open")


@fault("step raised KeyError: 'forget'", "_tracing.py:")
class WrongKey(Mine):
    def step(self, state, u):
        return {"f": state}["forget"], u


@fault("step raised AttributeError", "'U'", "_tracing.py:")
class MissingAttribute(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + state @ self.U)
        return h, h


@fault("step raised NameError", "tanh", "_tracing.py:")
class MissingImport(Mine):
    def step(self, state, u):
        h = tanh(u + self.gain * (state @ self.R))  # noqa: F821
        return h, h


@fault("initial raised NameError", "units", "_tracing.py:")
class InitialRaises(Mine):
    def initial(self, batch):
        return jnp.zeros((*batch, units))  # noqa: F821


@fault("inputs raised ZeroDivisionError", "_tracing.py:")
class InputsRaises(Mine):
    def inputs(self, x):
        return x @ self.W / (1 // 0)


@fault("step raised TypeError", "(4,) and (5,)", "_mine.py:")
class WrongShape(Mine):
    R: jax.Array = parameter(1, 5, 5)

    def initial(self, batch):
        return jnp.zeros((*batch, 4), self.R.dtype)


@fault("step must keep the state's shape", "(2, 4)", "(2, 5)")
class NotSquare(Mine):
    W: jax.Array = parameter(0, 3, 5)
    R: jax.Array = parameter(1, 4, 5)
    gain: jax.Array = parameter(2, 5)


@fault("step raised TypeError", "(2, 3)", "(2, 4)", "_mine.py:")
class Transposed(Mine):
    W: jax.Array = parameter(0, 4, 3)


@fault("step", "Python `if`", "jnp.where", "_tracing.py:")
class IfOnState(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        if h.sum() > 0:
            y = 2 * y
        return h, y


@fault("inputs", "Python `if`", "jnp.where", "_tracing.py:")
class IfOnInput(Mine):
    def inputs(self, x):
        return x @ self.W if (x > 0).all() else -x @ self.W


@fault("step", "Python `if`", "parameter", "jnp.where", "_tracing.py:")
class AssertOnParameter(Mine):
    def step(self, state, u):
        assert jnp.abs(self.R).max() < 100
        return super().step(state, u)


@fault("step", "NumPy cannot", "use jnp", "_tracing.py:")
class NumPyInStep(Mine):
    def step(self, state, u):
        h = np.tanh(u + self.gain * (state @ self.R))
        return h, h


@fault("step", "NumPy cannot", "use jnp", "_tracing.py:")
class AsNumPy(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + jnp.asarray(np.asarray(state)) @ self.R * self.gain)
        return h, h


@fault("inputs", "NumPy cannot", "use jnp", "_tracing.py:")
class NumPyInInputs(Mine):
    def inputs(self, x):
        return np.dot(x, self.W)


@fault("step", "float()", "use jnp", "_tracing.py:")
class FloatOfState(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R) / (1 + float(jnp.abs(state).max())))
        return h, h


@fault("step", "index, range or shape", "_tracing.py:")
class RangeOfParameter(Mine):
    count: jax.Array = parameter(3, 1)

    def step(self, state, u):
        h = state
        for _ in range(self.count.astype(int)[0]):
            h = jnp.tanh(u + self.gain * (h @ self.R))
        return h, h


@fault("step", "mask", "jnp.where", "_tracing.py:")
class MaskAsIndex(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y - y[y > 0].sum()


@fault("step", "changed in place", ".at[", "_tracing.py:")
class InPlace(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        h[..., 0] = 0
        return h, y


@fault("step", "cannot change its own attributes", "part of the state", "_tracing.py:")
class SetsAttribute(Mine):
    last: jax.Array = parameter(3, 4)

    def step(self, state, u):
        h, y = super().step(state, u)
        self.last = h
        return h, y + self.last


@fault("while_loop", "no reverse mode", "lax.scan")
class While(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R))
        _, h = jax.lax.while_loop(
            lambda loop: loop[0] < 3, lambda loop: (loop[0] + 1, 0.9 * loop[1]), (0, h)
        )
        return h, h


@fault("step raised TypeError", "unexpected keyword", "_tracing.py:")
class MisusedAt(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h.at[..., 0].set(value=0), y
