"""Faults in the numbers: NaN, infinity, and wrong derivatives."""

import jax
import jax.numpy as jnp

from ._mine import Mine, fault, parameter


@fault("step returns NaN", "output of step 0", "division by zero")
class ZeroOverZero(Mine):
    def step(self, state, u):
        h, _ = super().step(state, u)
        return h, h + state / jnp.linalg.norm(state, axis=-1, keepdims=True)


@fault("step returns infinity", "log or root of zero")
class LogOfZero(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y + jnp.log(jnp.abs(state))


@fault("step returns", "in the state after step", "exp that is too large")
class Overflow(Mine):
    def step(self, state, u):
        h = jnp.exp(u + jnp.abs(self.gain) * (jnp.abs(state) @ jnp.abs(self.R)))
        return h, jnp.tanh(h)


@fault("inputs returns NaN", "ordinary inputs")
class RootOfInputs(Mine):
    def inputs(self, x):
        return jnp.sqrt(x) @ self.W


@fault("initial returns NaN", "jnp.zeros")
class NaNInitial(Mine):
    def initial(self, batch):
        return jnp.full((*batch, 4), jnp.nan, self.R.dtype)


@fault("derivative with respect to state is NaN", "from the state of initial", "jnp.where")
class NormOfZero(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y / (1 + jnp.linalg.norm(state, axis=-1, keepdims=True))


@fault("derivative with respect to", "infinite", "from the state of initial", "jnp.where")
class RootOfZero(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y + jnp.sqrt(jnp.abs(state) * (state >= 0))


@fault("derivative with respect to parameter", "NaN", "from the state of initial", "jnp.where")
class WhereAfterwards(Mine):
    """The usual mistake: `where` hides the NaN of the value, but not that of the derivative."""

    def step(self, state, u):
        a = self.gain * (state @ self.R)
        safe = jnp.where(a == 0, 0.0, jnp.sin(a) / a)
        h = jnp.tanh(u + safe)
        return h, h


@fault("derivative with respect to parameter", "NaN", "jnp.where")
class MinusInfinityInitial(Mine):
    """A running maximum from -inf, of which a difference is taken: -inf - (-inf)."""

    def initial(self, batch):
        return jnp.full((*batch, 4), -jnp.inf, self.R.dtype)

    def step(self, state, u):
        new = jnp.maximum(state, u * self.gain)
        shifted = jnp.where(jnp.isinf(state), 0.0, jnp.exp((state - new) * self.R[0]))
        return new, shifted + new


@jax.custom_jvp
def scaled(gain, x):
    return gain * x


@scaled.defjvp
def _(primals, tangents):
    (gain, x), (d_gain, d_x) = primals, tangents
    return gain * x, 1.5 * d_gain * x + gain * d_x


@fault("the derivative with respect to parameter .gain is wrong", "differences", "custom_jvp")
class WrongDerivative(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + scaled(self.gain, state @ self.R))
        return h, h


@jax.custom_vjp
def squash(x):
    return jnp.tanh(x)


squash.defvjp(lambda x: (jnp.tanh(x), x), lambda x, error: (error * (1 - x**2),))


@fault("the derivative with respect to parameter .W", "is wrong", "custom_vjp")
class WrongPullback(Mine):
    """The slope of tanh written with x where its value belongs."""

    def step(self, state, u):
        h = squash(u + self.gain * (state @ self.R))
        return h, h


@jax.custom_vjp
def soft(x):
    return jnp.tanh(x)


soft.defvjp(lambda x: (jnp.tanh(x), x), lambda x, error: (error * (1 - jnp.tanh(x) ** 2),))


@fault("custom_vjp has no forward mode", "custom_jvp")
class NoForwardMode(Mine):
    def step(self, state, u):
        h = soft(u + self.gain * (state @ self.R))
        return h, h


@jax.custom_jvp
def bent(x):
    return jnp.tanh(x)


@bent.defjvp
def _(primals, tangents):
    return jnp.tanh(primals[0]), jnp.sin(tangents[0])


@fault("linear in the tangents", "custom_jvp")
class NonLinear(Mine):
    def step(self, state, u):
        h = bent(u + self.gain * (state @ self.R))
        return h, h


@jax.custom_jvp
def leaky(x):
    return jnp.where(x > 0, x, 0.1 * x)


@leaky.defjvp
def _(primals, tangents):
    return leaky(primals[0]), jnp.where(primals[0] > 0, 1.0, 0.2) * tangents[0]


@fault("the derivative with respect to parameter", "is wrong", "custom_jvp")
class WrongSideOfKink(Mine):
    def step(self, state, u):
        h = leaky(u + self.gain * (state @ self.R))
        return h, h


@fault("the derivative with respect to", "is wrong", "custom_jvp")
class StraightThrough(Mine):
    def step(self, state, u):
        a = u + self.gain * (state @ self.R)
        h = a + jax.lax.stop_gradient(jnp.round(4 * a) / 4 - a)
        return h, h


@fault("never reaches the parameter .scale", "smooth function")
class IntegerDivision(Mine):
    scale: jax.Array = parameter(3, 4)

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y + 5 * u // self.scale
