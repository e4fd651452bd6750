"""Random programs, for hypothesis."""

from hypothesis import strategies as st

VARIABLES = ("x", "y", "z")


@st.composite
def programs(draw):
    """The text of a program, and its inputs. Many of them loop forever, and some halt."""
    count = draw(st.integers(1, 12))
    names = st.sampled_from(VARIABLES[: draw(st.integers(1, 3))])
    labels = st.integers(0, count).map(lambda line: f"l{line}")
    forms = {
        "inc": names.map(lambda x: f"inc {x}"),
        "dec": names.map(lambda x: f"dec {x}"),
        "ifzero": st.builds("ifzero {} goto {}".format, names, labels),
        "goto": labels.map(lambda label: f"goto {label}"),
        "halt": st.just("halt"),
    }
    # More changes and tests than jumps, so that something happens.
    kinds = st.sampled_from(["inc", "inc", "dec", "dec", "ifzero", "ifzero", "goto", "halt"])
    lines = [f"l{line}: {draw(forms[draw(kinds)])}" for line in range(count)]
    text = "\n".join([*lines, f"l{count}:"])
    inputs = draw(st.dictionaries(st.sampled_from(VARIABLES), st.integers(0, 30)))
    return text, {name: value for name, value in inputs.items() if f" {name}" in text}
