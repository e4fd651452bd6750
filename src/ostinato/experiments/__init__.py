"""Published experiments that anyone can repeat: one recipe per file.

`ostinato reproduce` lists them; `ostinato reproduce NAME` repeats one and writes a page with
published numbers beside those obtained.

Example:
    >>> RECIPES["krause-table"].source
    'Krause (2015), table 4.5'
"""

import difflib

from ..errors import BadInput
from . import (
    adding,
    bouncing_balls,
    elman_xor,
    gradient_figures,
    krause_penn,
    krause_table,
    krause_wikipedia,
    music,
    neural_turing,
    predictive_text,
    sequential_mnist,
    time_lag,
    toy_net,
)
from ._recipe import Job as Job
from ._recipe import Recipe as Recipe
from ._recipe import Result as Result
from ._results import collect as collect
from ._results import reproduce as reproduce

RECIPES: dict[str, Recipe] = {
    module.RECIPE.name: module.RECIPE
    for module in (
        toy_net,
        gradient_figures,
        elman_xor,
        adding,
        krause_table,
        krause_penn,
        krause_wikipedia,
        time_lag,
        predictive_text,
        neural_turing,
        sequential_mnist,
        music,
        bouncing_balls,
    )
}


def recipe(name: str) -> Recipe:
    """The recipe with this name."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name.lower(), RECIPES, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(RECIPES)}"
        raise BadInput(f"there is no experiment {name}; {hint}")
    return RECIPES[name]
