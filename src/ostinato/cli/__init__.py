"""The command line: `ostinato VERB ...`, one verb a file."""

import os
import sys

import typer

from ..errors import BadInput
from ..runs import Diverged
from .data import app as data
from .evaluate import evaluate
from .lens import lens
from .sample import sample
from .train import train
from .verify import verify

app = typer.Typer(
    name="ostinato",
    help="Recurrent networks: train, sample, evaluate, and check what is said about them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.command()(sample)
app.command()(evaluate)
app.command()(lens)
app.command()(verify)
app.add_typer(data, name="data")


def main() -> None:
    """Run a verb. A mistake of the user is one line on standard error, and an exit with 2."""
    # On a GPU too the same seed is to give the same numbers; JAX reads this when it starts.
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_gpu_deterministic_ops" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    try:
        app()
    except (BadInput, Diverged) as error:
        sys.exit(_say(error, 3 if isinstance(error, Diverged) else 2))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(_say(f"{where}{error.strerror or error}", 2))


def _say(words, code: int) -> int:
    print(f"ostinato: {words}", file=sys.stderr)
    return code
