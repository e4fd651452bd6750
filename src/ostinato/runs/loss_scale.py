"""Training losses on the scale of the task's metric."""


def shown_loss(loss: float | None, metric: str, factor: float | None) -> str:
    """A training loss as text, with its unit.

    Args:
        loss: the value that is minimised; `None` if it is not finite.
        metric: the name of the task's metric.
        factor: metric = factor × loss; `None` if they measure different things.

    Example:
        >>> shown_loss(1.386, "bits per character", 1 / math.log(2))
        '2.000 bits per character'
        >>> shown_loss(0.6931, "accuracy", None)
        'loss 0.6931'
    """
    if loss is None:
        return "loss not finite"
    if factor is None:
        return f"loss {loss:.4g}"
    value = factor * loss
    return f"{value:.3f} {metric}" if metric.startswith("bits") else f"{value:.4g} {metric}"
