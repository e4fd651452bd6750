"""Chooses the sizes of a kernel: how many programs and rows, or why a step does not fit."""

import contextlib
import dataclasses
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

from ..backend import Unfit
from ._body import Body, aval_of
from ._layout import REDUCTIONS, Layout
from ._plan import LOOKED, Plan, make_plan
from ._tiles import SMALLEST, in_full, operand_bytes, power_of_two

SHARED_MEMORY = 227 * 1024  # bytes per program, if the device does not report them
SCRATCH = 16 * 1024  # of these bytes, reserved for tiles that threads exchange
FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16)
MAX_ROWS = 64  # of the batch per program


@dataclasses.dataclass(frozen=True)
class Fit:
    """The sizes of a kernel.

    Attributes:
        programs: the number of programs that share the units.
        rows: rows of the batch per group of programs.
        groups: groups of programs per launch.
        warps: warps per program.
    """

    programs: int
    rows: int
    groups: int
    warps: int

    @property
    def batch(self) -> int:
        """The largest batch per launch; a larger one is split."""
        return self.rows * self.groups


def fit(body: Body, layout: Layout, cores: int) -> Fit:
    """Distribute a step over `cores` multiprocessors.

    If all weights fit into the shared memory of one program, each program takes all units and a few
    rows of the batch. Such programs are independent, so there may be any number of them.

    Otherwise programs share the units and exchange values at every step. All of them must be
    resident at once, each on its own multiprocessor, or they would deadlock; and the weights of a
    program's units must fit into its shared memory.

    Raises:
        Unfit: the step does not fit; the message says why.
    """
    products = [e for e in body.equations if e.primitive.name == "dot_general"]
    sums = [e for e in body.equations if e.primitive.name in REDUCTIONS]
    _check_floats("product", products)
    _check_floats("sum over units", [e for e in sums if e.invars[0] in layout.cuts])
    few = layout.batch <= SMALLEST * cores // 4 or any(map(in_full, products))
    rows = SMALLEST if few else 2 * SMALLEST
    alone, memory = make_plan(body, layout, 1, rows), shared_memory()
    if _bytes(alone) <= memory:
        return Fit(1, rows, alone.groups, 8)
    outs: list[Any] = [e.outvars[0] for e in products]
    widths = [stop - start for out in outs for start, stop in layout.segments(out)]
    programs = -(-max(widths) // SMALLEST)
    if programs > cores:
        raise Unfit(
            f"{max(widths)} units need {programs} programs at once, and the device has {cores} "
            "multiprocessors"
        )
    groups = max(1, min(cores // programs, -(-layout.batch // SMALLEST)))
    rows = max(SMALLEST, power_of_two(-(-layout.batch // groups)))
    rows = min(rows, MAX_ROWS)
    groups = min(groups, -(-layout.batch // rows))
    plan = make_plan(body, layout, programs, rows)
    need = _bytes(plan)
    if need > memory:
        raise Unfit(
            f"a program needs {need // 1024} KB of shared memory, most of it for weights, and has "
            f"{memory // 1024} KB"
        )
    # Eight warps take longer to synchronise than four, but have room for more values.
    much = rows == MAX_ROWS or any(plan.summands(e) == programs for e in products)
    return Fit(programs, rows, groups, 8 if much else 4)


def _check_floats(what: str, equations: list) -> None:
    """Operands must be floats that the matrix units support, of one dtype per product."""
    for equation in equations:
        dtypes = dict.fromkeys(str(aval_of(var).dtype) for var in equation.invars)
        if len(dtypes) > 1 or aval_of(equation.invars[0]).dtype not in FLOATS:
            raise Unfit(
                f"a {what} is in {' and '.join(dtypes)}, and kernels take float32, bfloat16 and "
                "float16"
            )


def _bytes(plan: Plan) -> int:
    """Shared memory per program: its weights, one piece of a gathered value, and scratch."""
    weights, piece = 0, 0
    for equation in plan.products:
        v: Any = equation.invars[0]
        size = operand_bytes(equation)
        columns = sum(bundle.width for bundle in plan.bundles(equation))
        weights += plan.stored(v) * columns * size
        rows = plan.rows * plan.stored(v)
        piece = max(piece, size * (rows if plan.alone else min(rows, LOOKED)))
    return weights + piece + SCRATCH


def pays(sizes: Fit, layout: Layout) -> bool:
    """Whether the kernel is faster than the scan: not if a large batch needs several launches."""
    return sizes.programs == 1 or layout.batch <= sizes.batch


class Chip(NamedTuple):
    """What the choice of a kernel depends on.

    Attributes:
        name: of the device.
        multiprocessors: their number; 0 for what is no GPU.
        measured: whether `pays` was measured on its generation.
    """

    name: str
    multiprocessors: int
    measured: bool


_planned: ContextVar[Chip | None] = ContextVar("planned", default=None)


@contextlib.contextmanager
def as_on(chip: Chip) -> Iterator[None]:
    """A context in which programs are traced as they would be for another device.

    What JAX has traced for the one that is here is not used for it, nor the other way round.
    """
    before = _planned.set(chip)
    platform = "gpu" if chip.multiprocessors else "cpu"
    device = AbstractDevice(chip.name, chip.multiprocessors, platform)
    try:
        with use_abstract_mesh(AbstractMesh((), (), abstract_device=device)):
            yield
    finally:
        _planned.reset(before)


def multiprocessors() -> int:
    """The number of multiprocessors of the device in use; 0 without a GPU."""
    if (chip := _planned.get()) is not None:
        return chip.multiprocessors
    device = jax.local_devices()[0]
    if device.platform != "gpu":
        return 0
    return int(getattr(device, "core_count", 0))


def shared_memory() -> int:
    """Bytes of shared memory per program on the device in use."""
    return int(getattr(jax.local_devices()[0], "shared_memory_per_block_optin", SHARED_MEMORY))


def measured_gpu() -> bool:
    """Whether the GPU is of the generation on which `pays` was measured."""
    if (chip := _planned.get()) is not None:
        return chip.measured
    generation = getattr(jax.local_devices()[0], "compute_capability", None)
    return multiprocessors() > 0 and generation == "9.0"
