"""Random sparse matrices whose products are fast."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells.building import is_size
from ..errors import BadInput
from ..memory import check_memory

BLOCK = 16  # the most units of a block
FEWEST = 5  # blocks that a block reads, if the connectivity allows
DENSE_BELOW = 400  # units up to which all eigenvalues are computed
OUTERMOST = 6  # eigenvalues that are computed of a larger matrix
KRYLOV = 80  # vectors of an Arnoldi iteration; with 20 it misses the largest of 1,000 at times
TIP = "fewer --units"


class BlockSparse(eqx.Module):
    """A square matrix R of random blocks, most of which are zero: `h @ R`.

    The units are in blocks of up to 16 neighbours, and each block reads the same number of other
    blocks, chosen at random; the weights within are independent. A product gathers whole blocks and
    multiplies them in one batched product. For 1,000 units of which each reads 100 that is several
    times as fast as a gather of single weights or a dense product. In a small matrix a block is
    one unit, so that the connections are independent.

    On a GPU the product is dense.

    Shapes: h `(..., units)`; `blocks` `(groups, reads * size, size)`; `reads` `(groups, reads)`.

    Example:
        >>> R = BlockSparse.random(jax.random.key(0), 500, 0.1)
        >>> h = np.ones((4, 500), np.float32)
        >>> (h @ R).shape, np.allclose(h @ R, h @ np.asarray(R.dense()), atol=1e-4)
        ((4, 500), True)
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave products to `__rmatmul__`

    blocks: jax.Array
    reads: jax.Array
    units: int = eqx.field(static=True)

    @classmethod
    def random(cls, key: jax.Array, units: int, connectivity: float) -> "BlockSparse":
        """Weights from N(0, 1); a unit reads about `connectivity * units` others."""
        if not is_size(units):
            raise BadInput(f"the units must be a positive whole number, got {units!r}")
        if not 0 < connectivity <= 1:
            raise BadInput(f"connectivity must be above 0 and at most 1, got {connectivity}")
        incoming = max(1, round(connectivity * units))
        size = min(max(incoming // FEWEST, 1), BLOCK)
        groups = -(-units // size)
        count = min(max(round(incoming / size), 1), groups)
        number = jnp.result_type(float).itemsize
        parts = {"weights": number * groups * count * size**2, "random order": number * groups**2}
        check_memory(parts, {"weights": TIP, "random order": TIP})
        which, value = jax.random.split(key)
        order = jnp.argsort(jax.random.uniform(which, (groups, groups)), axis=1)
        reads = jnp.sort(order[:, :count], axis=1)
        dtype = jnp.result_type(float)
        blocks = jax.random.normal(value, (groups, count * size, size), dtype)
        # The last block may be larger than what is left: its surplus is neither read nor written.
        at = reads[:, :, None] * size + jnp.arange(size)
        written = jnp.arange(groups * size).reshape(groups, size)
        real = (at.reshape(groups, -1) < units)[:, :, None] & (written < units)[:, None]
        return cls(blocks * real, reads, units)

    @property
    def shape(self) -> tuple[int, int]:
        return self.units, self.units

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> Any:
        return self.blocks.dtype

    @property
    def T(self) -> jax.Array:
        return self.dense().T

    def __rmatmul__(self, h: jax.Array) -> jax.Array:
        h = jnp.asarray(h)
        if jax.default_backend() != "cpu":
            return h @ self.dense()
        groups, _, size = self.blocks.shape
        batch, surplus = h.shape[:-1], groups * size - self.units
        if surplus:
            h = jnp.pad(h, [(0, 0)] * len(batch) + [(0, surplus)])
        read = h.reshape(*batch, groups, size)[..., self.reads, :].reshape(*batch, groups, -1)
        sums = jnp.einsum("...gi,gio->...go", read, self.blocks)
        return sums.reshape(*batch, groups * size)[..., : self.units]

    def __mul__(self, factor: Any) -> "BlockSparse":
        return BlockSparse(self.blocks * factor, self.reads, self.units)

    def dense(self) -> jax.Array:
        """The matrix `(units, units)`; a column holds the incoming weights of one unit."""
        groups, _, size = self.blocks.shape
        rows = (self.reads[:, :, None] * size + jnp.arange(size)).reshape(groups, -1)
        columns = jnp.arange(groups * size).reshape(groups, 1, size)
        whole = jnp.zeros((groups * size,) * 2, self.dtype)
        whole = whole.at[rows[:, :, None], columns].set(self.blocks)
        return whole[: self.units, : self.units]

    def outermost(self) -> np.ndarray:
        """The six eigenvalues of largest absolute value, the largest first: complex `(6,)`.

        Example:
            >>> R = BlockSparse.random(jax.random.key(0), 500, 0.1).with_radius(0.9)
            >>> round(abs(R.outermost()[0]).item(), 3)
            0.9
        """
        return _outermost(self.dense())

    def with_signs(self, signs: jax.Array) -> "BlockSparse":
        """The matrix in which all outgoing weights of a unit have its sign, `(units,)`."""
        groups, _, size = self.blocks.shape
        padded = jnp.pad(signs, (0, groups * size - self.units)).reshape(groups, size)
        rows = padded[self.reads].reshape(groups, -1)
        return BlockSparse(jnp.abs(self.blocks) * rows[:, :, None], self.reads, self.units)

    def with_radius(self, radius: Any) -> "BlockSparse":
        """The matrix scaled to a spectral radius."""
        check_memory({"spectral radius": 8 * self.units**2}, {"spectral radius": TIP})
        whole = self.dense()
        if isinstance(whole, jax.core.Tracer):
            # JAX computes eigenvalues of a general matrix on the CPU only, hence the callback. It
            # is in float32 because JAX calls it in a thread that may not have float64 enabled.
            result, whole = jax.ShapeDtypeStruct((), jnp.float32), whole.astype(jnp.float32)
            largest = jax.pure_callback(_radius, result, whole, vmap_method="sequential")
            largest = largest.astype(self.dtype)
        else:
            largest = jnp.asarray(_radius(whole))
        return self * (radius / jnp.maximum(largest, jnp.finfo(self.dtype).tiny))


def _radius(matrix: Any) -> np.ndarray:
    """The largest absolute eigenvalue."""
    return np.asarray(np.abs(_outermost(matrix)[0]), matrix.dtype)


def _outermost(matrix: Any) -> np.ndarray:
    """The `OUTERMOST` eigenvalues, the largest first: of a large matrix by Arnoldi iterations."""
    whole = np.asarray(matrix, np.float64)
    units, eigenvalues = len(whole), None
    if units > DENSE_BELOW:
        import scipy.sparse.linalg  # slow, and only needed here

        try:
            eigenvalues = scipy.sparse.linalg.eigs(
                scipy.sparse.csr_matrix(whole),
                OUTERMOST,
                ncv=KRYLOV,
                v0=np.ones(units),
                return_eigenvectors=False,
            )
        except scipy.sparse.linalg.ArpackError:
            pass  # not converged
    if eigenvalues is None:
        eigenvalues = np.linalg.eigvals(whole)
    return eigenvalues[np.argsort(-np.abs(eigenvalues))][:OUTERMOST].astype(complex)
