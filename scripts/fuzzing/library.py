"""The rest of the library: generating, scoring, weights in files, learners and measures.

Each function below draws one call from `case.chance`, makes it, and checks what comes back.
"""

import functools
import math
import random
import shutil
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .harm import bits, cut, header, longer, replaced
from .modules import INPUTS, SYMBOLS, key, network, sound_cell, sound_module
from .outcomes import ACCEPTED, Case, attempt, check
from .values import anything, mostly, path, real, text


def library(case: Case) -> str:
    draw, weights = zip(*CALLS, strict=True)
    return case.chance.choices(draw, weights)[0](case)


@functools.cache
def _speaker(which: int) -> Any:
    """A network that reads and writes symbols: few, so that they are compiled once."""
    from ostinato import wiring
    from ostinato.cells import GRU, LSTM

    cell = (LSTM, GRU)[which](SYMBOLS, 4, key=jax.random.key(which))
    return wiring.Network(
        cell, wiring.Readout(4, SYMBOLS, key=jax.random.key(9)), wiring.OneHot(SYMBOLS)
    )


def _prompt(chance: random.Random) -> Any:
    good = chance.choice(([0], [1, 2], [4, 3, 2], np.array([0, 1], np.uint8)))
    odd = ([], [[1]], [9], [-1], [0.5], "ab", None, [2**40], 3, ["a"])
    return good if chance.random() < 0.8 else chance.choice((*odd, anything(chance)))


def generating(case: Case) -> str:
    from ostinato.decoding import beam, sample

    chance, speaker = case.chance, _speaker(case.chance.randrange(2))
    prompt, count = _prompt(chance), mostly(chance, (1, 5, 20, 300), 0.85)
    count = 7 if isinstance(count, int) and count > 10**3 else count
    if chance.random() < 0.25:
        width = mostly(chance, (1, 3, 5, 0, -1), 0.9)
        width = 3 if isinstance(width, int) and width > 10**3 else width
        case.what = f"beam(network, {prompt!r:.40}, {count!r:.40}, {width!r:.40})"
        symbols, score = attempt(lambda: beam(speaker, prompt, count, width))
        check(math.isfinite(score) and score <= 0, f"a log probability of {score}")
    else:
        options: dict[str, Any] = {}
        for name, good in (
            ("temperature", (0, 0.5, 1.0, 100.0)), ("top_k", (1, 3, 99, None)),
            ("top_p", (0.5, 1.0, 1e-9, None)),
        ):  # fmt: skip
            if chance.random() < 0.35:
                options[name] = mostly(chance, good, 0.7)
        case.what = f"sample(network, {prompt!r:.40}, {count!r:.40}, {options})"
        one = key(chance)
        pieces = attempt(lambda: [*sample(speaker, prompt, count, key=one, **options)])
        symbols = np.concatenate(pieces)
    check(symbols.shape == (count,), f"{symbols.shape} symbols where {count} were asked for")
    check(symbols.min() >= 0 and symbols.max() < SYMBOLS, "a symbol out of range")
    return ACCEPTED


def scoring(case: Case) -> str:
    from ostinato.runs.analysis.evaluation import dynamic_evaluate, evaluate_network
    from ostinato.runs.analysis.spelling import word_fail_rate
    from ostinato.tasks import Text

    chance, speaker = case.chance, _speaker(case.chance.randrange(2))
    kind = chance.choice(("dynamic", "dynamic", "evaluate", "words"))
    if kind == "words":
        said = text(chance) + " " + text(chance)
        case.what = f"word_fail_rate({said!r:.60})"
        rate = attempt(lambda: word_fail_rate(said, {"a", "the"}))
        check(rate is None or 0 <= rate <= 1, f"a rate of {rate}")
        return ACCEPTED
    if kind == "evaluate":
        task = Text.of("abcde" * 40, length=8)
        part, size = (
            mostly(chance, ("valid", "test", "train", "no"), 0.9),
            mostly(chance, (1, 4, 0, -1)),
        )
        case.what = f"evaluate_network(network, task, {part!r:.40}, {size!r:.40})"
        value = attempt(lambda: evaluate_network(speaker, task, part, size))
    else:
        symbols = np.array([chance.randrange(SYMBOLS) for _ in range(chance.choice((0, 1, 2, 45)))])
        given = mostly(chance, (symbols, symbols, symbols + 3, symbols * 1.0, symbols[None]), 0.95)
        options: dict[str, Any] = {}
        for name, good in (
            ("rate", (0.03, 0.0, 10.0)),
            ("window", (20, 5)),
            ("decay", (0.0, 0.5, 1.0)),
        ):
            if chance.random() < 0.4:
                options[name] = mostly(chance, good, 0.75)
        case.what = f"dynamic_evaluate(network, {given!r:.60}, {options})"
        value = attempt(lambda: dynamic_evaluate(speaker, given, **options))
    check(math.isfinite(value) and value >= 0, f"a score of {value}")
    return ACCEPTED


