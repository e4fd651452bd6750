"""Every learner, for the conformance suite: what is listed here is tested.

A member is a function of the objective. It must halve the loss of `test_conformance.py` within
`STEPS` steps, so it comes with a rate for so short a run.
"""

import optax

from ostinato.learning import (
    Damping,
    EvolutionStrategy,
    FirstOrder,
    HessianFree,
    Hybrid,
    SaddleFree,
    Transformation,
)
from ostinato.learning.first_order import FIRST_ORDER
from ostinato.learning.gradients import gradient_named
from ostinato.learning.schedules import SCHEDULES

STEPS = 60
RATES = {"adagrad": 0.3, "adadelta": 50.0, "rmsprop": 0.05, "adam": 0.1, "adamw": 0.1}


def _member(name, gradient=None, **options):
    rate = RATES.get(name, 0.5)
    gradient = gradient or gradient_named("full")
    return lambda objective: FirstOrder(
        name, objective, STEPS, gradient, **{"rate": rate, **options}
    )


LEARNERS = {
    **{name: _member(name) for name in FIRST_ORDER},
    **{f"adam, {name}": _member("adam", schedule=name, warmup=2, epoch=9.0) for name in SCHEDULES},
    "adagrad from zero": _member("adagrad", accumulator=0.0),
    "sgd, line search": _member("sgd", rate=4.0, schedule="line-search", clip="off"),
    "adam, clipped by itself": _member("adam", clip="auto"),
    "adam, truncated": _member("adam", gradient_named("truncated", window=2)),
    "adam, rtrl": _member("adam", gradient_named("rtrl")),
    "adam, omega": _member("adam", gradient_named("full", omega=0.01)),
    "a transformation of optax": lambda objective: Transformation(optax.lion(0.02), objective),
    "hf": lambda objective: HessianFree(objective, iterations=10),
    "hf, activation": lambda objective: HessianFree(
        objective, Damping(form="activation", ratio="undamped"), curvature=3, iterations=10
    ),
    "hf, by iteration": lambda objective: HessianFree(objective, iterations=10, adapt="iteration"),
    "hf, line search": lambda objective: HessianFree(
        objective, Damping(1e-3, 0.0), line_search=True, iterations=10
    ),
    "hf, preconditioned, in turn": lambda objective: HessianFree(
        objective, precondition=True, curvature=3, draw="turn", judge="curvature", chunk=3
    ),
    "sgd, then hf": lambda objective: Hybrid(
        FirstOrder("sgd", objective, STEPS), HessianFree(objective, iterations=10), steps=3
    ),
    "sgd, saddle-free where it is stuck": lambda objective: Hybrid(
        FirstOrder("sgd", objective, STEPS), SaddleFree(objective, count=5), steps=3, where="stuck"
    ),
    "saddle-free": lambda objective: SaddleFree(objective, count=10),
    "es": lambda objective: EvolutionStrategy(objective, STEPS, directions=32, sigma=0.1, rate=0.1),
}
