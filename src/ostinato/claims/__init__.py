"""Statements from the literature on recurrent networks, each with a computed verdict.

One claim per file. `ostinato verify` checks them all; `docs/claims.md` lists the results. Each
declares a falsehood that its check refuses, and `ostinato verify --falsehoods` plants it.

Example:
    >>> for result in verify(["toy-net", "softmax-hessian"]):
    ...     print(result.claim.name, result.finding.verdict, sep=": ")
    toy-net: holds when the unit is linear, or an active ReLU, and |w| ≠ 1
    softmax-hessian: holds
"""

import difflib
from collections.abc import Iterable

from ..errors import BadInput
from . import (
    backwards_in_time,
    constant_error_flow,
    echo_state_by_singular_value,
    eigenvalue_equals_singular_value,
    forget_gate_flow,
    forget_gates_govern,
    gauss_newton_as_printed,
    gauss_newton_is_semidefinite,
    gauss_newton_of_linear_outputs,
    general_theorem,
    hessian_product_costs_twice,
    hochreiter_bound,
    hopfield_capacity,
    jacobian_at_a_fixed_point,
    leak_sets_the_speed,
    leaky_integrator_as_printed,
    local_stability,
    lstm_equations_are_inexact,
    lstm_error_product,
    lstm_error_recursion,
    newton_step_as_printed,
    old_memory_in_the_jacobian,
    output_reads_the_preactivation,
    poor_solutions,
    r_forward_costs_two_passes,
    r_forward_of_gates,
    reduction_ratio_as_printed,
    relu_paths,
    relu_paths_bound,
    reversed_damping_rule,
    rtrl_equals_bptt,
    sigmoid_weights,
    singular_value_bound,
    slopes_left_of_weights,
    softmax_hessian,
    spectral_radius_bounds_gradient,
    spectral_radius_is_necessary,
    spectral_radius_is_sufficient,
    sqrt_memory,
    squashing_becomes_a_step,
    step_of_the_activation,
    stray_forget_gate,
    structural_damping,
    toy_net,
    transposed_weights_in_the_product,
    truncation_horizon,
    weights_leave_the_product,
    xor_ceiling,
)
from ._claim import SOURCES as SOURCES
from ._claim import Claim as Claim
from ._claim import Falsehood as Falsehood
from ._claim import Finding as Finding
from ._claim import Result as Result

CLAIMS: dict[str, Claim] = {
    module.CLAIM.name: module.CLAIM
    for module in (
        # the gradient over long times
        toy_net,
        hochreiter_bound,
        singular_value_bound,
        eigenvalue_equals_singular_value,
        weights_leave_the_product,
        slopes_left_of_weights,
        transposed_weights_in_the_product,
        step_of_the_activation,
        sigmoid_weights,
        squashing_becomes_a_step,
        relu_paths,
        relu_paths_bound,
        poor_solutions,
        output_reads_the_preactivation,
        # stability
        spectral_radius_is_necessary,
        spectral_radius_is_sufficient,
        spectral_radius_bounds_gradient,
        jacobian_at_a_fixed_point,
        local_stability,
        echo_state_by_singular_value,
        leak_sets_the_speed,
        leaky_integrator_as_printed,
        # the LSTM
        constant_error_flow,
        forget_gate_flow,
        lstm_equations_are_inexact,
        lstm_error_recursion,
        lstm_error_product,
        forget_gates_govern,
        stray_forget_gate,
        old_memory_in_the_jacobian,
        # ways to the gradient, and what they cost
        general_theorem,
        rtrl_equals_bptt,
        truncation_horizon,
        sqrt_memory,
        backwards_in_time,
        # second order
        softmax_hessian,
        newton_step_as_printed,
        gauss_newton_as_printed,
        gauss_newton_of_linear_outputs,
        gauss_newton_is_semidefinite,
        r_forward_costs_two_passes,
        r_forward_of_gates,
        hessian_product_costs_twice,
        reduction_ratio_as_printed,
        reversed_damping_rule,
        structural_damping,
        # tasks
        xor_ceiling,
        # networks that are not trained
        hopfield_capacity,
    )
}


def named(names: Iterable[str] | None = None) -> list[Claim]:
    """The claims with these names, or all claims."""
    found = []
    for name in CLAIMS if names is None else names:
        if name not in CLAIMS:
            near = difflib.get_close_matches(name.lower(), CLAIMS, n=3, cutoff=0.4)
            hint = (
                f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(CLAIMS)}"
            )
            raise BadInput(f"there is no claim {name}; {hint}")
        found.append(CLAIMS[name])
    return found


def verify(names: Iterable[str] | None = None) -> list[Result]:
    """Check the claims with these names, or all claims, one after the other."""
    return [claim.verify() for claim in named(names)]
