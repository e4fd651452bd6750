"""What is wrong with what a person gave us, in one line."""


class BadInput(ValueError):
    """A mistake in a file, a setting or a folder: what was wrong, where, and what would be right.

    The command line prints the message alone and exits with 2; anything else is a fault of ours
    and keeps its traceback.
    """
