"""Conjugate gradient against dense solves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.learning import hessian_free
from ostinato.learning.hessian_free import REASONS, Damping
from ostinato.learning.hessian_free.conjugate_gradient import kept_iterations
from ostinato.learning.hessian_free.damping import Adapted, by_iteration


def problem(size=12, rank=None, seed=0):
    random = np.random.default_rng(seed)
    factor = random.standard_normal((size, rank or size))
    B = factor @ factor.T + (0 if rank else 0.1) * np.eye(size)
    return B, B @ random.standard_normal(size)  # solvable, of full rank or not


def conjugate_gradient(product, g, start, **options):
    """The solution in NumPy, from one compiled program."""

    @jax.jit
    def solve(g, start):
        return hessian_free.conjugate_gradient(product, g, start, **options)

    return jax.device_get(solve(g, start))


def why(solution) -> str:
    return REASONS[int(solution.reason)]


def value(B, g, x):
    return 0.5 * x @ B @ x + g @ x


@pytest.mark.parametrize("preconditioned", [False, True])
def test_a_dense_solve(preconditioned):
    B, g = problem()
    diagonal = np.diag(B) ** 0.75 if preconditioned else None
    found = conjugate_gradient(
        lambda v: B @ v, g, np.zeros(12), iterations=40, tolerance=0.0, diagonal=diagonal
    )
    x = found.iterates[found.last]
    np.testing.assert_allclose(x, -np.linalg.solve(B, g), rtol=1e-8)
    np.testing.assert_allclose(found.values[found.done], value(B, g, x), rtol=1e-10)


def test_at_most_as_many_iterations_as_unknowns():
    B, g = problem(size=6)
    found = conjugate_gradient(lambda v: B @ v, g, np.zeros(6), iterations=6, tolerance=0.0)
    np.testing.assert_allclose(found.iterates[found.last], -np.linalg.solve(B, g), rtol=1e-8)


def test_of_low_rank_it_takes_as_many_as_the_rank():
    B, g = problem(rank=3)
    found = conjugate_gradient(lambda v: B @ v, g, np.zeros(12), iterations=50, tolerance=0.0)
    least = value(B, g, -np.linalg.lstsq(B, g)[0])
    np.testing.assert_allclose(found.values[3], least, rtol=1e-12)
    assert abs(found.values[2] - least) > 1e-6 * abs(least)
    # What is left then are rounding errors, which end it a few iterations later, perhaps because
    # their direction has no curvature.
    assert why(found) in ("solved", "curvature") and found.done < 12
    np.testing.assert_allclose(B @ found.iterates[found.last], -g, rtol=1e-8)


def test_values_are_the_quadratic_at_the_iterates():
    """At every iteration, seen by an observer that adds up the steps."""
    B, g = problem()
    start = 0.01 * -g
    at = jnp.asarray(np.concatenate([start[None], np.zeros((8, 12))]))

    def observe(now, taken):
        i, at = now
        return (i + 1, at.at[i + 1].set(at[i] + taken.step)), False

    found = conjugate_gradient(
        lambda v: B @ v, g, start, iterations=8, tolerance=0.0, observe=observe, observed=(0, at)
    )
    for q, x in zip(found.values, found.observed[1], strict=True):
        np.testing.assert_allclose(q, value(B, g, x), rtol=1e-10)
    assert (np.diff(found.values) < 0).all()
    for iterate, i in zip(found.iterates, kept_iterations(8), strict=True):
        np.testing.assert_allclose(iterate, found.observed[1][i], rtol=1e-10)


def test_kept_iterations():
    assert kept_iterations(1).tolist() == [1]
    assert kept_iterations(10).tolist() == [1, 2, 3, 4, 6, 7, 10]
    kept = kept_iterations(300)
    assert kept[-1] == 300 and len(kept) < 25 and (np.diff(kept) > 0).all()


def test_a_start_that_is_worse_than_none_is_dropped():
    B, g = problem()
    solution = -np.linalg.solve(B, g)
    good = conjugate_gradient(lambda v: B @ v, g, 0.9 * solution, iterations=2, tolerance=0.0)
    bad = conjugate_gradient(lambda v: B @ v, g, -5 * solution, iterations=2, tolerance=0.0)
    none = conjugate_gradient(lambda v: B @ v, g, 0 * solution, iterations=2, tolerance=0.0)
    assert good.values[0] < none.values[2]
    np.testing.assert_array_equal(bad.values, none.values)
    np.testing.assert_array_equal(bad.iterates, none.iterates)


def test_reasons():
    B, g = problem()
    zero = np.zeros(12)
    assert why(conjugate_gradient(lambda v: B @ v, g, zero, iterations=3)) == "limit"
    assert why(conjugate_gradient(lambda v: B @ v, 0 * g, zero)) == "solved"
    slow = conjugate_gradient(lambda v: B @ v, g, zero, tolerance=0.1, window=2)
    assert why(slow) == "progress" and 2 < slow.done < 12
    gained = (slow.values[slow.done] - slow.values[slow.done - 2]) / slow.values[slow.done]
    assert 0 < gained < 0.2
    assert why(conjugate_gradient(lambda v: -(B @ v), g, zero)) == "curvature"
    stopped = conjugate_gradient(
        lambda v: B @ v, g, zero, observe=lambda n, taken: (n + 1, n + 1 == 3), observed=0
    )
    assert why(stopped) == "observer" and stopped.done == 3


def test_a_product_that_turns_nan_is_noticed_and_its_step_not_taken():
    B, g = problem()

    def product(v):
        return jnp.where(jnp.linalg.norm(v) < first, jnp.nan, B @ v)

    first = 0.0
    whole = conjugate_gradient(product, g, np.zeros(12), tolerance=0.0)
    first = 0.9 * np.linalg.norm(g)  # the directions get shorter: the first still passes
    found = conjugate_gradient(product, g, np.zeros(12), tolerance=0.0)
    assert why(found) == "not finite" and 1 < found.done < whole.done
    assert np.isfinite(found.iterates).all()
    np.testing.assert_array_equal(found.iterates[found.last], whole.iterates[found.done - 2])


@pytest.mark.parametrize(
    ("curvature", "done", "scale"), [(3.0, 3, 1.5**3), (1.5, 6, 1.0), (1.0, 6, (2 / 3) ** 6)]
)
def test_damping_adapted_by_iteration_on_a_quadratic(curvature, done, scale):
    """f has `curvature` times the quadratic's own: ρ(i) is then 2 minus that, at every iterate.

    Below ¼ the scale grows by 3/2, and the run ends at three times what it was: (3/2)³ ≥ 3.
    """
    B, g = problem(size=6)
    seen = []

    def change(x):
        return value(curvature * B, g, x)

    observe = by_iteration(Damping(), jnp.asarray(1.0), change, lambda taken: taken.q)

    def noting(now, taken):
        new, stop = observe(now, taken)
        jax.debug.callback(lambda x: seen.append(float(x)), change(taken.x) / taken.q)
        return new, stop

    start = Adapted(jnp.asarray(1.0), jnp.asarray(0))
    found = conjugate_gradient(
        lambda v: B @ v, g, np.zeros(6), iterations=6, tolerance=0.0, observe=noting,
        observed=start,
    )  # fmt: skip
    jax.effects_barrier()
    np.testing.assert_allclose(seen, 2 - curvature, rtol=1e-6)
    assert found.done == done == found.observed.evaluations
    assert (why(found) == "observer") == (done == 3)
    np.testing.assert_allclose(found.observed.scale, scale)


def test_many_at_once():
    """Under vmap each problem stops by itself."""
    pairs = [problem(seed=1), problem(rank=2, seed=2)]
    B, g = (np.stack(x) for x in zip(*pairs, strict=True))

    def solve(B, g):
        return hessian_free.conjugate_gradient(
            lambda v: B @ v, g, np.zeros(12), tolerance=1e-3, window=2
        )

    both = jax.device_get(jax.jit(jax.vmap(solve))(B, g))
    solve = jax.jit(solve)
    assert both.done[0] != both.done[1]
    for i in range(2):
        alone = jax.device_get(solve(B[i], g[i]))
        assert both.done[i] == alone.done and both.reason[i] == alone.reason
        np.testing.assert_allclose(both.iterates[i][both.last[i]], alone.iterates[alone.last])
