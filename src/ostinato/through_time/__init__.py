"""Running cells through time, and the ways to differentiate that."""

from .gradients import Online as Online
from .gradients import bptt as bptt
from .gradients import general_bptt as general_bptt
from .gradients import gradients_by_theorem as gradients_by_theorem
from .gradients import rtrl as rtrl
from .gradients import rtrl_start as rtrl_start
from .gradients import truncated_bptt as truncated_bptt
from .online1997 import online1997 as online1997
from .online1997 import online1997_start as online1997_start
from .step import with_connections as with_connections
from .step import with_products as with_products
from .unroll import taps as taps
from .unroll import unroll as unroll
