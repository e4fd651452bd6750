"""Gradients measured on an H200 (`benchmarks/RESULTS.md`), beside which a plan is held.

The constants of `MACHINES["h200"]` were fitted to those that are `FITTED` and to no others
(`python benchmarks/scaling.py fit`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import ostinato
from ostinato.cells import GRU, LSTM, MLSTM, MRNN, PeepholeLSTM
from ostinato.runs.operations import Part, parts_of
from ostinato.runs.plan import Machine, chip_of
from ostinato.through_time.backends.persistent import as_on
from ostinato.wiring import LayerNorm


class Case(NamedTuple):
    """The gradient of a cell with as many inputs as units; products are bf16, TF32 or float32."""

    cell: str
    sequences: int
    units: int
    products: str
    backend: str
    milliseconds: float
    steps: int = 512

    def __str__(self) -> str:
        return "-".join(map(str, self[:5]))


CELLS = {
    "lstm": LSTM,
    "peephole": PeepholeLSTM,
    "layer-normed": lambda *sizes, key: LayerNorm(LSTM(*sizes, key=key)),
    "gru": GRU,
    "mrnn": MRNN,
    "mlstm": MLSTM,
}
BOTH = ("scan", "persistent")
# "LSTM against cuDNN" and "LSTM in other precisions": milliseconds of the scan and of the kernel.
LSTMS = {
    "bf16": {
        (1, 256): (4.80, 2.08),
        (16, 256): (5.33, 2.37),
        (64, 256): (5.64, 2.60),
        (128, 256): (6.77, 2.94),
        (1, 512): (4.66, 2.89),
        (16, 512): (6.49, 3.34),
        (64, 512): (7.27, 4.06),
        (128, 512): (10.60, 5.28),
        (1, 1024): (6.00, 4.37),
        (16, 1024): (7.80, 4.87),
        (64, 1024): (12.07, 6.92),
        (128, 1024): (18.66, 11.84),
    },
    "TF32": {(16, 256): (5.87, 3.24), (16, 512): (6.71, 4.51), (128, 512): (14.25, 12.80)},
    "float32": {(16, 128): (6.58, 4.05), (16, 256): (7.66, 7.02), (128, 256): (12.08, 9.23)},
}
# "Other cells".
OTHERS = {
    (16, 512): {
        "peephole": (8.87, 3.24),
        "layer-normed": (11.61, 4.94),
        "gru": (7.49, 5.71),
        "mrnn": (6.99, 4.88),
        "mlstm": (8.80, 6.33),
    },
    (64, 1024): {
        "peephole": (21.52, 7.18),
        "layer-normed": (20.06, 11.81),
        "gru": (12.97, 10.38),
        "mrnn": (12.00, 9.18),
        "mlstm": (18.49, 11.77),
    },
}
# "Gradients on the GPU", measured before there were kernels.
EARLIER = [
    Case("lstm", 1, 1024, "TF32", "scan", 3.10, 256),
    Case("lstm", 1, 1024, "bf16", "scan", 3.51, 256),
    Case("lstm", 16, 512, "TF32", "scan", 3.53, 256),
    Case("lstm", 16, 512, "bf16", "scan", 3.21, 256),
    Case("lstm", 64, 1024, "TF32", "scan", 8.76, 256),
    Case("lstm", 64, 1024, "bf16", "scan", 6.07, 256),
    Case("lstm", 128, 2048, "TF32", "scan", 13.45, 100),
    Case("lstm", 128, 2048, "bf16", "scan", 6.78, 100),
    Case("mlstm", 1, 1024, "TF32", "scan", 5.69, 256),
    Case("mlstm", 16, 512, "TF32", "scan", 5.47, 256),
    Case("mlstm", 64, 1024, "TF32", "scan", 13.30, 256),
    Case("mlstm", 128, 2048, "TF32", "scan", 18.10, 100),
]
FITTED_LSTMS = {
    "bf16": {(16, 256), (128, 256), (1, 512), (64, 512), (16, 1024), (128, 1024)},
    "TF32": {(16, 512), (128, 512)},
    "float32": {(16, 256), (128, 256)},
}


def _cases() -> Iterator[tuple[Case, bool]]:
    for products, rows in LSTMS.items():
        for shape, times in rows.items():
            for backend, time in zip(BOTH, times, strict=True):
                case = Case("lstm", *shape, products, backend, time)
                yield case, shape in FITTED_LSTMS[products]
    for shape, cells in OTHERS.items():
        for cell, times in cells.items():
            for backend, time in zip(BOTH, times, strict=True):
                case = Case(cell, *shape, "bf16", backend, time)
                yield case, (cell, shape) == ("mlstm", (16, 512))
    for case in EARLIER:
        yield case, case[:4] in {("lstm", 128, 2048, "bf16"), ("mlstm", 64, 1024, "TF32")}


FITTED = [case for case, fitted in _cases() if fitted]
CHECKED = [case for case, fitted in _cases() if not fitted]


def parts_of_case(case: Case, machine: Machine) -> list[Part]:
    """What its gradient has to compute."""
    units, compute = case.units, "bfloat16" if case.products == "bf16" else None
    xs = jax.ShapeDtypeStruct((case.steps, case.sequences, units), compute or "float32")

    def loss(cell, xs):
        options = {"compute": compute, "backend": case.backend, "on_failure": "nan"}
        return jnp.sum(ostinato.unroll(cell, xs, **options)[0].astype("float32") ** 2)

    precision = "highest" if case.products == "float32" else "default"
    with (
        jax.enable_x64(False),
        as_on(chip_of("h200", machine)),
        jax.default_matmul_precision(precision),
    ):
        cell = eqx.filter_eval_shape(CELLS[case.cell], units, units, key=jax.random.key(0))
        return parts_of(jax.grad(loss), cell, xs)
