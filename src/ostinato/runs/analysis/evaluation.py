"""Evaluation of a trained network: metrics and dynamic evaluation."""

from collections.abc import Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...cells.building import parameter_dtype
from ...data import Batch
from ...errors import BadInput
from ...progress import Report, each, silent
from ...tasks import Task
from ...tasks.applying import outputs_through
from ...tasks.losses import CrossEntropy
from ...tasks.metrics import (
    Bits,
    Metric,
    counted,
    counted_together,
    perplexity,
    values_of,
)
from ...tasks.text.text import streams
from ...weights import own_precision
from ...weights import trained as trained_part
from ...wiring import outputs_of
from ..folder.run import RunFolder, check_own, checked_run
from ..loop import processes
from ..loop.devices import ONE, Devices

RATE = 0.03


def evaluate(
    run: RunFolder,
    part: str = "valid",
    *,
    task: Task | None = None,
    network: Model | None = None,
    devices: int = 1,
) -> dict[str, float | None]:
    """All metrics of a run on the `"valid"` or the `"test"` part of its data, by name.

    The first is the metric of the run. `None` stands for a metric that counted nothing.

    Args:
        run: the run; see `open_run`.
        part: of the data.
        task: the task, if the run was trained on one that was made in Python.
        network: a network of the run, if it is not the best one.
        devices: how many devices share each batch; all of them, if several processes evaluate
            together (`join_processes`). Of a text, which is one sequence, each does all.

    Example:
        >>> values = evaluate(open_run("runs/text-mlstm-1"), "test")
        >>> [*values], 0 < values["bits per character"] < 10
        (['bits per character', 'perplexity per character'], True)
    """
    checked_run(run)
    check_own(task, network)
    shared = processes.shared_devices(devices)
    with run.precision():
        with processes.all_or_none() as facts:
            task = run.task(task)
            network = run.network() if network is None else network
            facts |= processes.facts(part, task, network, trained=True)
        return all_metrics(run, network, task, part, devices=shared)


def all_metrics(
    run: RunFolder,
    network: Model,
    task: Task,
    part: str,
    report: Report = silent,
    batches: int | None = None,
    devices: Devices = ONE,
) -> dict[str, float | None]:
    """`evaluate` with a network and a task; `batches` says how many there are, for the report."""
    values = own_metrics(run, network, task, part, report, batches, devices)
    report(0, None, "scoring what the network writes")
    return values | task.scores(network, part)


def own_metrics(
    run: RunFolder,
    network: Model,
    task: Task,
    part: str,
    report: Report = silent,
    batches: int | None = None,
    devices: Devices = ONE,
) -> dict[str, float | None]:
    """The metrics that a network is trained by, without `Task.scores`; see `all_metrics`."""
    held_out = each(task.evaluated(part), report, f"evaluating on the {part} part", batches)
    values = measured(devices.place_all(network), held_out, task.metrics, devices)
    if values[0] is None:
        raise BadInput(f"the {part} part of {run.path} is empty; there is nothing to score")
    return dict(zip((metric.name for metric in task.metrics), values, strict=True))


def evaluate_network(network: Model, task: Task, part: str = "valid", size: int = 32) -> float:
    """A task's first metric on `"valid"` or `"test"`, with batches of `size` sequences.

    A network of float64 computes in float64, whatever JAX is set to.

    Example:
        >>> 0 < evaluate_network(run.network(), run.task(), "test") < 10  # bits per character
        True
    """
    (value,) = measured(network, task.held_out(part, size), (task.metric,))
    if value is None:
        raise BadInput(f"the {part} part of {task.name} is empty; there is nothing to score")
    return value


def measured(
    network: Model,
    batches: Iterable[Batch],
    metrics: tuple[Metric, ...],
    devices: Devices = ONE,
) -> list[float | None]:
    """The metrics over all batches; `None` for a metric that counted nothing.

    The state is carried from batch to batch and is reset where `batch.first` is true. Noise is off.
    The compiled function is reused for networks of the same structure. If several devices share a
    batch, each of them has a copy of the network (`Devices.place_all`).
    """
    run, count = devices.evaluation(eqx.nn.inference_mode(network))
    through = outputs_through(devices.copy_here(network), batches, run)
    counts = [counted(metrics, outputs, batch, count) for outputs, batch in through]  # no waiting
    return values_of(metrics, counts)


def measured_together(
    networks: Model, batches: Sequence[Sequence[Batch]], metrics: tuple[Metric, ...]
) -> list[list[float | None]]:
    """`measured` for several networks at once.

    Args:
        networks: networks of the same structure as one; its arrays have a row for each.
        batches: of each network; at each place they must have the same shapes (`alike`).
        metrics: of all of them.
    """
    networks = eqx.nn.inference_mode(networks)
    state, counts = None, []
    with own_precision(networks):
        for row in zip(*batches, strict=True):
            batch = stacked([one.arrays for one in row])
            outputs, state = _outputs_together(networks, state, batch, bool(row[0].first))
            counts.append(counted_together(metrics, outputs, batch))
    counts = jax.device_get(counts)
    return [
        values_of(metrics, jax.tree.map(lambda x, n=n: x[n], counts)) for n in range(len(batches))
    ]


