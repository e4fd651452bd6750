"""Vocabularies, file readers, and named data sets with their download."""

from .batch import Batch as Batch
from .files import check_file as check_file
from .locate import find_data as find_data
from .reading import read_symbols as read_symbols
from .vocabulary import Vocabulary as Vocabulary
