"""The verbs, each imported only when needed: importing all of them takes two seconds."""

import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..names import did_you_mean

if TYPE_CHECKING:
    import typer

VERBS = (
    "train",
    "sample",
    "apply",
    "evaluate",
    "score",
    "vectors",
    "export",
    "serve",
    "lens",
    "inside",
    "runs",
    "compare",
    "studio",
    "allow",
    "plan",
    "contrast",
    "reproduce",
    "evolve",
    "verify",
    "data",
    "program",
)
# Verbs of other programs, and how the same is done here.
ELSEWHERE = {
    **dict.fromkeys(("predict", "forecast", "infer", "translate", "tag"), "apply"),
    **dict.fromkeys(("generate", "write"), "sample"),
    **dict.fromkeys(("test", "eval", "validate"), "evaluate"),
    **dict.fromkeys(("tune", "search", "optimise", "optimize"), "contrast"),
    **dict.fromkeys(("fit", "resume"), "train"),
}
GROUPS = ("data", "program")  # verbs with verbs of their own


def app_of(verbs: Iterable[str] = VERBS, arguments: Iterable[str] = ()) -> "typer.Typer":
    """The command line with these verbs.

    The options of `train` depend on the classes that the arguments name.
    """
    import typer  # late, because the short pages of help do without it

    app = typer.Typer(
        name="ostinato",
        help="Recurrent networks: train, sample, evaluate and inspect them, and verify claims.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "token_normalize_func": lambda word: word.replace("_", "-"),  # --batch_size
        },
    )
    app.callback()(lambda: None)  # so that a single verb keeps its name
    for name in verbs:
        module = import_module(f".{name}", __package__)
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        elif name == "train":
            app.command(name)(_to_the_end(module.command(arguments)))
        else:
            app.command(name)(_to_the_end(getattr(module, name)))
    return app


def _to_the_end(verb: Callable) -> Callable:
    """A verb that classes of one's own cannot end silently. Ctrl-C itself is `quiet_signals`."""

    @functools.wraps(verb)
    def run(*given: Any, **named: Any) -> Any:
        try:
            return verb(*given, **named)
        except (KeyboardInterrupt, SystemExit) as error:
            if isinstance(error.__context__, BrokenPipeError):  # how rich ends
                raise
            words = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise BadInput(f"code of your own raised {words}") from error

    return run


def asked_for(arguments: list[str]) -> Iterable[str]:
    """The verb of a command line, or all verbs if it names none; a misspelt one is refused."""
    first = next((word for word in arguments if not word.startswith("-")), None)
    if first is not None and first not in VERBS:
        near = did_you_mean(first, VERBS)
        if (own := ELSEWHERE.get(first.lower())) is not None:
            near = f"use {own}; see ostinato {own} --help"
        raise BadInput(f"there is no verb {first!r:.60}; {near}")
    return VERBS if first is None else (first,)
