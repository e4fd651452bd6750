"""Faults in the parameters and their dtypes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._mine import Mine, fault, parameter, weights


@fault("parameter .W is a NumPy array", "never trained", "jnp.asarray")
class NumPyParameter(Mine):
    W: jax.Array = eqx.field(default_factory=lambda: np.asarray(weights(0, 3, 4)))


@fault("parameter .gates[1] is a NumPy array", "never trained", "jnp.asarray")
class NumPyInTuple(Mine):
    gates: tuple = eqx.field(default_factory=lambda: (weights(3, 4), np.ones(4)))

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y * self.gates[0] + self.gates[1]


@fault(".gain is declared as an array", "Python number 0.5", "jnp.asarray")
class FloatParameter(Mine):
    gain: jax.Array = 0.5  # type: ignore[assignment]


@fault("static field .W", "never trained", "static=True")
class StaticParameter(Mine):
    W: np.ndarray = eqx.field(static=True, default_factory=lambda: np.asarray(weights(0, 3, 4)))


@fault("parameter .R holds NaN", "__init__")
class NaNParameter(Mine):
    R: jax.Array = eqx.field(default_factory=lambda: jnp.log(weights(1, 4, 4)))


@fault(".key is a random key", "jax.random.key_data")
class TypedKey(Mine):
    key: jax.Array = eqx.field(default_factory=lambda: jax.random.key(0))

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y * jax.random.bernoulli(self.key, 0.5, y.shape[-1:])


@fault("never reaches the parameter .gain", "nothing reads it", "remove it")
class Unreachable(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + state @ self.R)
        return h, h


@fault("derivative with respect to parameter .gain is zero", "stop_gradient")
class Stopped(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + jax.lax.stop_gradient(self.gain) * (state @ self.R))
        return h, h


@fault("parameter .R", "inputs and state is wrong", "stop_gradient")
class StoppedState(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (jax.lax.stop_gradient(state) @ self.R))
        return h, h


@fault("never reaches the parameter .threshold", "round, sign, argmax", "smooth function")
class NoSlope(Mine):
    threshold: jax.Array = parameter(3, 4)

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y * jnp.sign(u - self.threshold)


@fault("never reaches the parameter", "argmax", "smooth function")
class Argmax(Mine):
    V: jax.Array = parameter(3, 4, 5)

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y * jnp.argmax(h @ self.V, axis=-1, keepdims=True)


@fault("initial returns float32 where step returns float64", "dtype of a parameter")
class HardCoded(Mine):
    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), jnp.float32)


@fault("initial returns int", "step returns float64", "dtype of a parameter")
class IntegerState(Mine):
    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), int)


@fault("initial returns float32 where step returns float64", "step has a constant")
class WideConstant(Mine):
    """Right in float64, but its own parameters are float32."""

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R)) * np.float64(0.9)
        return h, h


@fault("initial returns bfloat16 where step returns float32", "dtype")
class MixedDtypes(Mine):
    R: jax.Array = eqx.field(default_factory=lambda: weights(1, 4, 4).astype(jnp.bfloat16))


@fault("initial returns float64 where step returns float32", "step has a constant or a cast")
class CastState(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h.astype(jnp.float32), y


@fault("step rounds to bfloat16 inside", "compute='bfloat16'")
class RoundsInside(Mine):
    def step(self, state, u):
        a = (state.astype(jnp.bfloat16) @ self.R.astype(jnp.bfloat16)).astype(u.dtype)
        h = jnp.tanh(u + self.gain * a)
        return h, h


@fault("inputs rounds to float32 inside", "dtype of its arguments")
class RoundsInputs(Mine):
    def inputs(self, x):
        return x.astype(jnp.float32) @ self.W


@fault("initial returns float", "step returns complex", "dtype")
class Complex(Mine):
    def step(self, state, u):
        h = jnp.exp(1j * (u + self.gain * (state @ self.R)))
        return h, h.real
