"""The persistent kernels as a backend."""

from .._backend import Backend, Offer, Scan, Unfit
from ._fit import measured_gpu
from ._run import prepare_scan


class Persistent(Backend):
    """One GPU kernel for all steps, whose programs share the units or the rows of the batch."""

    name = "persistent"
    splits_batch = True

    def is_default(self) -> bool:
        return measured_gpu()

    def offer(self, scan: Scan, required: bool) -> Offer:
        try:
            run = prepare_scan(
                scan.body,
                scan.carry,
                scan.xs,
                reverse=scan.reverse,
                unroll=scan.unroll,
                forced=required,
                on_failure=scan.on_failure,
            )
        except Unfit as reason:
            return Offer(None, str(reason))
        return Offer(run)
