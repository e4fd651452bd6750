"""Published experiments that anyone can repeat: recipes, by source or by data.

`ostinato reproduce` lists them; `ostinato reproduce NAME` repeats one and writes a page with
published numbers beside those obtained.

Example:
    >>> RECIPES["krause-table"].source
    'Krause (2015), table 4.5'
"""

from ..errors import BadInput
from ..names import did_you_mean
from . import (
    bai_table,
    cell_evolution,
    gradient_figures,
    handwriting_words,
    krause,
    long_lags,
    neural_turing,
    predictive_text,
    synthetic,
    time_lag,
    translation,
)
from .recipes import Job as Job
from .recipes import Recipe as Recipe
from .recipes import Result as Result
from .results import collect as collect
from .results import reproduce as reproduce

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        gradient_figures.TOY_NET,
        gradient_figures.FIGURES,
        synthetic.TEMPORAL_XOR,
        synthetic.ADDING,
        long_lags.SUITE,
        synthetic.NINE_DIGITS,
        krause.TABLE,
        krause.PENN,
        krause.WIKIPEDIA,
        time_lag.RECIPE,
        predictive_text.RECIPE,
        neural_turing.RECIPE,
        bai_table.SEQUENTIAL_MNIST,
        bai_table.JSB_CHORALES,
        synthetic.BOUNCING_BALLS,
        synthetic.MOVING_DIGITS,
        cell_evolution.RECIPE,
        translation.RECIPE,
        handwriting_words.RECIPE,
    )
}


def recipe(name: str) -> Recipe:
    """The recipe with this name."""
    if name not in RECIPES:
        hint = did_you_mean(name, RECIPES, count=3, cutoff=0.4)
        raise BadInput(f"there is no experiment {name}; {hint}")
    return RECIPES[name]
