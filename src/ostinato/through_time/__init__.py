"""Running cells through time, and the ways to differentiate that."""

from .unroll import taps as taps
from .unroll import unroll as unroll
