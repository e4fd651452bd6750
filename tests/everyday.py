"""Which of many alike tests run every day; the others are slow ones."""

import pytest


def some(names, usual):
    """The names, those outside `usual` marked slow: compiling all of them would take minutes."""
    return [pytest.param(n, marks=[] if n in usual else [pytest.mark.slow]) for n in names]
