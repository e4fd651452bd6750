"""The neural Turing machine: a controller with a memory outside of it.

A head has a weighting w over the N rows of the memory M, with numbers from 0 to 1 that add up to 1.
The new weighting comes from the old one in four stages:

    content       w_c = softmax(β K(k, M_i)),  K the cosine similarity     eqs 5 and 6
    interpolate   w_g = g w_c + (1 - g) w                                  eq 7
    shift         w_s(i) = Σ_j w_g(i - j) s(j),  rows in a circle          eq 8
    sharpen       w = w_s^γ / Σ w_s^γ                                      eq 9

    read          r = Σ_i w(i) M_i                                         eq 2
    write         M_i ← M_i ⊙ Π_heads (1 - w(i) e) + Σ_heads w(i) a        eqs 3 and 4

Source: Graves, Wayne and Danihelka (2014), Neural Turing machines.

In float32 all results and first derivatives are finite for memories of up to 1e15, keys and β of up
to 1e30, and any γ: the cosine of a vector of zeros is 0, w^γ is computed from logarithms, and
γ has no more effect above 10,000.

Shapes: with H heads, N rows and M columns, memory `(..., N, M)`, weightings `(..., H, N)`, keys,
erased and added vectors `(..., H, M)`, and β, g, γ `(..., H)`.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells.building import check_vectors, draw, input_size, is_size, output_size, zeros
from ..cells.cell import Blocks, Gates
from ..cells.initialisers import glorot
from ..errors import BadInput
from ..settings import checked_float
from ..through_time.linear_map import paired

EMPTY = 1e-6  # vectors much shorter than this count as zero
LEAST = 1e-30  # weights below this count as this where their logarithm is taken
MAX = 1e4  # of γ
CONSTANT = 1e-6  # the memory at first
ONWARD = 2.0  # the bias of a write head's shift by one row at first
STAY = 2.0  # the usual bias of a read head's shift by no row at first
BY_PLACE = -2.0  # the usual bias of g at first


class Focus(NamedTuple):
    """What a controller tells its heads.

    Attributes:
        key: k, `(..., H, M)`.
        strength: β ≥ 0, `(..., H)`.
        gate: g from 0 to 1, `(..., H)`.
        shift: s, `(..., H, 2 S + 1)`, for shifts from -S to S; adds up to 1.
        sharpness: γ ≥ 1, `(..., H)`.
    """

    key: jax.Array
    strength: jax.Array
    gate: jax.Array
    shift: jax.Array
    sharpness: jax.Array


def address(memory: jax.Array, before: jax.Array, focus: Focus) -> jax.Array:
    """The new weightings of all heads, given those before.

    Example:
        >>> memory, before = np.eye(4), np.array([[1.0, 0.0, 0.0, 0.0]])
        >>> right = Focus(
        ...     key=np.zeros((1, 4)),
        ...     strength=np.ones(1),
        ...     gate=np.zeros(1),
        ...     shift=np.array([[0.0, 0.0, 1.0]]),
        ...     sharpness=np.ones(1),
        ... )
        >>> np.asarray(jax.jit(address)(memory, before, right)).round(3).tolist()
        [[0.0, 1.0, 0.0, 0.0]]
    """
    weights = content(memory, focus.key, focus.strength)
    mixed = interpolate(weights, before, focus.gate)
    return sharpen(shift(mixed, focus.shift), focus.sharpness)


def content(memory: jax.Array, key: jax.Array, strength: jax.Array) -> jax.Array:
    """`softmax(β K(k, M_i))` over the rows."""
    similar = similarity(memory, key)
    # The largest is taken off before the product. The softmax would take it off after, where the
    # compiler may leave β K unrounded and not β max K: from β = 1e10 their difference overflowed.
    below = similar - jax.lax.stop_gradient(similar.max(axis=-1, keepdims=True))
    return jax.nn.softmax(strength[..., None] * below, axis=-1)


def similarity(memory: jax.Array, key: jax.Array) -> jax.Array:
    """The cosine of the angle between each key and each row; 0 if one of them is zero.

    Example:
        >>> memory, key = np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([[1e30, 1e30]])
        >>> np.asarray(jax.jit(similarity)(memory, key)).round(3)
        array([[0.707, 0.   ]], dtype=float...)
    """
    # The square of a long key would overflow. Its length does not matter: it counts as a constant.
    longest = jnp.max(jnp.abs(key), axis=-1, keepdims=True)
    key = _unit(key / jax.lax.stop_gradient(jnp.maximum(longest, 1)))
    return jnp.sum(key[..., :, None, :] * _unit(memory)[..., None, :, :], axis=-1)


def _unit(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + EMPTY**2)


def interpolate(content: jax.Array, before: jax.Array, gate: jax.Array) -> jax.Array:
    """`g w_c + (1 - g) w`."""
    return gate[..., None] * content + (1 - gate[..., None]) * before


def shift(weighting: jax.Array, by: jax.Array) -> jax.Array:
    """`Σ_j w(i - j) s(j)`, with the rows in a circle.

    Example:
        >>> jax.jit(shift)(np.eye(4)[0], np.array([0.25, 0.5, 0.25])).tolist()
        [0.5, 0.25, 0.0, 0.25]
    """
    rows, reach = weighting.shape[-1], by.shape[-1] // 2
    circle = jnp.concatenate(
        [weighting[..., rows - reach :], weighting, weighting[..., :reach]], -1
    )
    starts = range(2 * reach, -1, -1)
    return sum(by[..., j, None] * circle[..., i : i + rows] for j, i in enumerate(starts))  # type: ignore


def sharpen(weighting: jax.Array, sharpness: jax.Array) -> jax.Array:
    """`w^γ / Σ w^γ`.

    Example:
        >>> jax.jit(sharpen)(np.array([0.0, 0.5, 0.5]), np.asarray(1e30)).tolist()
        [0.0, 0.5, 0.5]
    """
    logs = jnp.log(jnp.maximum(weighting, LEAST))
    return jax.nn.softmax(jnp.minimum(sharpness, MAX)[..., None] * logs, axis=-1)


def read(memory: jax.Array, weighting: jax.Array) -> jax.Array:
    """`Σ_i w(i) M_i` of each head, `(..., H, M)`."""
    return jnp.sum(weighting[..., None] * memory[..., None, :, :], axis=-2)


def write(
    memory: jax.Array, weighting: jax.Array, erased: jax.Array, added: jax.Array
) -> jax.Array:
    """The memory after all heads have erased and then added; their order does not matter.

    Example:
        >>> memory, there = jnp.ones((2, 3)), jnp.array([[1.0, 0.0]])
        >>> write(memory, there, jnp.ones((1, 3)), jnp.array([[5.0, 6.0, 7.0]])).tolist()
        [[5.0, 6.0, 7.0], [1.0, 1.0, 1.0]]
    """
    where = weighting[..., None]
    kept, new = 1 - where * erased[..., None, :], where * added[..., None, :]
    heads = range(weighting.shape[-2])
    memory = math.prod((kept[..., head, :, :] for head in heads), start=memory)
    return memory + sum(new[..., head, :, :] for head in heads)


class TuringState(NamedTuple):
    """The state of a neural Turing machine.

    Attributes:
        cell: the state of the controller.
        memory: `(*batch, N, M)`.
        weightings: `(*batch, 2 H, N)`, of the read heads and then of the write heads.
        reads: what the read heads read last, `(*batch, H M)`.
    """

    cell: Any
    memory: jax.Array
    weightings: jax.Array
    reads: jax.Array


def bounded(x: jax.Array) -> jax.Array:
    """x; the error that comes back through it stays within ± the cube root of the largest float.

    Where rows of the memory and their weights are equal, sharpening multiplies any difference
    between them by γ at each step, and so does the way back. Over some hundred steps even the
    rounding error of such a difference would overflow, and the gradient become NaN. Errors up to
    7e12 in float32 and 5e102 in float64 pass unchanged. Graves (2013) clips errors within the
    network likewise, at 1 to 100.

    Example:
        >>> float(jax.grad(lambda x: 1e30 * bounded(x))(jnp.float32(2.0))) < 1e13
        True
    """
    bound = float(jnp.finfo(x.dtype).max) ** (1 / 3)
    return paired(
        lambda _, changes: list(changes),
        lambda _, errors: [jnp.clip(errors[0], -bound, bound)],
        [],
        [x],
        [jax.typeof(x)],
    )[0]


class NeuralTuringMachine(Cell):
    """A controller that reads and writes a memory of N rows through H read and H write heads.

        h_t = cell([x_t, r_{t-1}])
        k, β, g, s, γ of each head, e, a of each write head = f(h_t P + b)
        w_t = address(M_{t-1}, w_{t-1}; k, β, g, s, γ)
        r_t = Σ_i w_t(i) M_{t-1}(i)                               for each read head
        M_t = M_{t-1} ⊙ Π (1 - w_t e) + Σ w_t a                   over the write heads
        y_t = [h_t, r_t]

    with the functions f: tanh for k and a, softplus for β, the sigmoid for g and e, softmax for the
    shifts s, and 1 + softplus for γ. `addressing` has the equations of the heads.

    All of the memory is 1e-6 at first, which Collier and Beel (2018) found to train fastest and
    most reliably. All heads start at row 0, so that rows differ from the first step on, and with
    γ ≈ 1.7: where heads are sharper at first, fewer seeds learn to copy, and go less far beyond the
    lengths of training. With g ≈ 0.12 they go by their place more than by content, which is the
    same in all rows as long as nothing is written. Write heads move on by a row per step at first,
    so that what is written does not replace what was before. Read heads stay, so that they are at
    the beginning when reading starts. That suits copying; where a head must look for what it reads,
    a machine learns sooner if it starts with larger `read_gate` and `strength`.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines.

    Shapes: x `(..., inputs)`; state `TuringState`; y `(..., units + H M)`.

    Example:
        >>> make = ostinato.cells.LSTM
        >>> cell = NeuralTuringMachine.of(make, 3, 16, rows=8, columns=5, key=jax.random.key(0))
        >>> ys, state = ostinato.unroll(cell, xs)
        >>> ys.shape, state.memory.shape, state.weightings.shape
        ((10, 4, 21), (4, 8, 5), (4, 2, 8))
    """

    gates: ClassVar[Gates] = {
        "heads, key": "tanh",
        "heads, gate": "sigmoid",
        "heads, erase": "sigmoid",
        "heads, add": "tanh",
    }
    blocks: ClassVar[Blocks] = {"P": ("heads (P)",)}

    cell: Cell
    P: jax.Array
    b: jax.Array
    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)
    shift: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        rows: int,
        columns: int,
        *,
        key: jax.Array,
        heads: int = 1,
        shift: int = 1,
        read_gate: float = BY_PLACE,
        write_gate: float = BY_PLACE,
        strength: float = 0.0,
        read_stay: float = STAY,
        read_onward: float = 0.0,
    ):
        """
        Args:
            cell: the controller, which reads vectors of the size of `x_t` plus `heads · columns`.
            rows, columns: N and M, the size of the memory.
            key: random key for the initial weights of the heads.
            heads: H, the number of read heads, and of write heads.
            shift: how many rows a head can move in a step, in both directions.
            read_gate, write_gate: the biases of g at first: above 0, heads go more by content than
                by place.
            strength: the bias of β at first.
            read_stay, read_onward: the biases at first of a read head's shift by no row and by one.
        """
        for name, value in {"rows": rows, "columns": columns, "heads": heads}.items():
            if not is_size(value):
                raise BadInput(f"{name} must be a whole number of at least 1, got {value!r}")
        if not (shift == 0 or is_size(shift)) or 2 * shift + 1 > rows:
            raise BadInput(
                f"shift must be a whole number from 0 to {(rows - 1) // 2}, less than half of the "
                f"{rows} rows, got {shift!r}"
            )
        starts = {"read_gate": read_gate, "write_gate": write_gate, "strength": strength}
        starts |= {"read_stay": read_stay, "read_onward": read_onward}
        for name, bias in starts.items():
            checked_float(name, bias)
        if not cell.can_step:
            raise BadInput(f"a controller needs a step, which {type(cell).__name__} has not")
        whole = input_size(cell)
        self.size = whole - heads * columns
        if self.size < 1:
            raise BadInput(
                f"the controller must read the input and {heads * columns} numbers from memory, "
                f"but it reads vectors of size {whole}"
            )
        self.cell, self.rows, self.columns = cell, rows, columns
        self.heads, self.shift = heads, shift
        count = 2 * heads * self._focus_size + 2 * heads * columns
        self.P = draw(glorot(), key, output_size(cell, whole), count)
        focus = zeros(2 * heads, self._focus_size).at[:, columns].set(strength)
        focus = focus.at[:heads, columns + 1].set(read_gate)
        focus = focus.at[heads:, columns + 1].set(write_gate)
        stay, onward = columns + 3 + shift, columns + 3 + min(shift + 1, 2 * shift)
        focus = focus.at[heads:, onward].set(ONWARD)
        focus = focus.at[:heads, onward].set(read_onward).at[:heads, stay].set(read_stay)
        self.b = jnp.concatenate([focus.reshape(-1), zeros(2 * heads * columns)])

    @classmethod
    def of(
        cls,
        make: Callable[..., Cell],
        inputs: int,
        units: int,
        *,
        rows: int,
        columns: int,
        key: jax.Array,
        heads: int = 1,
        **more: Any,
    ) -> "NeuralTuringMachine":
        """A machine for inputs of a size; its controller is `make(inputs, units, key=...)`.

        `more` are the other arguments of the constructor.
        """
        one, two = jax.random.split(key)
        cell = make(inputs + heads * columns, units, key=one)
        return cls(cell, rows, columns, key=two, heads=heads, **more)

    @property
    def _focus_size(self) -> int:
        return self.columns + 2 * self.shift + 4

    def vector_size(self) -> int:
        return self.size

    def initial(self, batch: tuple[int, ...]) -> TuringState:
        dtype = self.P.dtype
        first = jnp.zeros((*batch, 2 * self.heads, self.rows), dtype).at[..., 0].set(1)
        return TuringState(
            self.cell.initial(batch),
            jnp.full((*batch, self.rows, self.columns), CONSTANT, dtype),
            first,
            jnp.zeros((*batch, self.heads * self.columns), dtype),
        )

    def inputs(self, x: jax.Array) -> jax.Array:
        check_vectors(self, x, jax.ShapeDtypeStruct((self.size, 1), self.P.dtype))  # type: ignore
        return x

    def step(self, state: TuringState, u: jax.Array) -> tuple[TuringState, jax.Array]:
        cell, memory, weightings, reads = state
        memory, weightings, reads = bounded(memory), bounded(weightings), bounded(reads)
        both = jnp.concatenate([u.astype(reads.dtype), reads], axis=-1)
        cell, h = self.cell.step(cell, self.cell.inputs(both))
        focus, erased, added = self.commands(h)
        weightings = address(memory, weightings, focus)
        reads = read(memory, weightings[..., : self.heads, :])
        reads = reads.reshape(*reads.shape[:-2], -1)
        memory = write(memory, weightings[..., self.heads :, :], erased, added)
        return TuringState(cell, memory, weightings, reads), jnp.concatenate([h, reads], axis=-1)

    def commands(self, h: jax.Array) -> tuple[Focus, jax.Array, jax.Array]:
        """What the controller's output tells the heads: their focus, what to erase and to add."""
        given = h @ self.P + self.b
        heads, writers = jnp.split(given, [2 * self.heads * self._focus_size], axis=-1)
        heads = heads.reshape(*h.shape[:-1], 2 * self.heads, self._focus_size)
        key, strength, gate, sharpness, shifts = jnp.split(
            heads, [self.columns + n for n in (0, 1, 2, 3)], axis=-1
        )
        focus = Focus(
            jnp.tanh(key),
            jax.nn.softplus(strength[..., 0]),
            jax.nn.sigmoid(gate[..., 0]),
            jax.nn.softmax(shifts, axis=-1),
            1 + jax.nn.softplus(sharpness[..., 0]),
        )
        writers = writers.reshape(*h.shape[:-1], self.heads, 2 * self.columns)
        erased, added = jnp.split(writers, 2, axis=-1)
        return focus, jax.nn.sigmoid(erased), jnp.tanh(added)
