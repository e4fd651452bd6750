"""Data sets that are generated: number words, dates, programs, additions, shapes. No download."""

from ..splits import part_of as part_of
from .dates import FORMATS as FORMATS
from .dates import date_pair as date_pair
from .dates import draw_date as draw_date
from .dates import draw_dates as draw_dates
from .numbers import addition_pair as addition_pair
from .numbers import draw_many_terms as draw_many_terms
from .numbers import draw_numbers as draw_numbers
from .numbers import number_pair as number_pair
from .programs import STRATEGIES as STRATEGIES
from .programs import Level as Level
from .programs import Program as Program
from .programs import draw_program as draw_program
from .programs import longest_program as longest_program
from .programs import strategy as strategy
from .shapes import caption_of as caption_of
from .shapes import draw_shapes as draw_shapes
