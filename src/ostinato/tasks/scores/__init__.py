"""Scores of generated texts against references: BLEU, chrF, METEOR, accuracies, edit distance."""

from .bleu import Score as Score
from .bleu import bleu as bleu
from .bleu import chrf as chrf
from .exact import any_match as any_match
from .exact import edit_distance as edit_distance
from .exact import error_rate as error_rate
from .exact import exact_match as exact_match
from .exact import token_accuracy as token_accuracy
from .meteor import meteor as meteor
from .meteor import read_synonyms as read_synonyms
from .meteor import synonym_sets as synonym_sets
