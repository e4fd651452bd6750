"""The doctor: what is wrong with a run, in plain English and with the evidence."""

from . import data_faults, learning_faults, network_faults
from .evidence import Data as Data
from .evidence import Evidence as Evidence
from .evidence import Goal as Goal
from .evidence import History as History
from .evidence import Network as Network
from .finding import Finding as Finding

# All rules, causes before their effects.
RULES = (
    data_faults.batch_and_time_swapped,
    data_faults.targets_not_shifted,
    data_faults.vocabulary_mismatch,
    data_faults.state_of_other_sequences,
    learning_faults.exploding_gradient,
    learning_faults.clipping_always_on,
    learning_faults.clipping_never_on,
    learning_faults.rate_too_high,
    learning_faults.rate_too_low,
    learning_faults.window_too_short,
    network_faults.dead_units,
    network_faults.gates_shut,
    network_faults.gates_open,
    network_faults.saturated_units,
    network_faults.vanishing_gradient,
    network_faults.memory_too_short,
    learning_faults.generalisation_gap,
    learning_faults.overfitting,
    learning_faults.diverged,
    learning_faults.loss_at_chance,
)


def diagnose(evidence: Evidence) -> list[Finding]:
    """What is wrong, causes before their effects; empty if nothing is.

    Example:
        >>> from dataclasses import replace
        >>> from ostinato.runs.examination import gather
        >>> evidence = gather(run)
        >>> wrong = replace(evidence, data=replace(evidence.data, same=1.0, next=0.1))
        >>> diagnose(wrong)[0].words
        'The targets are inputs that the network has already seen.'
    """
    found = (rule(evidence) for rule in RULES)
    return [finding for finding in found if finding is not None]
