"""Persistent kernels: a scan whose programs stay on the GPU for all of time."""

from ..backend import Unfit as Unfit
from ._fit import Chip as Chip
from ._fit import Fit as Fit
from ._fit import as_on as as_on
from ._fit import measured_gpu as measured_gpu
from ._run import Persistent as Persistent
from ._run import kernel_of as kernel_of
from ._run import persistent_scan as persistent_scan
