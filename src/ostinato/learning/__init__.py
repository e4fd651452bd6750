"""Learners: how a network's weights change on a batch."""

from ._learner import Learner as Learner
from .curriculum import length_at as length_at
from .evolution_strategy import EvolutionStrategy as EvolutionStrategy
from .first_order import FIRST_ORDER as FIRST_ORDER
from .first_order import MOMENTUM as MOMENTUM
from .first_order import FirstOrder as FirstOrder
from .gradients import GRADIENTS as GRADIENTS
from .gradients import gradient_named as gradient_named
from .hessian_free import Damping as Damping
from .hessian_free import HessianFree as HessianFree
from .hybrid import Hybrid as Hybrid
from .objective import Objective as Objective
from .perceptron import Perceptron as Perceptron
from .saddle_free import SaddleFree as SaddleFree
from .schedules import SCHEDULES as SCHEDULES
from .storage import Hebb as Hebb
from .storage import PseudoInverse as PseudoInverse
from .transformation import Transformation as Transformation
from .transformation import learner_of as learner_of

# The learners by their names on the command line.
LEARNERS: dict[str, type[Learner]] = {
    **dict.fromkeys(FIRST_ORDER, FirstOrder),
    "hf": HessianFree,
    "saddle-free": SaddleFree,
    "es": EvolutionStrategy,
    "perceptron": Perceptron,
    "hebb": Hebb,
    "pseudo-inverse": PseudoInverse,
}
