"""Weight initialisers: functions `init(key, (rows, columns), dtype) -> array`.

Matrices act on row vectors, `h @ R`: a column holds the incoming weights of one unit.

Example:
    >>> recurrent = spectral_radius(1.1, incoming(15))
    >>> cell = ostinato.cells.Simple(10, 100, key=jax.random.key(0), recurrent=recurrent)
    >>> int(np.count_nonzero(cell.R[:, 0]))  # incoming weights of the first unit
    15

In a configuration an initialiser is a string, its name with its numbers: `fan-in`, `orthogonal`,
`normal:0.1`, `uniform:0.08`, `sparse:0.1,0.1`, `incoming:15`, `spectral-radius:1.1` or
`spectral-radius:1.1,incoming:15`. `initialiser` parses it.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..settings import as_words, setting, shown

Initialiser = Callable[[jax.Array, tuple[int, int], jnp.dtype], jax.Array]

# One program each, for any scale: loading small programs is most of what a start takes.
compiled = functools.partial(jax.jit, static_argnames=("shape", "dtype"))


@compiled
def _scaled_uniform(key: jax.Array, scale: Any, shape: tuple[int, int], dtype: Any) -> jax.Array:
    return scale * jax.random.uniform(key, shape, dtype, -1)


@compiled
def _scaled_orthogonal(key: jax.Array, scale: Any, shape: tuple[int, int], dtype: Any) -> jax.Array:
    exact = jnp.promote_types(dtype, jnp.float32)  # 16-bit floats have no QR decomposition
    return jax.nn.initializers.orthogonal(scale)(key, shape, exact).astype(dtype)


def normal(std: float = 0.1) -> Initialiser:
    """Every entry from N(0, std²).

    Krause (2015), sections 4.2 to 4.5, uses 0.1 for the input and output weights of the RNN and
    for all weights of the LSTM and mLSTM, and 0.05 for all weights of the mRNN.
    """

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        return float(std) * jax.random.normal(key, shape, dtype)

    return init


def uniform(limit: float = 0.08) -> Initialiser:
    """Every entry from U(-limit, limit).

    Sutskever et al. (2014) start translation so, with the limit 0.08 (Lipton et al., 2015,
    section 5.3).
    """

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        return jax.random.uniform(key, shape, dtype, -float(limit), float(limit))

    return init


def glorot() -> Initialiser:
    """Every entry from U(-a, a), `a = √(6 / (rows + columns))` (Glorot and Bengio, 2010)."""

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        limit = np.sqrt(3 * np.array(2 / sum(shape), dtype))
        return _scaled_uniform(key, limit, shape, dtype)

    return init


def fan_in(symbols: int = 0) -> Initialiser:
    """Every entry from N(0, s²), by how many inputs vary at the same time.

    For n inputs `s = 1/√n`, so that a unit receives the variance of one input (LeCun et al., 1998),
    but at most 0.6: a series of few numbers is learned better so. Of a one-hot vector a single
    entry is not zero: if the first `symbols` inputs are one, `s = 1` for their weights, and n is
    the number of the others. Measured by `benchmarks/defaults.py`.

    Example:
        >>> W = np.asarray(fan_in(65)(jax.random.key(0), (65 + 100, 512), jnp.float32))
        >>> [round(float(rows.std()), 2) for rows in (W[:65], W[65:])]
        [1.0, 0.1]
    """

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        others = max(shape[0] - symbols, 1)
        scale = np.where(np.arange(shape[0]) < symbols, 1.0, min(others**-0.5, 0.6))
        return jax.random.normal(key, shape, dtype) * scale[:, None].astype(dtype)

    return init


def orthogonal(gain: float = 1.0) -> Initialiser:
    """`gain` times a uniformly distributed orthogonal matrix (Saxe et al., 2013)."""

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        return _scaled_orthogonal(key, float(gain), shape, dtype)

    return init


def sparse(probability: float = 0.1, std: float = 0.1) -> Initialiser:
    """Each entry is nonzero with `probability`, and then from N(0, std²).

    The defaults are those of Krause (2015), section 4.2, for the recurrent weights of the RNN.
    """

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        which, value = jax.random.split(key)
        kept = jax.random.bernoulli(which, probability, shape)
        return kept * (std * jax.random.normal(value, shape, dtype))

    return init


def incoming(count: int = 15, std: float = 1.0) -> Initialiser:
    """`count` nonzero incoming weights per unit, from N(0, std²) (Martens, 2010)."""

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        rows, _ = shape
        if count > rows:
            raise BadInput(f"incoming({count}) needs at least {count} rows, got shape {shape}")
        which, value = jax.random.split(key)
        rank = jnp.argsort(jax.random.uniform(which, shape), axis=0)
        return (rank < count) * (std * jax.random.normal(value, shape, dtype))

    return init


def spectral_radius(radius: float, base: Initialiser | None = None) -> Initialiser:
    """A square matrix from `base` (default `normal(1)`), scaled to the given spectral radius.

    The spectral radius is the largest absolute eigenvalue.
    """
    base = normal(1.0) if base is None else base

    def init(key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
        if shape[0] != shape[1] or not shape[0]:
            raise BadInput(f"spectral_radius needs a square matrix, got shape {shape}")
        matrix = base(key, shape, dtype)
        if isinstance(matrix, jax.core.Tracer):
            # JAX computes eigenvalues of a general matrix on the CPU only, hence the callback.
            result = jax.ShapeDtypeStruct((), dtype)
            largest = jax.pure_callback(
                _largest_eigenvalue, result, matrix, vmap_method="sequential"
            )
        else:
            largest = jnp.asarray(_largest_eigenvalue(matrix))
            if largest == 0:
                raise BadInput(f"a matrix of spectral radius 0 cannot be scaled, shape {shape}")
        return matrix * (float(radius) / largest)

    return init


def _largest_eigenvalue(matrix: jax.Array) -> np.ndarray:
    largest = np.abs(np.linalg.eigvals(np.asarray(matrix, np.float64))).max()
    return largest.astype(matrix.dtype)


# The initialisers by the name that a configuration uses, with the kinds of their numbers.
INITIALISERS: dict[str, tuple[Callable[..., Initialiser], tuple[str, ...]]] = {
    "normal": (normal, ("deviation",)),
    "uniform": (uniform, ("limit",)),
    "glorot": (glorot, ()),
    "fan-in": (fan_in, ()),
    "orthogonal": (orthogonal, ("gain",)),
    "sparse": (sparse, ("probability", "deviation")),
    "incoming": (incoming, ("count", "deviation")),
    "spectral-radius": (spectral_radius, ("radius", "initialiser")),
}


def initialiser(words: str) -> Initialiser:
    """The initialiser that the words describe; numbers that are left out have their defaults.

    Example:
        >>> initialiser("normal:0.1")(jax.random.key(0), (2, 3), jnp.float32).shape
        (2, 3)
    """
    name, colon, numbers = words.partition(":")
    if name not in INITIALISERS:
        raise BadInput(
            f"there is no initialiser {shown(name)}; there are {', '.join(INITIALISERS)}"
        )
    make, kinds = INITIALISERS[name]
    given = numbers.split(",", maxsplit=max(len(kinds) - 1, 0)) if colon else []
    if colon and not kinds:
        raise BadInput(f"the initialiser {name} takes no number, got {as_words(words)}")
    if make is spectral_radius and not given:
        raise BadInput(f"the initialiser {name} needs its radius, as in {name}:1.1")
    return make(*(_number(words, kind, x) for kind, x in zip(kinds, given, strict=False)))


def _number(words: str, kind: str, given: str) -> Any:
    """A number of an initialiser, in range; or the initialiser that another one scales."""
    if kind == "initialiser":
        return initialiser(given)
    try:
        number = int(given) if kind == "count" else float(given)
    except ValueError:
        number = math.nan
    ranges = {"probability": (0, 1), "count": (1, 2**31 - 1)}
    low, high = ranges.get(kind, (0, 3.4e38))
    if not low <= number <= high:
        size = "whole number" if kind == "count" else "number"
        upper = f" to {high}" if kind == "probability" else " on"
        raise BadInput(
            f"the {kind} of an initialiser is a {size} from {low}{upper}, got {as_words(words)}"
        )
    return number


def initial(what: str) -> Any:
    """The setting of an initialiser."""
    return setting(None, f"initial {what}: {', '.join(INITIALISERS)}", read=initialiser)


@dataclasses.dataclass(frozen=True)
class InitialWeights:
    """The settings that most cells have: their initialisers, by default the cell's own."""

    input: str | None = initial("input weights")
    recurrent: str | None = initial("recurrent weights")
