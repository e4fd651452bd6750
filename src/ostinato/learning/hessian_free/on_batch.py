"""The objective on a batch as a function of a flat parameter vector θ, and its curvature.

    value          f(θ), the mean loss
    gradient       ∇f(θ), by the engine
    gauss_newton   G v = Jᵀ H_L J v: J by the tangent scan, the loss's Hessian H_L in closed form,
                   Jᵀ by the cotangent scan; the network is linearised once
    hessian        H v, the exact Hessian

Structural damping adds a second matrix S to the Gauss-Newton product without an extra scan. It has
two forms, both positive semidefinite:

    pre-activation   S = J_aᵀ D J_a    a: all recurrent pre-activations; D: the slope of the state
                     with respect to each, diag(1 - h²) for tanh units: Krause (2015), (3.28), as
                     printed
    activation       S = J_hᵀ J_h      h: all arrays of the state; the Gauss-Newton matrix of
                     ½‖Δh‖², which the text of Krause (2015) describes

All are sums over sequences divided by the same Σ w, so a batch can be processed in pieces, exactly.
Sources: Krause (2015), sections 3.3.2 and 3.3.3; Schraudolph (2002); Martens and Sutskever (2011).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from ...cells import Model
from ...data import Batch
from ...errors import BadInput
from ...weights import as_reals, from_reals, trained
from ..clipping import norms_of
from ..objective import Objective

FORMS = {"pre-activation": "products", "activation": "states"}
Product = Callable[..., jax.Array]


@dataclasses.dataclass(frozen=True)
class OnBatch:
    """An objective on a batch.

    Attributes:
        objective: what to minimise.
        network: everything but the parameters. Noise is part of it, and so is fixed.
        batch: the sequences.
        state: the network's state before them.
        pieces: process the sequences in this many parts, one after the other, to save memory. Every
            Gauss-Newton product then linearises each part again.
        weight: what totals over all sequences are divided by; by default those of the batch. If
            devices share it, vectors and numbers that the methods return are over all of them.

    Example:
        >>> from ostinato.losses import SquaredError
        >>> batch = Batch(xs, ys, np.ones((10, 4)))
        >>> f = OnBatch(Objective(SquaredError()), network, batch, None)
        >>> v = np.ones_like(f.start)
        >>> product = jax.jit(lambda v: f.gauss_newton(f.start)(v))
        >>> bool(v @ np.asarray(product(v)) >= 0)
        True
    """

    objective: Objective
    network: Model
    batch: Batch
    state: Any
    pieces: int = 1
    weight: jax.Array | None = None

    @classmethod
    def in_chunks(
        cls,
        objective: Objective,
        network: Model,
        batch: Batch,
        state: Any,
        chunk: int | None,
        weight: jax.Array | None = None,
    ) -> "OnBatch":
        """The objective on a batch that is processed `chunk` sequences at a time."""
        size = batch.sequences
        if chunk is None or chunk >= size:
            return cls(objective, network, batch, state, 1, weight)
        if size % chunk:
            raise BadInput(
                f"a batch of {size} sequences cannot be done {chunk} at a time; choose a chunk "
                "that divides it"
            )
        return cls(objective, network, batch, state, size // chunk, weight)

    @property
    def start(self) -> jax.Array:
        """The network's own parameters as a vector; a complex number is two of its entries."""
        return ravel_pytree(as_reals(trained(self.network)[0]))[0]

    def at(self, flat: jax.Array) -> Any:
        """The network with other parameters."""
        parameters, rest = trained(self.network)
        reals = ravel_pytree(as_reals(parameters))[1](flat)
        return eqx.combine(from_reals(reals, parameters), rest)

    def norms(self, vector: jax.Array) -> jax.Array:
        """The norm of each parameter's part of a vector, in the order of the network's leaves."""
        return norms_of(trained(self.at(vector))[0])[0]

    def value(self, flat: jax.Array) -> jax.Array:
        """`f(θ)`."""
        return self._summed(lambda batch, state: (self._part(flat, batch, state)[0], ()))[0]

    def gradient(self, flat: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        """`f(θ)`, `∇f(θ)` and the state after the batch."""

        def one(batch: Batch, state: Any) -> tuple[Any, Any]:
            part = jax.value_and_grad(self._part, has_aux=True)
            (value, final), gradient = part(flat, batch, state)
            return (value, gradient), final

        (value, gradient), final = self._summed(one)
        return value, gradient, final

    def gauss_newton(self, flat: jax.Array, form: str | None = None) -> Product:
        """The function `(v, weight) -> (G + weight · S) v`, with S in the given form."""
        if self.pieces == 1:
            own = self._linearised(flat, form, self.batch, self.state)
            return lambda v, weight=0.0: self.objective.summed(own(v, weight))

        def product(v: jax.Array, weight: jax.Array | float = 0.0) -> jax.Array:
            def one(batch: Batch, state: Any) -> tuple[jax.Array, Any]:
                return self._linearised(flat, form, batch, state)(v, weight), ()

            return self._summed(one)[0]

        return product

    def hessian(self, flat: jax.Array) -> Product:
        """The function `v -> H v`, exact."""
        if self.pieces == 1:
            return jax.linearize(lambda flat: self.gradient(flat)[1], flat)[1]
        return lambda v: jax.jvp(lambda flat: self.gradient(flat)[1], (flat,), (v,))[1]

    def squares(self, flat: jax.Array, together: int = 32) -> jax.Array:
        """The mean over sequences of their squared gradients: an estimate of the diagonal of G."""
        own = self.batch.sequences
        groups = next(own // n for n in range(min(together, own), 0, -1) if own % n == 0)
        size = own * self.objective.devices

        def one(sequence: Batch, state: Any) -> jax.Array:
            sequence = sequence.over_sequences(jnp.expand_dims)
            state = jax.tree.map(lambda x: x[None], state)
            return jax.grad(lambda flat: self._part(flat, sequence, state)[0])(flat)

        def group(batch: Batch, state: Any) -> tuple[jax.Array, Any]:
            axes = batch.over_sequences(lambda x, axis: axis)
            gradients = jax.vmap(one, in_axes=(axes, 0))(batch, state)
            return jnp.sum((size * gradients) ** 2, axis=0) / size, ()

        return dataclasses.replace(self, pieces=groups)._summed(group)[0]

    def _part(self, flat: jax.Array, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The contribution of some sequences to `f`, and their final state."""
        outputs, final = self.objective.outputs(self.at(flat), batch, state)
        return self.objective.loss.total(outputs, batch) / self._total, final

    def _linearised(self, flat: jax.Array, form: str | None, batch: Batch, state: Any) -> Product:
        watch = None if form is None else FORMS[form]

        def run(flat: jax.Array) -> Any:
            outputs, _ = self.objective.outputs(self.at(flat), batch, state, watch)
            if watch is None:
                return outputs, []
            outputs, watched = outputs
            return outputs, jax.tree.leaves(as_reals(watched))

        (outputs, _), push = jax.linearize(run, flat)
        pull = jax.linear_transpose(push, flat)
        hessian = self.objective.loss.hessian(outputs, batch)
        slopes = None
        if form == "pre-activation":
            (_, slopes), _ = self.objective.outputs(self.at(flat), batch, state, "slopes")

        def product(v: jax.Array, weight: jax.Array | float = 0.0) -> jax.Array:
            d_outputs, changes = push(v)
            weight = weight / self._total
            if slopes is not None:
                changes = [a * d for a, d in zip(slopes, changes, strict=True)]
            errors = (hessian(d_outputs) / self._total).astype(d_outputs.dtype)
            damping = [(weight * d).astype(d.dtype) for d in changes]
            return pull((errors, damping))[0]

        return product

    @property
    def _total(self) -> jax.Array:
        return self.objective.loss.weight(self.batch) if self.weight is None else self.weight

    def _summed(self, one: Callable) -> tuple[Any, Any]:
        """`one(batch, state) -> (sum, state)` over all pieces: adds the sums, joins the states.

        Of n pieces, piece j has the sequences j, j + n, j + 2n, …
        """
        if self.pieces == 1:
            total, final = one(self.batch.arrays, self.state)
            return self.objective.summed(total), final
        batch = self.batch.arrays.over_sequences(lambda x, axis: _cut(x, axis, self.pieces))
        state = jax.tree.map(lambda x: _cut(x, 0, self.pieces), self.state)
        first = jax.tree.map(lambda x: x[0], (batch, state))
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(one, *first)[0])

        def add(total: Any, piece: Any) -> tuple[Any, Any]:
            summand, final = one(*piece)
            return jax.tree.map(jnp.add, total, summand), final

        total, finals = jax.lax.scan(add, zeros, (batch, state))
        return self.objective.summed(total), jax.tree.map(_joined, finals)


def _cut(x: Any, axis: int, pieces: int) -> jax.Array:
    """Split an axis into `pieces` interleaved parts, on a new leading axis."""
    shape = (*x.shape[:axis], -1, pieces, *x.shape[axis + 1 :])
    return jnp.moveaxis(jnp.asarray(x).reshape(shape), axis + 1, 0)


def _joined(x: jax.Array) -> jax.Array:
    """Undo `_cut` of axis 0: `(n, size, ...)` to `(size · n, ...)`."""
    return jnp.moveaxis(x, 0, 1).reshape(-1, *x.shape[2:])
