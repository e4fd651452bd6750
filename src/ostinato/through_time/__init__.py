"""Running cells through time, and the ways to differentiate that."""

from ._check import can_step as can_step
from ._step import with_products as with_products
from .gradients import bptt as bptt
from .gradients import general_bptt as general_bptt
from .gradients import rtrl as rtrl
from .gradients import truncated_bptt as truncated_bptt
from .unroll import taps as taps
from .unroll import unroll as unroll
