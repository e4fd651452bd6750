"""Where data come from: batches, vocabularies, readers of files, data sets and their download."""

from .batch import Batch as Batch
from .files import check_file as check_file
from .locate import find_data as find_data
from .reading import read_symbols as read_symbols
from .vocabulary import Vocabulary as Vocabulary
