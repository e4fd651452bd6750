"""The option --set of `contrast` and `reproduce`: settings as NAME=VALUE."""

from typing import Any

from ..errors import BadInput
from ..runs.config.sections import from_text


def changes(given: list[str]) -> dict[str, Any]:
    """Settings by name; `from_text` says how values are written.

    Example:
        >>> changes(["units=20,10", "cell=gru", "validate-every=5"])
        {'units': (20, 10), 'cell': 'gru', 'validate_every': 5}
    """
    found: dict[str, Any] = {}
    for words in given:
        name, equals, value = words.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise BadInput(f"--set is name=value, such as units=20; got {words!r:.60}")
        if name in found:
            raise BadInput(f"--set {name} is given twice")
        found[name] = from_text(name, value)
    return found
