"""Vocabularies, file readers, and named data sets with their download."""

from .batch import Batch as Batch
from .csv_file import read_table as read_table
from .files import find_data as find_data
from .npz import read_npy as read_npy
from .npz import read_npz as read_npz
from .reading import read_symbols as read_symbols
from .strokes import read_drawings as read_drawings
from .table import Table as Table
from .vocabulary import Vocabulary as Vocabulary
