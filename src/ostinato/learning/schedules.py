"""What changes with the step of a run: the learning rate, and the length of the sequences.

Schedules of the rate are a factor for every step, between 0 and 1 but for `adaptive`:

    constant       1
    step           halved after every quarter of the run
    exponential    decays exponentially to 1 % at the end
    linear         decays linearly to 0 at the end
    cosine         decays to 0 at the end along half a cosine
    halving        halved twice per epoch after the first five epochs; `halving:3,4` four times per
                   epoch after the first three
    plateau        halved after two consecutive validations without improvement
    adaptive       the same, and raised by a tenth after every validation with improvement
    line-search    chosen in every step by a backtracking line search, for large batches

The first six depend only on the step. Source: Galvan (2015), section 1.5, for all but `step`,
`cosine` and `halving`, which is that of Sutskever et al. (2014), cited by Lipton et al. (2015),
section 5.3.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import jax
import jax.numpy as jnp

from ..errors import BadInput
from ..settings import as_words, shown
from ..tasks import Task

BY_STEP = ("constant", "step", "exponential", "linear", "cosine", "halving")
SCHEDULES = (*BY_STEP, "plateau", "adaptive", "line-search")
STAGES = 5  # of a curriculum from short to long sequences


def factor(
    name: str, steps: int, warmup: int = 0, epoch: float | None = None
) -> Callable[[jax.Array], jax.Array]:
    """The factor of a schedule as a function of the step, with a linear warmup from zero.

    Args:
        name: the schedule.
        steps: of the run.
        warmup: of them, those over which the rate rises.
        epoch: the steps of an epoch, which only `halving` needs.

    Example:
        >>> float(factor("linear", 100)(50))
        0.5
    """
    kind, colon, numbers = str(name).partition(":")
    if kind not in SCHEDULES or (colon and kind != "halving"):
        raise BadInput(f"there is no schedule {shown(name)}; there are {', '.join(SCHEDULES)}")
    if warmup < 0 or steps < 1:
        raise BadInput(
            f"a schedule needs at least 1 step and a warmup of at least 0, got {steps} and {warmup}"
        )
    if kind == "halving" and epoch is None:
        raise BadInput("the schedule halving counts epochs, and there is no length of an epoch")
    after, times = _halving(numbers if colon else "5,2")
    import optax  # late, because only training needs it

    def halvings(step: jax.Array) -> jax.Array:
        late = step / (epoch or 1.0) - after
        return jnp.where(late >= 0, jnp.floor(times * late) + 1, 0)

    quarters = {max(1, steps * k // 4): 0.5 for k in (1, 2, 3)}
    follow = {
        "step": optax.piecewise_constant_schedule(1.0, quarters),
        "exponential": optax.exponential_decay(1.0, steps, 0.01),
        "linear": optax.linear_schedule(1.0, 0.0, steps),
        "cosine": optax.cosine_decay_schedule(1.0, steps),
        "halving": lambda step: jnp.exp2(-halvings(step)),
    }.get(kind, optax.constant_schedule(1.0))

    def at(step: jax.Array) -> jax.Array:
        rise = jnp.minimum(1.0, (step + 1) / warmup) if warmup else 1.0
        return follow(step) * rise

    return at


def _halving(numbers: str) -> tuple[float, float]:
    """After how many epochs the rate is halved, and how many times per epoch from there on."""
    try:
        after, times = map(float, numbers.split(","))
    except ValueError:
        after = times = -1.0
    if not (0 <= after < 1e9 and 0 < times < 1e9):
        raise BadInput(
            "the schedule halving has a number of epochs before the first halving and one of "
            f"halvings per epoch, as in halving:5,2; got {as_words('halving:' + numbers)}"
        )
    return after, times


def length_at(step: int, steps: int, first: int, last: int) -> int:
    """The length of sequences: five stages in the first half of the run, then the full length.

    The lengths grow geometrically from `first` to `last`. There are only five stages because every
    new length is a new compilation.

    Example:
        >>> [length_at(s, 100, 10, 160) for s in (0, 10, 20, 30, 40, 50)]
        [10, 20, 40, 80, 160, 160]
    """
    if not 1 <= first <= last:
        raise BadInput(f"lengths must rise from 1 or more, got {first} to {last}")
    stage = min(STAGES - 1, 2 * STAGES * step // max(1, steps))
    return round(first * (last / first) ** (stage / (STAGES - 1)))


def epochs(task: Task, size: int, done: int, steps: int, first: int | None = None) -> float | None:
    """How many epochs the steps of a run that are done make; `None` if its data are unlimited.

    Args:
        task: with the training data.
        size: sequences per batch.
        done: of `steps`, those of the whole run.
        first: the initial length of a curriculum, if there is one.
    """
    begins = [0, done]
    if first is not None:  # a new stage begins at every tenth of the run
        begins = [-(-stage * max(1, steps) // (2 * STAGES)) for stage in range(STAGES)]
        begins = [*(begin for begin in begins if begin < done), done]
    counts: Counter[int] = Counter()
    for begin, end in pairwise(begins):
        length = task.length if first is None else length_at(begin, steps, first, task.length)
        counts[length] += end - begin
    each = [task.epochs(count, size, length) for length, count in counts.items()]
    known = [count for count in each if count is not None]
    return sum(known) if len(known) == len(each) else None
