"""The settings that most people need: those that help and forms show first."""

# The member of each section that is taken where none is named.
USUAL: dict[str, str | None] = {"task": "text", "cell": "mlstm", "learner": "adam", "first": None}
SECTIONS = "runs.config.sections"
# By panel of the help, the modules whose sources declare them.
COMMON: dict[str, dict[str, tuple[str, ...]]] = {
    "Data and task": {
        "tasks.series.series_settings": ("target", "horizon", "length", "split"),
        "tasks.text.classification": ("text", "label"),
    },
    "Network": {
        SECTIONS: ("units", "layers", "budget", "bidirectional", "dropout", "layer_norm"),
    },
    "Learning": {
        "learning.first_order": ("rate", "schedule", "clip", "weight_decay"),
        SECTIONS: ("batch",),
    },
    "Run": {
        SECTIONS: ("steps", "epochs", "patience", "minutes", "seed", "precision"),
    },
}
# A page about one task shows all of its settings first, but these.
SELDOM = (
    *("columns", "carry", "washout", "scale", "missing", "encoding", "separator", "unknown"),
    *("sampling", "sampling_steps", "smoothing", "tied", "reverse", "min_count", "freeze_vectors"),
    *("vectors", "target_vectors", "valid", "test", "valid_source", "valid_target"),
    *("test_source", "test_target", "longest", "coverage", "gaps", "duplicates"),
)
_NAMES = {name for modules in COMMON.values() for names in modules.values() for name in names}


def is_common(section: str, name: str) -> bool:
    """Whether a setting of a section of the configuration is shown first.

    Example:
        >>> is_common("training", "steps"), is_common("training", "keep")
        (True, False)
    """
    return name in _NAMES or (section == "task" and name not in SELDOM)
