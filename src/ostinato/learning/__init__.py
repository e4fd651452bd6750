"""Learners: how a network's weights change on a batch."""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from .evolution_strategy import EvolutionStrategy as EvolutionStrategy
    from .first_order import FirstOrder as FirstOrder
    from .hessian_free import Damping as Damping
    from .hessian_free import HessianFree as HessianFree
    from .hybrid import Hybrid as Hybrid
    from .layer_wise import LayerWise as LayerWise
    from .learner import Learner as Learner
    from .learner import RunSize as RunSize
    from .learner import report_of as report_of
    from .objective import Objective as Objective
    from .perceptron import Perceptron as Perceptron
    from .saddle_free import SaddleFree as SaddleFree
    from .storage import Hebb as Hebb
    from .storage import PseudoInverse as PseudoInverse
    from .transformation import Transformation as Transformation

__getattr__, __dir__, __all__ = attach(__name__, "LEARNERS")

# The learners by their names on the command line.
LEARNERS = Members(
    __name__,
    {
        "sgd": "first_order:FirstOrder",
        "heavy-ball": "first_order:FirstOrder",
        "nesterov": "first_order:FirstOrder",
        "adagrad": "first_order:FirstOrder",
        "adadelta": "first_order:FirstOrder",
        "rmsprop": "first_order:FirstOrder",
        "adam": "first_order:FirstOrder",
        "adamw": "first_order:FirstOrder",
        "hf": "hessian_free.learner:HessianFree",
        "saddle-free": "saddle_free:SaddleFree",
        "es": "evolution_strategy:EvolutionStrategy",
        "perceptron": "perceptron:Perceptron",
        "hebb": "storage:Hebb",
        "pseudo-inverse": "storage:PseudoInverse",
    },
)
