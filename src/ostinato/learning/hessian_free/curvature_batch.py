"""The curvature batch: the part of a batch that curvature products use."""

import abc
import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from ...cells import Model
from ...data import Batch
from ...errors import BadInput
from ...settings import checked_int, setting
from ..gradients import Full
from ..hybrid import WHERE
from ..learner import Learner, Stepped
from ..objective import Objective
from .on_batch import OnBatch

DRAWS = ("fresh", "turn")


@dataclasses.dataclass(frozen=True)
class CurvatureSettings:
    """The settings of all learners with a curvature batch."""

    first_steps: int = setting(
        100, "steps of --first before the second-order learner takes over", min=1
    )
    turns: str = setting(
        "after",
        f"it takes over for good, or for one step when --first is stuck: {', '.join(WHERE)}",
        among=WHERE,
    )
    tikhonov: float | None = setting(None, "initial λ", min=0)
    curvature_batch: int | None = setting(
        None, "sequences for curvature products, ¼ of the batch", min=1
    )
    draw: str = setting(
        "fresh", f"how they are chosen, at random or in turn: {', '.join(DRAWS)}", among=DRAWS
    )
    chunk: int | None = setting(None, "sequences processed at once, to save memory", min=1)

    def sizes(self, batch: int, devices: int = 1) -> dict[str, Any]:
        """The options `curvature`, `draw` and `chunk` of a learner.

        Args:
            batch: the number of sequences per batch.
            devices: how many devices share it; `chunk` is what each of them processes at once.
        """
        size = curvature_size(self.curvature_batch, batch)
        if size % devices:
            even = devices * curvature_size(None, batch // devices)
            raise BadInput(
                f"{devices} devices cannot share a curvature batch of {size} sequences equally; "
                f"give for example --curvature-batch {even}"
            )
        for count in (batch // devices, size // devices):
            if self.chunk is not None and count > self.chunk and count % self.chunk:
                raise BadInput(
                    f"{count} sequences cannot be done {self.chunk} at a time; choose a chunk that "
                    "divides the batch and the curvature batch"
                )
        return {"curvature": size, "draw": self.draw, "chunk": self.chunk}


class Curved(Learner):
    """The base of learners with a curvature batch.

    Attributes:
        objective: what to minimise, in float32.
        curvature: sequences of the curvature batch; the whole batch by default.
        draw: how the curvature batch is chosen: `"fresh"` samples it at random, `"turn"` cycles
            through the parts of the batch.
        chunk: how many sequences to process at once, to save memory; the result is the same.
    """

    exact = True
    usual_batch = 1000
    log_every_step = True
    can_vmap = False
    splits_batch = True
    objective: Objective
    curvature: int | None
    draw: str

    def __post_init__(self) -> None:
        if self.curvature is not None:
            checked_int("curvature", self.curvature)
        if self.objective.compute is not None:
            raise BadInput(
                "a second-order learner needs float32, because lower precision ruins its curvature "
                f"products; got {self.objective.compute}"
            )

    def one_pass(self, network: Model, state: Any, batch: Batch) -> Any:
        """A gradient."""
        with jax.default_matmul_precision("highest"):
            return Full()(self.objective, network, batch, state)

    def step(self, network: Model, learner_state: Any, state: Any, batch: Batch) -> Stepped:
        with jax.default_matmul_precision("highest"):
            return self.exact_step(network, learner_state, state, batch)

    @abc.abstractmethod
    def exact_step(self, network: Model, learner_state: Any, state: Any, batch: Batch) -> Stepped:
        """`step`, with all products in full float32."""

    def whole_and_part(
        self, network: Model, batch: Batch, state: Any, step: jax.Array
    ) -> tuple[OnBatch, OnBatch]:
        """The objective on a batch, and on its curvature batch."""
        objective = self.objective
        size = self._curved(batch.sequences * objective.devices)
        part, before = curvature_batch(batch, state, size, self.draw, step, objective.axis)
        weights = objective.weights(batch, part)
        return (
            OnBatch.in_chunks(objective, network, batch, state, self.chunk, weights[0]),
            OnBatch.in_chunks(objective, network, part, before, self.chunk, weights[1]),
        )

    def _curved(self, batch: int) -> int:
        """The sequences of the curvature batch of a batch of this size."""
        return batch if self.curvature is None else self.curvature

    def chosen_values(self) -> dict[str, Any]:
        return {"curvature_batch": self.curvature}

    def advice(self, rate: float) -> str:
        return "a larger --batch, so that steps do not overfit it, or a larger --tikhonov"


def curvature_size(asked: int | None, batch: int) -> int:
    """The size of the curvature batch; by default the largest divisor up to a quarter of the batch.

    Example:
        >>> curvature_size(None, 1000)
        250
    """
    if asked is None:
        small = [n for n in range(1, math.isqrt(batch) + 1) if batch % n == 0]
        divisors = small + [batch // n for n in small]
        return max(n for n in divisors if n <= max(batch // 4, 1))
    if asked > batch or batch % asked:
        raise BadInput(f"curvature_batch must divide the batch of {batch} sequences, got {asked}")
    return asked


def curvature_batch(
    batch: Batch, state: Any, size: int, draw: str, step: jax.Array, axis: str | None = None
) -> tuple[Batch, Any]:
    """Choose `size` sequences of a batch; returns them and their states.

    The batch is divided into `size` groups of k neighbours, and each group gives one sequence:
    `"fresh"` takes one at random, `"turn"` number `step mod k`, so that k steps use every sequence.
    If devices share the batch, each chooses among its own sequences what one device would choose.

    Args:
        batch: B sequences, `(T, B, ...)`; `size` must divide B.
        state: their states before the batch, arrays `(B, ...)`.
        size: how many sequences to choose.
        draw: `"fresh"` or `"turn"`.
        step: the number of the step; the choice depends on nothing else.
        axis: that of the devices that share the batch; see `Objective`.
    """
    devices = 1 if axis is None else jax.lax.axis_size(axis)
    whole = batch.sequences * devices
    if size > whole or whole % size:
        raise BadInput(
            f"the curvature batch must divide the batch of {whole} sequences, got {size}"
        )
    k = whole // size
    if k == 1:
        return batch, state
    which = jnp.full(size, step % k)
    if draw == "fresh":
        which = jax.random.randint(jax.random.fold_in(jax.random.key(0), step), (size,), 0, k)
    if axis is not None:
        size //= devices
        which = jax.lax.dynamic_slice_in_dim(which, jax.lax.axis_index(axis) * size, size)

    def take(x: Any, axis: int) -> jax.Array:
        x = jnp.asarray(x)
        groups = x.reshape(*x.shape[:axis], size, k, *x.shape[axis + 1 :])
        index = which.reshape(*(1,) * axis, size, *(1,) * (groups.ndim - axis - 1))
        return jnp.squeeze(jnp.take_along_axis(groups, index, axis + 1), axis + 1)

    return batch.over_sequences(take), jax.tree.map(lambda x: take(x, 0), state)
