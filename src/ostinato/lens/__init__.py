"""The lens: where the gradient goes, and how long a network remembers.

Each measure is a function of a network and a batch, and returns plain numbers.
"""

from .echo_state import EchoState as EchoState
from .echo_state import echo_state as echo_state
from .echo_state import memory_capacity as memory_capacity
from .find_unit import find_unit as find_unit
from .gradient_by_lag import gradient_by_lag as gradient_by_lag
from .gradient_by_lag import memory_length as memory_length
from .gradient_by_lag import reach as reach
from .jacobians import hochreiter_bound as hochreiter_bound
from .jacobians import jacobian_by_lag as jacobian_by_lag
from .jacobians import largest_singular_value as largest_singular_value
from .jacobians import preactivation_jacobian_norms as preactivation_jacobian_norms
from .jacobians import singular_value_bound as singular_value_bound
from .jacobians import step_jacobians as step_jacobians
from .lstm_split import forget_share as forget_share
from .lstm_split import memory_conditions as memory_conditions
from .lstm_split import memory_split as memory_split
from .paths import path_sum as path_sum
from .paths import toy_contribution as toy_contribution
from .patterns import pattern as pattern
from .perturbation import ignored_before as ignored_before
from .perturbation import influence_by_lag as influence_by_lag
from .reading import read as read
from .reading import similar_states as similar_states
from .saturation import dead_units as dead_units
from .saturation import gates_over_time as gates_over_time
from .saturation import saturation as saturation
from .spectrum import fixed_points as fixed_points
from .spectrum import lyapunov_exponent as lyapunov_exponent
from .spectrum import recurrent_matrices as recurrent_matrices
from .spectrum import spectral_radius as spectral_radius