def weights(case: Case) -> str:
    """Save, harm or not, and load: the same numbers, or a refusal."""
    from ostinato import count_parameters, load_weights, save_weights

    chance = case.chance
    module = sound_module(chance)
    file = case.folder / "weights.safetensors"
    count_parameters(module)
    if chance.random() < 0.2:
        place = path(chance, case.folder) if chance.random() < 0.8 else anything(chance)
        safe = not isinstance(place, str) or not place.startswith("/")
        place, given = (place if safe else "x"), mostly(chance, (module, {"a": 1.0}, {}), 0.8)
        case.what = f"save_weights({place!r:.60}, {type(given).__name__})"
        attempt(lambda: save_weights(place, given))
        return ACCEPTED
    save_weights(file, module)
    words, whole = "", file.read_bytes()
    if chance.random() < 0.7:
        words = chance.choice((bits, cut, header, header, longer, replaced))(file, case)
    same = file.is_file() and file.read_bytes() == whole
    like = module if chance.random() < 0.7 else sound_module(chance)
    case.what = f"load_weights of {type(module).__name__} for {type(like).__name__}, {words}"
    loaded = attempt(lambda: load_weights(file, like))
    check(jax.tree.structure(loaded) == jax.tree.structure(like), "another module was loaded")
    if not same and ", signed" not in words:
        for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(module), strict=True):
            check(np.array_equal(a, b, equal_nan=True), f"harm was not noticed: {words}")
    if file.is_dir():
        shutil.rmtree(file)
    return ACCEPTED


def initialising(case: Case) -> str:
    from ostinato.cells import initialisers

    chance = case.chance
    name = chance.choice(("normal", "orthogonal", "sparse", "incoming", "spectral_radius"))
    first = mostly(chance, (0.5, 1.0, 2, 0, -1), 0.6)
    shape = mostly(chance, ((3, 3), (3, 4), (0, 0), (1, 1), (4, 3)), 0.9)
    if isinstance(shape, int):
        shape = (3, shape % 9)
    dtype = mostly(chance, (jnp.float32, jnp.bfloat16, jnp.int32), 0.9)
    case.what = f"{name}({first!r:.40})(key, {shape!r:.40}, {dtype!r:.40})"
    one = key(chance)
    drawn = attempt(lambda: getattr(initialisers, name)(first)(one, shape, dtype))
    check(drawn.shape == tuple(shape), f"shape {drawn.shape}")
    given = isinstance(first, int | float) and math.isfinite(first) and abs(first) < 1e30
    finite = bool(jnp.all(jnp.isfinite(drawn.astype(jnp.float32))))
    check(finite or not given, f"{name} is not finite")
    return ACCEPTED


def planning(case: Case) -> str:
    """Schedules, clipping and curriculum."""
    from ostinato.learning.clipping import clip_factor, no_average
    from ostinato.learning.schedules import SCHEDULES, factor, length_at

    chance = case.chance
    kind = chance.choice(("schedule", "clip", "length"))
    if kind == "schedule":
        name, steps = mostly(chance, SCHEDULES, 0.9), mostly(chance, (1, 2, 100), 0.6)
        warmup, step = mostly(chance, (0, 1, 10), 0.8), mostly(chance, (0, 1, 50, 10**6), 0.9)
        case.what = f"factor({name!r:.40}, {steps!r:.40}, {warmup!r:.40})({step!r:.40})"
        value = attempt(lambda: float(factor(name, steps, warmup)(step)))
        check(0 <= value <= 1 or step < 0, f"a factor of {value}")
    elif kind == "clip":
        clip, norm = (
            mostly(chance, ("1", "auto", "off", "0.5"), 0.7),
            mostly(chance, (0.0, 1.0, 9.0), 0.7),
        )
        case.what = f"clip_factor({clip!r:.40}, {norm!r:.40})"
        given = attempt(lambda: jnp.asarray(np.asarray(norm, float)))  # a norm is real
        value = float(attempt(lambda: clip_factor(clip, given, no_average()))[0])
        check(0 <= value <= 1 or not _finite(norm), f"a factor of {value}")
    else:
        args = [mostly(chance, (0, 1, 5, 100), 0.7) for _ in range(4)]
        case.what = f"length_at{tuple(args)!r:.100}"
        attempt(lambda: length_at(*args))
    return ACCEPTED


def _finite(x: Any) -> bool:
    return isinstance(x, int | float) and math.isfinite(x)


