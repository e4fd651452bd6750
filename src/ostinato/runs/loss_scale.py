"""A training loss in the unit of its task's metric.

A loss is in nats, or half a squared error. What makes it the metric of a task is a factor, where
both measure the same thing; an accuracy has none.
"""

import math

FACTORS = {
    "bits per character": 1 / math.log(2),
    "bits per byte": 1 / math.log(2),
    "nats per step": 1.0,
    "mean squared error": 2.0,
}


def factor_to_metric(metric: str) -> float | None:
    """What a training loss is multiplied by to become the metric; `None` if nothing does that.

    Example:
        >>> factor_to_metric("mean squared error"), factor_to_metric("accuracy")
        (2.0, None)
    """
    return FACTORS.get(metric)


def shown_loss(loss: float | None, metric: str) -> str:
    """A training loss in words, with its unit.

    Example:
        >>> shown_loss(1.386, "bits per character"), shown_loss(0.6931, "accuracy")
        ('2.000 bits per character', 'loss 0.6931 nats')
    """
    factor = factor_to_metric(metric)
    if loss is None:
        return "loss not finite"
    if factor is None:
        return f"loss {loss:.4g} nats" if metric == "accuracy" else f"loss {loss:.4g}"
    value = factor * loss
    return f"{value:.3f} {metric}" if metric.startswith("bits") else f"{value:.4g} {metric}"
