"""Random programs, for hypothesis."""

from hypothesis import strategies as st

VARIABLES = ("x", "y", "z")


@st.composite
def programs(draw):
    """The text of a program, and its inputs. Most of them loop for long or forever; some halt."""
    count = draw(st.integers(3, 16))
    names = st.sampled_from(VARIABLES[: draw(st.integers(1, 3))])
    labels = st.integers(0, count).map(lambda line: f"l{line}")
    forms = {
        "inc": names.map(lambda x: f"inc {x}"),
        "dec": names.map(lambda x: f"dec {x}"),
        "ifzero": st.builds("ifzero {} goto {}".format, names, labels),
        "goto": labels.map(lambda label: f"goto {label}"),
        "halt": st.just("halt"),
    }
    # Few jumps, and few ends besides the jump back of the last instruction, so that much happens.
    kinds = st.sampled_from(["inc", "dec", "ifzero"] * 6 + ["goto", "halt"])
    chosen = [*draw(st.lists(kinds, min_size=count - 1, max_size=count - 1)), "goto"]
    lines = [f"l{line}: {draw(forms[kind])}" for line, kind in enumerate(chosen)]
    text = "\n".join([*lines, f"l{count}:"])
    inputs = draw(st.dictionaries(st.sampled_from(VARIABLES), st.integers(0, 500)))
    return text, {name: value for name, value in inputs.items() if f" {name}" in text}