def learning(case: Case) -> str:
    """A step of a learner on a small batch: finite, and of the same structure."""
    from ostinato import learning as l
    from ostinato.data import Batch
    from ostinato.learning.schedules import SCHEDULES
    from ostinato.losses import CrossEntropy

    chance, speaker = case.chance, _speaker(0)
    options: dict[str, Any] = {}
    for name, good in (
        ("rate", (None, 0.1)), ("momentum", (0.9,)), ("schedule", SCHEDULES), ("warmup", (0, 1)),
        ("clip", ("1", "auto", "off")), ("weight_decay", (0.0, 0.1)),
    ):  # fmt: skip
        if chance.random() < 0.3:
            options[name] = mostly(chance, good, 0.6)
    kind = mostly(chance, ("sgd", "adam", "adam", "hf"), 0.9)
    steps = mostly(chance, (1, 100), 0.85)
    case.what = f"learner {kind!r:.40}, steps {steps!r:.40}, {options}"
    objective = l.Objective(CrossEntropy())
    xs = jnp.asarray([[0, 1], [2, 3], [4, 0]], jnp.int32)
    batch = Batch(xs, (xs + 1) % SYMBOLS, jnp.ones(xs.shape))

    def step():
        if kind == "hf":
            learner: Any = l.HessianFree(objective, iterations=mostly(chance, (2, 3), 0.7))
        else:
            learner = l.FirstOrder(kind, objective, steps, **options)
        memory = learner.initial(speaker)
        return learner.step(speaker, memory, learner.start(speaker, batch), batch)

    after, _, _, report = attempt(step)
    check(jax.tree.structure(after) == jax.tree.structure(speaker), "another network")
    check(math.isfinite(float(report["loss"])), "the loss is not finite")
    return ACCEPTED


def measuring(case: Case) -> str:
    """A measure of the lens on a small batch."""
    from ostinato import lens

    chance = case.chance
    name = chance.choice(MEASURES)
    measure: Any = getattr(lens, name)
    cell: Any = network(chance) if chance.random() < 0.3 else sound_cell(chance)
    steps, width = chance.choice((0, 1, 4, 4, 4)), chance.choice((1, 2, 2))
    xs: Any = jnp.ones((steps, width, INPUTS))
    if not cell.input_axes:
        xs = jnp.zeros((steps, width), jnp.int32)
    xs = mostly(chance, (xs,), 0.92)
    at = {"at": mostly(chance, (-1, 0, 2, 9, -9), 0.8)} if chance.random() < 0.3 else {}
    one, matrices = key(chance), (np.eye(3), np.ones((2, 3)), np.zeros((0, 0)), 3.0)
    calls: dict[str, Callable[[], Any]] = {
        "gradient_by_lag": lambda: measure(cell, xs, lambda o: jnp.sum(o), **at),
        "jacobian_by_lag": lambda: measure(cell, xs, **at),
        "influence_by_lag": lambda: measure(cell, xs, **at),
        "ignored_before": lambda: measure(cell, xs, **at),
        "preactivation_jacobian_norms": lambda: measure(cell, xs, **at),
        "recurrent_matrices": lambda: measure(mostly(chance, (cell,), 0.9)),
        "hochreiter_bound": lambda: measure(cell, mostly(chance, ([1, 2], [], [-1]), 0.7)),
        "singular_value_bound": lambda: measure(cell, mostly(chance, ([1, 2], [], [-1]), 0.7)),
        "path_sum": lambda: measure(cell, xs, *(chance.choice((0, 1, 3, -1, 9)) for _ in range(4))),
        "toy_contribution": lambda: measure(real(chance), mostly(chance, ([0, 5], [-1], []), 0.8)),
        "lyapunov_exponent": lambda: measure(cell, xs, key=one),
        "fixed_points": lambda: measure(
            cell, key=one, starts=mostly(chance, (2, 0, -1), 0.9) if chance.random() < 0.5 else 2,
            iterations=5,
        ),
        "spectral_radius": lambda: measure(mostly(chance, matrices)),
        "largest_singular_value": lambda: measure(mostly(chance, matrices)),
        "memory_length": lambda: measure(
            mostly(chance, ([1.0, 0.5, 0.1], [], [math.nan], [0.0, 0.0]), 0.9), share=real(chance)
        ),
    }  # fmt: skip
    words = f"{type(cell).__name__}, {getattr(xs, 'shape', xs)!r:.40}, {at}"
    case.what = f"{name}({words})"
    attempt(calls.get(name, lambda: measure(cell, xs)))
    return ACCEPTED


MEASURES = (
    "hochreiter_bound", "preactivation_jacobian_norms", "singular_value_bound", "gradient_by_lag",
    "jacobian_by_lag", "step_jacobians", "forget_share", "memory_conditions", "memory_split",
    "memory_length", "path_sum", "toy_contribution", "ignored_before", "influence_by_lag",
    "recurrent_matrices", "dead_units", "saturation", "fixed_points",
    "largest_singular_value", "lyapunov_exponent", "spectral_radius",
)  # fmt: skip

CALLS: tuple[tuple[Callable[[Case], str], int], ...] = (
    (generating, 5), (scoring, 4), (weights, 6), (initialising, 3), (planning, 4), (learning, 1),
    (measuring, 2),
)  # fmt: skip
