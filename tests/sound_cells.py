"""Sound cells of many kinds, all of which `check_cell` must accept."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ostinato.cells import GRU, Cell
from planted_faults import Mine, parameter

SOUND: list[type] = []


def sound(cell: type) -> type:
    SOUND.append(cell)
    return cell


sound(Mine)


class _SLSTM(Cell):
    """The sLSTM of the xLSTM (Beck et al., 2024), with the stabiliser m.

    `m_t = max(log f + m_{t-1}, ĩ)`, `i' = exp(ĩ - m_t)`, `f' = exp(log f + m_{t-1} - m_t)`,
    `c = f' c + i' z`, `n = f' n + i'`, `h = o c / n`.
    """

    W: jax.Array = parameter(0, 3, 16)
    R: jax.Array = parameter(1, 4, 16)

    start = (0.0, 0.0)  # of n and m

    def initial(self, batch):
        n, m = (jnp.full((*batch, 4), x, self.R.dtype) for x in self.start)
        zero = jnp.zeros((*batch, 4), self.R.dtype)
        return {"h": zero, "c": zero, "n": n, "m": m}

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        z, i, f, o = jnp.split(u + state["h"] @ self.R, 4, axis=-1)
        kept = jax.nn.log_sigmoid(f) + state["m"]
        m = jnp.maximum(kept, i)
        c = jnp.exp(kept - m) * state["c"] + jnp.exp(i - m) * jnp.tanh(z)
        n = jnp.exp(kept - m) * state["n"] + jnp.exp(i - m)
        h = jax.nn.sigmoid(o) * c / n
        return {"h": h, "c": c, "n": n, "m": m}, h


@sound
class SLSTM(_SLSTM):
    """The normaliser starts at zero."""


@sound
class SLSTMFromOne(_SLSTM):
    start = (1.0, 0.0)


@sound
class SLSTMFromMinusInfinity(_SLSTM):
    start = (0.0, -np.inf)


@sound
class PlainExponentialGate(_SLSTM):
    """Without the stabiliser: `i = exp(ĩ)`, `f = σ(f̃)`."""

    def step(self, state, u):
        z, i, f, o = jnp.split(u + state["h"] @ self.R, 4, axis=-1)
        c = jax.nn.sigmoid(f) * state["c"] + jnp.exp(i) * jnp.tanh(z)
        n = jax.nn.sigmoid(f) * state["n"] + jnp.exp(i)
        h = jax.nn.sigmoid(o) * c / n
        return {"h": h, "c": c, "n": n, "m": state["m"]}, h


@sound
class SeveralOutputs(Mine):
    def step(self, state, u):
        h, _ = super().step(state, u)
        return h, (h, {"norm": jnp.sum(h**2, axis=-1)})


@sound
class ScalarOutput(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y.sum(-1)


@sound
class DictState(Mine):
    def initial(self, batch):
        return {"slow": super().initial(batch), "fast": super().initial(batch)}

    def step(self, state, u):
        h, y = super().step(state["fast"] + state["slow"], u)
        return {"fast": h, "slow": 0.9 * state["slow"] + 0.1 * h}, y


@sound
class NoState(Mine):
    def initial(self, batch):
        return ()

    def step(self, state, u):
        return (), jnp.tanh(u @ self.R) * self.gain


@sound
class NoParameters(Cell):
    """A moving average."""

    size: int = eqx.field(static=True, default=3)
    rate: float = 0.5

    def initial(self, batch):
        return jnp.zeros((*batch, self.size))

    def inputs(self, x):
        return x

    def step(self, state, u):
        h = self.rate * state + (1 - self.rate) * u
        return h, h


@sound
class NoProjection(Mine):
    def inputs(self, x):
        return x

    def step(self, state, u):
        return super().step(state, u @ self.W)


@sound
class TiedWeights(Mine):
    """R is read twice, once transposed."""

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (jnp.tanh(state @ self.R) @ self.R.T))
        return h, h @ self.R


@sound
class LearnedInitial(Mine):
    start: jax.Array = parameter(3, 4)

    def initial(self, batch):
        return jnp.broadcast_to(self.start, (*batch, 4))


@sound
class Counter(Mine):
    """Counts the steps, and reads the count."""

    def initial(self, batch):
        return super().initial(batch), jnp.zeros(batch, jnp.int32)

    def step(self, state, u):
        h, count = state
        h, y = super().step(h, u / (1 + count[..., None].astype(u.dtype)))
        return (h, count + 1), y


@sound
class IntegerProduct(Counter):
    """The count is multiplied by a parameter as it is, a whole number."""

    V: jax.Array = parameter(3, 1, 4)

    def step(self, state, u):
        h, count = state
        new, y = super().step((h, count), u)
        return new, y + count[..., None] @ self.V


@sound
class Flag(Mine):
    def initial(self, batch):
        return super().initial(batch), jnp.ones(batch, bool)

    def step(self, state, u):
        h, first = state
        h, y = super().step(h, u)
        y = jnp.where(first[..., None], y, 2 * y)
        return (h, jnp.zeros_like(first)), y


@sound
class DelayLine(Mine):
    """The last three outputs, oldest first."""

    def initial(self, batch):
        return jnp.zeros((*batch, 3, 4), self.R.dtype)

    def step(self, state, u):
        h, y = super().step(state[..., 0, :], u)
        return jnp.concatenate([state[..., 1:, :], h[..., None, :]], axis=-2), y


@sound
class Relu(Mine):
    """Its state starts on the kink."""

    def step(self, state, u):
        h = jax.nn.relu(u + self.gain * (jax.nn.relu(state) @ self.R))
        return h, jnp.abs(state) + h


@sound
class WeakKink(Mine):
    """Its state starts on a kink that hardly bends the loss."""

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * ((state + 1e-3 * jax.nn.relu(state)) @ self.R))
        return h, h


@sound
class NearKinks(Mine):
    """With a bias that puts one unit within 1e-6 of its kink, whatever the input."""

    def inputs(self, x):
        u = x @ self.W
        return u.at[..., 0].set(1e-6 * u[..., 0])

    def step(self, state, u):
        a = u + (self.gain * (state @ self.R)).at[..., 0].set(0)
        h = jnp.where(a > 0, a, 0.1 * a)
        return h, h


@sound
class Clipped(Mine):
    """Hard sigmoids, many of them saturated exactly."""

    def step(self, state, u):
        h = jnp.clip(3 * (u + self.gain * (state @ self.R)), -1, 1)
        return h, h


@sound
class MaxPooled(Mine):
    """All units start equal, so the maximum is a tie."""

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y + state.max(-1, keepdims=True)


@sound
class SafeWhere(Mine):
    """`sin(a) / a`, with the zero kept from the division."""

    def step(self, state, u):
        a = self.gain * (state @ self.R)
        near = jnp.abs(a) < 1e-6
        safe = jnp.where(near, 1.0, a)
        h = jnp.tanh(u + jnp.where(near, 1.0, jnp.sin(safe) / safe))
        return h, h


@sound
class Normalised(Mine):
    def step(self, state, u):
        a = state @ self.R
        a = (a - a.mean(-1, keepdims=True)) / jnp.sqrt(a.var(-1, keepdims=True) + 1e-5)
        h = jnp.tanh(u + self.gain * a)
        return h, h


@sound
class ScanInside(Mine):
    """Several small steps per step."""

    def step(self, state, u):
        def small(h, _):
            return h + 0.3 * (jnp.tanh(u + self.gain * (h @ self.R)) - h), None

        h, _ = jax.lax.scan(small, state, None, length=3)
        return h, h


@sound
class CondInside(Mine):
    """A `cond` per sequence, by the sign of a unit."""

    def step(self, state, u):
        h, y = super().step(state, u)

        def one(y):
            return jax.lax.cond(y[0] > 0, lambda y: 2 * y, lambda y: y - 1, y)

        return h, jnp.vectorize(one, signature="(n)->(n)")(y)


@sound
class FixedLoopInside(Mine):
    def step(self, state, u):
        h = jax.lax.fori_loop(0, 3, lambda _, h: jnp.tanh(u + self.gain * (h @ self.R)), state)
        return h, h


@sound
class DropoutByKey(Mine):
    """A mask per unit for all of time, from a key among the fields."""

    key: jax.Array = eqx.field(default_factory=lambda: jax.random.key_data(jax.random.key(0)))

    def step(self, state, u):
        key = jax.random.wrap_key_data(self.key)
        h, y = super().step(state, u)
        return h, y * jax.random.bernoulli(key, 0.5, y.shape[-1:])


@sound
class Unitary(Cell):
    """A complex state that turns by learned angles, with real parameters."""

    W: jax.Array = parameter(0, 3, 4)
    angle: jax.Array = parameter(1, 4)

    def initial(self, batch):
        return jnp.zeros((*batch, 4), jnp.result_type(self.W.dtype, jnp.complex64))

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        h = state * jnp.exp(1j * self.angle).astype(state.dtype) + u
        return h, jnp.concatenate([h.real, h.imag], axis=-1)


class Elementwise(Cell):
    """A cell without a recurrent product. Its output is read off the state by `read`."""

    W: jax.Array = parameter(0, 3, 12)

    def initial(self, batch):
        return jnp.zeros((*batch, 4), self.W.dtype)

    def inputs(self, x):
        return x @ self.W

    def read(self, state, u):
        return state

    def step(self, state, u):
        new = self.new(state, u)
        return new, self.read(new, u)


class SRU(Elementwise):
    """`c = f c + (1 - f) x̃` and `h = r tanh(c) + (1 - r) x̃`, gates of the input alone."""

    def new(self, c, u):
        x, f, _ = jnp.split(u, 3, axis=-1)
        f = jax.nn.sigmoid(f + 3)
        return f * c + (1 - f) * x

    def read(self, c, u):
        x, _, r = jnp.split(u, 3, axis=-1)
        r = jax.nn.sigmoid(r)
        return r * jnp.tanh(c) + (1 - r) * x


class MinGRU(Elementwise):
    """`h = (1 - z) h + z h̃`, both of the input alone."""

    def new(self, h, u):
        z, candidate, _ = jnp.split(u, 3, axis=-1)
        z = jax.nn.sigmoid(z)
        return (1 - z) * h + z * candidate


class LRU(Elementwise):
    """`h = λ h + B x` with complex eigenvalues λ, and `y = [Re h, Im h]`."""

    angle: jax.Array = parameter(1, 4)

    def initial(self, batch):
        return jnp.zeros((*batch, 4), jnp.result_type(self.W.dtype, jnp.complex64))

    def new(self, h, u):
        real, imaginary, _ = jnp.split(u, 3, axis=-1)
        turned = (0.95 * jnp.exp(1j * self.angle)).astype(h.dtype)
        return turned * h + real + 1j * imaginary

    def read(self, h, u):
        return jnp.concatenate([h.real, h.imag], axis=-1)


@sound
class Symbols(Mine):
    """Reads symbols, not vectors."""

    @property
    def input_axes(self):
        return 0

    def inputs(self, x):
        return self.W[x]


@sound
class Wrapper(Cell):
    """A cell around a cell, with an output that skips it."""

    cell: Cell = eqx.field(default_factory=lambda: GRU(3, 4, key=jax.random.key(0)))
    V: jax.Array = parameter(3, 3, 4)

    def initial(self, batch):
        return self.cell.initial(batch)

    def inputs(self, x):
        return self.cell.inputs(x), x

    def step(self, state, u):
        state, y = self.cell.step(state, u[0])
        return state, y + u[1] @ self.V


@sound
class EquinoxInside(Cell):
    """A cell of Equinox, which knows nothing of batches, made into one."""

    cell: eqx.nn.GRUCell = eqx.field(
        default_factory=lambda: eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
    )

    def initial(self, batch):
        return jnp.zeros((*batch, 4), self.cell.weight_hh.dtype)

    def inputs(self, x):
        return x

    def step(self, state, u):
        h = jnp.vectorize(self.cell, signature="(i),(n)->(n)")(u, state)
        return h, h


@sound
class NumPyConstant(Mine):
    """A mask of whole numbers may be a NumPy array: it is not trained."""

    mask: np.ndarray = eqx.field(default_factory=lambda: np.triu(np.ones((4, 4), np.int32)))

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ (self.R * self.mask)))
        return h, h


@sound
class Prints(Mine):
    def step(self, state, u):
        jax.debug.callback(lambda: None)
        return super().step(state, u)


@sound
class Float16(Mine):
    R: jax.Array = eqx.field(default_factory=lambda: Mine().R.astype(jnp.float16))
    W: jax.Array = eqx.field(default_factory=lambda: Mine().W.astype(jnp.float16))
    gain: jax.Array = eqx.field(default_factory=lambda: Mine().gain.astype(jnp.float16))
