"""Which statements about a cell's equations a subclass may inherit.

A class may say more about itself than its equations: that it is an LSTM of ONNX (`operators`), that
`online1997` can learn it (`memory_cell`), what its step squashes (`gates`). Whoever reads such a
claim no longer looks at the step. So a subclass keeps a claim only if every method that the claim
rests on is the same function there as in the class that made it. Mixins count, because methods are
compared as they resolve, not by the body of the class. Otherwise the subclass has the default of
the contract, unless it makes the claim again.

    class Doubled(LSTM):                     operators() is None: exported as a loop over its step
        def inputs(self, x):                 memory_cell is False: online1997 refuses it
            return super().inputs(2 * x)     gates as in LSTM: its step is the same
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

EQUATIONS = ("initial", "inputs", "step", "over_time")


class _Claim(NamedTuple):
    """What must be the same for a claim to hold.

    Attributes:
        methods: what the claim rests on.
        helpers: whether it also rests on all methods outside the contract that its class has,
            since its equations may call them.
    """

    methods: tuple[str, ...]
    helpers: bool = True


CLAIMS = {
    "operators": _Claim(EQUATIONS),
    "memory_cell": _Claim(EQUATIONS),
    "parts": _Claim(EQUATIONS),
    "to_cell": _Claim(EQUATIONS),
    "from_cell": _Claim(EQUATIONS),
    "with_reader": _Claim(EQUATIONS),
    "state_groups": _Claim(("initial", "step")),
    "is_simple": _Claim(("step", "over_time")),  # the bounds hold for any inputs and first state
    "gates": _Claim(("step",)),
    "named_gates": _Claim(("step",)),
    "blocks": _Claim(("step",)),
    # `unroll` calls `over_time` in place of the step. Both call the same helpers.
    "in_parts": _Claim(("inputs", "step", "over_time"), helpers=False),
    "over_time": _Claim(("inputs", "step"), helpers=False),
}
STEP_BY_STEP = ("in_parts", "over_time")  # a layer without a step has no other way
DESCRIPTORS = (property, staticmethod)


def drop_claims(cls: type, contract: tuple[type, ...]) -> None:
    """Give a new class the contract's defaults in place of the claims that it invalidates.

    Args:
        cls: the class; its bases have been through this.
        contract: the classes that declare methods and defaults, the most special first.
    """
    defaults = {name: value for base in reversed(contract) for name, value in vars(base).items()}
    for name, claim in CLAIMS.items():
        claimer = _claimer(cls, name, contract) if name in defaults else None
        if claimer is None or (name in STEP_BY_STEP and defaults["in_parts"]):
            continue
        methods = {*claim.methods}
        if claim.helpers:
            methods |= {*_helpers(claimer, defaults)}
        if any(_resolved(cls, method) is not _resolved(claimer, method) for method in methods):
            kept = _single_names(_resolved(cls, name)) if name == "blocks" else defaults[name]
            setattr(cls, name, kept)


def keeps_default_input(constructor: Callable[..., None]) -> bool:
    """Whether a constructor passes `input=` on to the constructor of a base class."""
    parameters = inspect.signature(constructor).parameters
    passes_on = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return passes_on and "input" not in parameters


def _claimer(cls: type, name: str, contract: tuple[type, ...]) -> type | None:
    """The base class whose equations a claim was made for; `None` if there is nothing to check."""
    owner = _owner(cls, name)
    if owner is None or owner is cls or owner in contract:
        return None
    if issubclass(owner, contract[-1]):
        return owner
    # A mixin has no equations: its claim is about the first class that it became part of.
    ours = [base for base in cls.__mro__ if issubclass(base, contract[-1])]
    mixed = [base for base in ours if owner in base.__mro__]
    return mixed[-1] if mixed[-1] is not cls else None


def _resolved(cls: type, name: str) -> Any:
    """What a class has by a name, not bound: the same object in every class that inherits it."""
    owner = _owner(cls, name)
    return None if owner is None else vars(owner)[name]


def _owner(cls: type, name: str) -> type | None:
    """The class from which a class has what it has by a name."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def _helpers(cls: type, contract: Mapping[str, Any]) -> Iterator[str]:
    """The names of methods and properties that a class has and the contract does not declare."""
    for base in cls.__mro__:
        for name, value in vars(base).items():
            of_equations = callable(value) or isinstance(value, DESCRIPTORS)
            if of_equations and name not in contract and not name.startswith("__"):
                yield name


def _single_names(blocks: Any) -> dict[str, tuple[str, ...]]:
    """The blocks with one name, which stays right whatever the step does with their weight."""
    given = blocks.items() if isinstance(blocks, Mapping) else ()
    return {name: words for name, words in given if len(words) == 1}
