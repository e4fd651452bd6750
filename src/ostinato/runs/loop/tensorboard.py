"""TensorBoard output; needs the extra `tensorboard`."""

from collections.abc import Callable
from pathlib import Path

from ...errors import NeedsExtra


def tensorboard_writer(folder: str | Path) -> Callable[[dict], None]:
    """A listener that writes the metrics and previews of a training run for TensorBoard.

    Example:
        >>> config = Config(task="adding", length=10, units=8, steps=2)
        >>> run = train(config, "runs/one", listener=tensorboard_writer("runs/one/tensorboard"))
        >>> [path.name.split(".")[0] for path in (run.path / "tensorboard").iterdir()]
        ['events']
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise NeedsExtra("--tensorboard", "tensorboardX", "tensorboard") from None
    writer = None  # created at the first event, when the run folder exists

    def hear(event: dict) -> None:
        nonlocal writer
        writer = writer or SummaryWriter(str(folder))
        kind, step = event["kind"], event["step"]
        if kind == "train":
            for name, value in event.items():
                if isinstance(value, int | float) and name != "step":
                    writer.add_scalar(f"train/{name}", value, step)
        elif kind == "valid":
            writer.add_scalar("valid/value", event["value"], step)
            for name, value in event["metrics"].items():
                if value is not None:
                    writer.add_scalar(f"valid/{name}", value, step)
            if "preview" in event:
                writer.add_text("preview", event["preview"], step)
        writer.flush()

    return hear