def alike(batches: Sequence[Sequence[Batch]]) -> bool:
    """Whether lists of batches agree in all shapes, and in where sequences begin."""
    shapes = [[(bool(x.first), shapes_of(x.arrays)) for x in each] for each in batches]
    return all(each == shapes[0] for each in shapes)


def shapes_of(tree: Any) -> Any:
    """The structure, shapes and dtypes of a tree of arrays, for comparison."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(np.shape(x), np.result_type(x)) for x in leaves]


def stacked(trees: Sequence[Any]) -> Any:
    """One tree from several, whose arrays have a row for each, on the host."""
    return jax.tree.map(lambda *x: np.stack(x), *trees)


@eqx.filter_jit
def _outputs_together(networks: Model, state: Any, batch: Batch, first: bool) -> Any:
    arrays, static = eqx.partition(networks, eqx.is_array)

    def one(arrays: Any, state: Any, batch: Batch) -> Any:
        network = eqx.combine(arrays, static)
        if first:
            state = network.initial((batch.sequences,)) if network.can_step else None
        # Kernels cannot be mapped.
        return outputs_of(network, batch, state, backend="scan")

    return jax.vmap(one)(arrays, state, batch)


def dynamic_evaluate(
    network: Model,
    symbols: np.ndarray,
    *,
    rate: float = RATE,
    window: int = 20,
    decay: float = 0.0,
    report: Report = silent,
) -> float:
    """Bits per symbol of a network that keeps learning from the text it has just predicted.

    The text is split into consecutive windows. Each window is scored, and then the weights take a
    gradient step on its mean loss L before the next window is scored:

        θ ← θ - rate ∂L/∂θ + decay (θ₀ - θ)

    with θ₀ the trained weights. The state is carried over, the gradient stops at the start of the
    window, and noise is off. With a rate of 0 this is static evaluation.

    Source: Krause et al. (2018), the variant with gradient descent; Graves (2013).

    Args:
        network: reads symbols and outputs their logits. It is not modified.
        symbols: the text, `(T,)`, integers below the network's number of symbols.
        rate: the step size. The best one depends on network and text: also try a third of it, and
            three times as much.
        window: steps per window.
        decay: fraction of the way back to the trained weights that each step takes, 0 to 1.
        report: hears how many windows are done.

    Example:
        >>> bits = dynamic_evaluate(run.network(), run.task().parts["test"], rate=0.1)
        >>> 0 < bits < 10
        True
    """
    dtype = parameter_dtype(network)
    if not 0 <= rate <= float(jnp.finfo(dtype).max):
        raise BadInput(f"the rate must be 0 or a positive number, got {rate}")
    symbols = np.asarray(symbols)
    if symbols.ndim != 1:
        raise BadInput(f"a text is symbols of shape (T,), got {symbols.shape}")
    if symbols.size:
        with own_precision(network):
            network.as_layer().check_inputs(symbols)
    if window < 1:
        raise BadInput(f"the window must be at least 1, got {window}")
    if not 0 <= decay <= 1:
        raise BadInput(f"the decay must be from 0 to 1, got {decay}")
    trained = moving = eqx.nn.inference_mode(network)
    totals, weight = [], 0.0
    with own_precision(network):
        speed = jnp.asarray([rate, decay], dtype)
        state = network.initial((1,))
        windows = max(-(-(len(symbols) - 1) // window), 1)
        for batch in each(streams(symbols, 1, window), report, "dynamic evaluation", windows):
            total, moving, state = _learn_window(trained, moving, state, batch.arrays, speed)
            totals.append(total)
            weight += float(batch.weights.sum())
    if not weight:
        raise BadInput(f"an evaluation needs at least 2 symbols, got {len(symbols)}")
    value = sum(float(total) for total in totals) / weight
    if not np.isfinite(perplexity(value)):
        raise BadInput(f"with a rate of {rate} the dynamic evaluation diverged; try a smaller one")
    return value


@eqx.filter_jit
def _learn_window(trained: Any, moving: Any, state: Any, window: Batch, speed: jax.Array) -> Any:
    rate, decay = speed
    parameters, rest = trained_part(moving)

    def loss(parameters: Any) -> Any:
        outputs, after = outputs_of(eqx.combine(parameters, rest), window, state)
        bits, _ = Bits().counts(outputs, window)
        return CrossEntropy()(outputs, window), (bits, after)

    gradient, (total, state) = jax.grad(loss, has_aux=True)(parameters)
    start = trained_part(trained)[0]
    parameters = jax.tree.map(
        lambda slope, now, first: now - rate * slope + decay * (first - now),
        gradient,
        parameters,
        start,
    )
    return total, eqx.combine(parameters, rest), state
