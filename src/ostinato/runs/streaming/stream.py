"""A trained network that takes one value at a time and keeps its state, for one or many sequences.

A step

    state, y = step(state, x)

of one sequence is a list of calls of NumPy (see `plain`), if these know its operations; else, and
of many sequences, it is compiled once, with the weights and the state as its arguments. x is what
the value becomes, and y what the answer is made of; see `codecs`.
"""

import os
from collections.abc import Iterable, Mapping, Set
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...decoding.sampling import NotFinite
from ...decoding.text import as_text, checked_stop, until
from ...errors import BadInput
from ...files import checked_path, write_whole
from ...settings import checked_int, shown
from ...weights import CorruptFile, StructureMismatch, pack, unpack
from ...wiring.stepping import Stepping
from .codecs import StepCodec
from .plain import plain_step

MAX_SEQUENCES = 100_000


class Stream:
    """A network that reads one value at a time; made by `run.stream()`.

    Example:
        >>> stream = open_run("runs/text-mlstm-1").stream()
        >>> following = stream.step("T")
        >>> other = stream.fork()
        >>> text = stream.read("he ").sample(temperature=0.8)
        >>> stream.steps, other.steps
        (4, 1)

    Attributes:
        sequences: how many it reads side by side; `None` for one alone.
        steps: how many were taken since the beginning.
        answer: the last one; `None` before the first step.
    """

    def __init__(
        self,
        stepping: Stepping,
        inputs: int | None,
        codec: StepCodec,
        sequences: int | None = None,
        name: str = "",
    ):
        """
        Args:
            stepping: the trained network.
            inputs: the size of an input vector; it means nothing for a network that reads symbols.
            codec: what its numbers mean.
            sequences: how many to read side by side; one alone by default.
            name: of the run, which a saved state keeps.
        """
        if sequences is not None:
            checked_int("sequences", sequences, max=MAX_SEQUENCES)
        self.sequences, self._codec, self._name = sequences, codec, name
        batch = () if sequences is None else (sequences,)
        arrays, rest = eqx.partition(stepping, eqx.is_array)
        self._weights, of_weights = jax.tree.flatten(arrays)  # a list costs the least in a call
        beginning = stepping.initial(batch)
        self._leaves, of_state = jax.tree.flatten(beginning)
        self._names = [
            jax.tree_util.keystr(path, simple=True, separator=".") or "state"
            for path, _ in jax.tree_util.tree_leaves_with_path(beginning)
        ]
        self._beginning = self._leaves
        self._x = np.zeros(batch, np.int32)
        if stepping.symbols is None:
            self._x = np.zeros((*batch, inputs or 0), np.float32)

        @jax.jit
        def advance(
            weights: list[Any], leaves: list[Any], x: Any, given: Any
        ) -> tuple[list[Any], Any]:
            own = eqx.combine(jax.tree.unflatten(of_weights, weights), rest)
            state, y = own.step(jax.tree.unflatten(of_state, leaves), x)
            after = jax.tree.leaves(state)
            if given is not None:  # whoever was given nothing keeps its state
                after = [
                    jnp.where(given.reshape(-1, *[1] * (new.ndim - 1)), new, old)
                    for new, old in zip(after, leaves, strict=True)
                ]
            return after, y

        self._advance = advance
        self._all = None if sequences is None else np.ones(sequences, bool)
        self._plain = plain_step(stepping, inputs or 0) if sequences is None else None
        if self._plain is None:
            advance(self._weights, self._leaves, self._x, self._all)  # compiles it
        else:
            self._leaves = self._beginning = [np.asarray(x) for x in self._leaves]
        self._start()

    def _start(self) -> None:
        self.steps = 0
        self.answer: Any = None
        self._outputs: np.ndarray | None = None

    def reset(self) -> None:
        """Go back to the state before the first step."""
        self._leaves = self._beginning
        self._start()

    def step(self, value: Any) -> Any:
        """Read one value, and give the answer to all that was read.

        Args:
            value: a character, a row or a dictionary, as the run reads them. Of several sequences a
                list with one for each; a sequence that is given `None` waits, and its answer is
                `None`.

        Returns:
            Of a text a `NextSymbol`; of a series a `Forecast`; of classes a `Classified`; of other
            numbers an array `(outputs,)`. Of several sequences a list of these.
        """
        if self.sequences is None:
            y = self._step(self._codec.reader([value]).reshape(self._x.shape), None)
            (self.answer,) = self._codec.tell(y[None])
            return self.answer
        values = self._one_each(value)
        present = [n for n, one in enumerate(values) if one is not None]
        x, given = self._x, self._all
        if present:
            x = self._codec.reader([values[n] for n in present])
        if len(present) < len(values):
            x, given, some = self._x.copy(), np.zeros(len(values), bool), x
            given[present] = True
            if present:
                x[present] = some
        told = self._codec.tell(self._step(x, given)[present])
        self.answer = [None] * len(values)
        for n, one in zip(present, told, strict=True):
            self.answer[n] = one
        return self.answer

    __call__ = step

    def _step(self, x: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        if self._plain is None:
            self._leaves, y = self._advance(self._weights, self._leaves, x, given)
        else:
            self._leaves, y = self._plain(self._leaves, x)
        self.steps += 1
        outputs = np.asarray(y)
        if not np.isfinite(outputs).all():
            raise NotFinite
        self._outputs = outputs
        return outputs

    def _one_each(self, values: Any) -> list[Any]:
        listed: list[Any] = []
        if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set):
            listed = [*values]
        if len(listed) != self.sequences:
            raise BadInput(
                f"a step of {self.sequences} sequences takes a list of as many values, got "
                f"{shown(values)}"
            )
        return listed

    def read(self, values: Any) -> Any:
        """Read one value after the other, and give the answer to the last.

        Args:
            values: a text, rows in order, or any iterable of what `step` takes.
        """
        many = values if self.sequences is not None else self._codec.reader.parts(values)
        if not isinstance(many, Iterable):
            raise BadInput(f"read takes several values, one after the other; got {shown(values)}")
        for value in many:
            self.step(value)
        return self.answer

    def write(
        self,
        length: int = 200,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: str | None = None,
    ) -> str:
        """A text that the network writes on from here, and reads; as `runs.sample` does.

        Args:
            length: how many characters (or bytes) to write.
            temperature, top_k, top_p, seed, stop: see `runs.sample`.
        """
        text = self._codec.text
        if text is None or self.sequences is not None:
            raise BadInput("write is of a run on a text, and of one sequence")
        checked_stop(stop)
        if self.answer is None:
            self.step(text.opening)

        def pieces() -> Iterable[np.ndarray]:
            for place in range(checked_int("the length to generate", length)):
                one = self.answer.sample(temperature, top_k, top_p, seed, place)
                self.step(one)
                yield text([one])

        return "".join(until(as_text(pieces(), text.vocabulary), stop))

    # The state

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The arrays of the state, by name; of several sequences these are their first axis.

        Whatever it is set to is checked, and the answer to the last step is forgotten.
        """
        return {n: np.array(x) for n, x in zip(self._names, self._leaves, strict=True)}

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        if not isinstance(state, Mapping) or {*state} != {*self._names}:
            got = sorted(map(str, state)) if isinstance(state, Mapping) else shown(state)
            raise BadInput(f"a state is a dictionary of {', '.join(self._names)}; got {got}")
        leaves = []
        for name, own in zip(self._names, self._beginning, strict=True):
            try:
                given = np.asarray(state[name])
            except ValueError:  # lists of several lengths
                given = np.array(None)
            if given.shape != own.shape or given.dtype.kind != own.dtype.kind:
                raise BadInput(
                    f"{name} of the state must be {own.dtype}{own.shape}, got "
                    f"{given.dtype}{given.shape}"
                )
            try:
                with np.errstate(over="raise"):
                    leaves.append(given.astype(own.dtype))
            except FloatingPointError:
                raise BadInput(f"{name} of the state must be numbers of {own.dtype}") from None
            # A cell may itself start from an infinite number, such as the maximum of nothing.
            wrong = np.isnan(given) | (np.isinf(given) & np.isfinite(own))
            if wrong.any():
                raise BadInput(
                    f"{name} of the state must be finite numbers, got {given[wrong].flat[0]}"
                )
        self._leaves = leaves
        self._start()

    def fork(self) -> Self:
        """Another stream that goes on from here; both then go their own ways."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def save(self, path: str | os.PathLike) -> None:
        """Write the state and the last answer to a file, from which `restore` goes on."""
        notes = {"stream": self._name, "steps": str(self.steps)}
        write_whole(checked_path("path", path), *pack(self._kept(), notes))

    def restore(self, path: str | os.PathLike) -> Self:
        """Go on from a file that `save` wrote, of a stream of the same run."""
        path = checked_path("path", path)
        try:
            kept, notes = unpack(path, self._kept())
        except FileNotFoundError:
            raise BadInput(f"there is no file {path}") from None
        except (CorruptFile, StructureMismatch) as error:
            raise BadInput(f"{error}; it is no state of this stream") from None
        if notes.get("stream") != self._name or not notes.get("steps", "").isdigit():
            raise BadInput(f"{path} is not the state of a stream of this run")
        self._leaves, self.steps = [np.asarray(x) for x in kept["state"]], int(notes["steps"])
        self._outputs = np.asarray(kept["outputs"]) if self.steps else None
        told = [] if self._outputs is None else self._codec.tell(np.atleast_2d(self._outputs))
        self.answer = (told[0] if self.sequences is None else told) if told else None
        return self

    def _kept(self) -> dict[str, Any]:
        outputs = self._outputs
        if outputs is None:
            outputs = jax.eval_shape(
                self._advance, self._weights, self._leaves, self._x, self._all
            )[1]
            outputs = np.zeros(outputs.shape, outputs.dtype)
        return {"state": [*map(jnp.asarray, self._leaves)], "outputs": jnp.asarray(outputs)}
