"""Linear systems solved by a fixed sequence of arithmetic, for programs without a LAPACK."""

import jax
import jax.numpy as jnp

UNKNOWNS = 32  # beyond that the steps fill pages of code and the stack of a small machine


def eliminated(A: jax.Array, b: jax.Array) -> jax.Array:
    """The solution x of `A x = b`, by elimination according to Gauss and Jordan.

    Step k takes the row with the largest number in column k among those not yet taken, divides it
    by that number and subtracts multiples of it from all other rows, until column k has a single 1
    in it. No row moves: which one was taken is a vector of zeros and a one. So nothing depends on
    an index that is computed, and what is done is the same for every A.

    Args:
        A: an (n, n) matrix.
        b: a (columns, n) matrix, a right-hand side in each row.

    Returns:
        A (columns, n) matrix.

    Example:
        >>> A = jnp.array([[0.0, 2.0], [4.0, 1.0]])
        >>> eliminated(A, jnp.array([[2.0, 9.0]])).tolist()
        [[2.0, 1.0]]
    """
    size = len(A)
    places, free = jnp.arange(size), jnp.ones(size, bool)
    rows = jnp.concatenate([A, b.T], axis=1)  # a row of A and its right-hand sides
    solution = []
    for k in range(size):
        column = rows[:, k]
        large = jnp.where(free, jnp.abs(column), -1)
        first = jnp.where(large == large.max(), places, size).min()  # of equally large ones
        taken = places == first
        one = taken.astype(A.dtype)
        row = (one @ rows) / (one @ column)
        rows = rows - (column - one)[:, None] * row
        free = free & ~taken
        solution.append(one)
    return (jnp.stack(solution) @ rows[:, size:]).T
