"""Errors caused by user input."""


class BadInput(ValueError):
    """A mistake in a file, setting or folder, in one line: what, where, and what would be right.

    The command line prints the message without a traceback and exits with 2. Any other exception
    is a bug in Ostinato and keeps its traceback.

    Example:
        >>> raise BadInput("units must be at least 1, got 0")
        Traceback (most recent call last):
        ostinato.errors.BadInput: units must be at least 1, got 0
    """
