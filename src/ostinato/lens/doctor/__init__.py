"""The doctor: what is wrong with a run, in plain English and with the evidence."""

from . import rules_for_data, rules_for_network, rules_for_training
from .evidence import Data as Data
from .evidence import Evidence as Evidence
from .evidence import Finding as Finding
from .evidence import Forecasts as Forecasts
from .evidence import Goal as Goal
from .evidence import History as History
from .evidence import Network as Network

# All rules, causes before their effects.
RULES = (
    rules_for_data.batch_and_time_swapped,
    rules_for_data.targets_not_shifted,
    rules_for_data.vocabulary_mismatch,
    rules_for_data.state_of_other_sequences,
    rules_for_data.too_little_data,
    rules_for_data.no_validation_part,
    rules_for_training.exploding_gradient,
    rules_for_training.clipping_always_on,
    rules_for_training.clipping_never_on,
    rules_for_training.rate_too_high,
    rules_for_training.rate_too_low,
    rules_for_training.window_too_short,
    rules_for_network.dead_units,
    rules_for_network.gates_shut,
    rules_for_network.gates_open,
    rules_for_network.saturated_units,
    rules_for_network.vanishing_gradient,
    rules_for_network.memory_too_short,
    rules_for_training.generalisation_gap,
    rules_for_training.overfitting,
    rules_for_training.diverged,
    rules_for_training.loss_at_chance,
    rules_for_data.worse_than_naive,
    rules_for_data.intervals_too_narrow,
    rules_for_data.intervals_too_wide,
)


def diagnose(evidence: Evidence) -> list[Finding]:
    """What is wrong, causes before their effects; empty if nothing is.

    Example:
        >>> from dataclasses import replace
        >>> from ostinato.runs.analysis.examination import gather
        >>> evidence = gather(run)
        >>> wrong = replace(evidence, data=replace(evidence.data, same=1.0, next=0.1))
        >>> diagnose(wrong)[0].words
        'The targets are inputs that the network has already seen.'
    """
    findings = (rule(evidence) for rule in RULES)
    return [finding for finding in findings if finding is not None]
