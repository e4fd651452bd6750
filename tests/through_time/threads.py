"""A kernel's programs as threads: its own code, its memory and its meetings, on any device.

Each program runs the kernel's function operation by operation, on arrays that all of them share.
So they wait for each other as on a GPU, and what one has not written yet is not there.
"""

import threading
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ostinato.through_time.backends.persistent import _kernel, _meeting, _memory, _run

POISON = 7.7e7  # what nobody has written


def by_threads(monkeypatch, absent: tuple[int, ...] | None = None) -> None:
    """Let all kernels be run by threads, in code that is not compiled.

    Args:
        absent: a program that is never started. Else a kernel that reports failure is an error.
    """
    where = threading.local()
    monkeypatch.setattr(_kernel.pl, "pallas_call", partial(_call, where, absent))
    if absent is None:
        monkeypatch.setattr(_run, "_failed", _refused)
    monkeypatch.setattr(_kernel.pl, "program_id", lambda axis: jnp.int32(where.program[axis]))
    for module in (_memory, _meeting, _kernel):
        monkeypatch.setattr(module, "plgpu", _Primitives)


def _refused(*operands, call):
    raise AssertionError("a program gave up waiting for another")


class _Primitives:
    """What kernels use of Pallas for Triton."""

    @staticmethod
    def load(place, *, mask=None, other=None, volatile=False):
        found = place.read()
        return found if mask is None else jnp.where(mask, found, other)

    @staticmethod
    def store(place, value, *, mask):
        place.write(value, mask)

    @staticmethod
    def atomic_max(ref, index, value):
        ref.array[index] = max(ref.array[index], int(value))


class _Ref:
    """A shared array."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @property
    def at(self):
        return _At(self)

    def __getitem__(self, index):
        return _Place(self, index).read()

    def __setitem__(self, index, value):
        _Place(self, index).write(value, True)


class _At:
    def __init__(self, ref):
        self.ref = ref

    def __getitem__(self, index):
        return _Place(self.ref, index)


class _Place:
    """Part of a shared array; what lies beyond its end is read as anything, and must be masked."""

    def __init__(self, ref, index):
        self.array, self.index = ref.array, index if isinstance(index, tuple) else (index,)
        sizes = zip(self.index, self.array.shape, strict=True)
        self.ranges = [_range(i, size) for i, size in sizes]
        self.kept = [k for k, i in enumerate(self.index) if _has_axis(i)]
        self.shape = tuple(len(self.ranges[k]) for k in self.kept)

    def read(self):
        inside = [np.minimum(r, n - 1) for r, n in zip(self.ranges, self.array.shape, strict=True)]
        found = self.array[np.ix_(*inside)]
        return jnp.asarray(found.reshape(self.shape).copy())

    def write(self, value, mask):
        assert np.shape(value) == self.shape, (np.shape(value), self.shape)
        full = [len(r) for r in self.ranges]
        value, mask = (np.broadcast_to(x, self.shape).reshape(full) for x in (value, mask))
        grids = np.meshgrid(*self.ranges, indexing="ij")
        self.array[tuple(grid[mask] for grid in grids)] = value[mask]


def _has_axis(index) -> bool:
    return isinstance(index, slice) or (hasattr(index, "size") and hasattr(index, "start"))


def _range(index, size: int) -> np.ndarray:
    if isinstance(index, slice):
        return np.arange(size)[index]
    if _has_axis(index):
        return int(index.start) + np.arange(index.size)
    return np.asarray([int(index)])


def _call(where, absent, kernel, *, grid, out_shape, input_output_aliases, **_):
    def run(*operands):
        given = [_Ref(np.array(x)) for x in operands]
        made = [_Ref(np.full(s.shape, POISON).astype(s.dtype)) for s in out_shape]
        for i, o in input_output_aliases.items():
            made[o] = given[i]
        faults: list[BaseException] = []

        def program(*number):
            where.program = number
            try:
                with jax.disable_jit():
                    kernel(*given, *made)
            except BaseException as fault:
                faults.append(fault)

        numbers = [n for n in np.ndindex(*grid) if n != absent]
        threads = [threading.Thread(target=program, args=n) for n in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        return [jnp.asarray(ref.array) for ref in made]

    return run
