"""The functions of numbers that a step may have, and how each language writes them.

In C, JavaScript and torch `{}` stands for what a function is applied to. In ONNX a function is one
node or several: `("Not", ("Equal", X, Y))` are two, and a number is a constant. The languages write
themselves what depends on more than the name: conversions, powers, a choice, whole numbers.
"""

from typing import Any, NamedTuple

X, Y = "x", "y"  # what a function is applied to, in ONNX


class Primitive(NamedTuple):
    """How a function is written, with an empty text where it cannot be."""

    c: str
    javascript: str
    torch: str
    onnx: tuple[Any, ...]


def _infix(sign: str, *onnx: Any) -> Primitive:
    return Primitive(f"({{}} {sign} {{}})", f"({{}} {sign} {{}})", f"{{}} {sign} {{}}", onnx)


def _same(name: str, *onnx: Any) -> Primitive:
    """A function with the same name everywhere."""
    return Primitive(f"{name}f({{}})", f"Math.{name}({{}})", f"torch.{name}({{}})", onnx)


PRIMITIVES = {
    "abs": Primitive("fabsf({})", "Math.abs({})", "torch.abs({})", ("Abs", X)),
    "add": _infix("+", "Add", X, Y),
    "and": _infix("&", "And", X, Y),
    "ceil": _same("ceil", "Ceil", X),
    "cos": _same("cos", "Cos", X),
    "div": _infix("/", "Div", X, Y),
    "eq": _infix("==", "Equal", X, Y),
    "erf": Primitive("erff({})", "", "torch.erf({})", ("Erf", X)),
    "exp": _same("exp", "Exp", X),
    "expm1": _same("expm1", "Sub", ("Exp", X), 1),
    "floor": _same("floor", "Floor", X),
    "ge": _infix(">=", "GreaterOrEqual", X, Y),
    "gt": _infix(">", "Greater", X, Y),
    "is_finite": Primitive(
        "(isfinite({}) != 0)",
        "Number.isFinite({})",
        "torch.isfinite({})",
        ("Not", ("Or", ("IsInf", X), ("IsNaN", X))),
    ),
    "le": _infix("<=", "LessOrEqual", X, Y),
    "log": _same("log", "Log", X),
    "log1p": _same("log1p", "Log", ("Add", X, 1)),
    "logistic": Primitive(
        "@name@_logistic({})",
        "(1 / (1 + Math.exp(-{})))",
        "torch.sigmoid({})",
        # Sigmoid of ONNX Runtime is off by 2 % where it is near 0.
        ("Reciprocal", ("Add", ("Exp", ("Neg", X)), 1)),
    ),
    "lt": _infix("<", "Less", X, Y),
    "max": Primitive(
        "@name@_max({}, {})", "Math.max({}, {})", "torch.maximum({}, {})", ("Max", X, Y)
    ),
    "min": Primitive(
        "@name@_min({}, {})", "Math.min({}, {})", "torch.minimum({}, {})", ("Min", X, Y)
    ),
    "mul": _infix("*", "Mul", X, Y),
    "ne": _infix("!=", "Not", ("Equal", X, Y)),
    "neg": Primitive("(-{})", "(-{})", "torch.neg({})", ("Neg", X)),
    "not": Primitive("(!{})", "(!{})", "torch.logical_not({})", ("Not", X)),
    "or": _infix("|", "Or", X, Y),
    "pow": Primitive("powf({}, {})", "Math.pow({}, {})", "torch.pow({}, {})", ("Pow", X, Y)),
    "round": Primitive("rintf({})", "", "torch.round({})", ("Round", X)),
    "rsqrt": Primitive(
        "(1.0f / sqrtf({}))",
        "(1 / Math.sqrt({}))",
        "torch.rsqrt({})",
        ("Reciprocal", ("Sqrt", X)),
    ),
    "sign": Primitive(
        "@name@_sign({})",
        "Math.sign({})",
        # torch has 0 for what is no number
        "torch.where({0} == {0}, torch.sign({0}), {0})",
        ("Sign", X),
    ),
    "sin": _same("sin", "Sin", X),
    "sqrt": _same("sqrt", "Sqrt", X),
    "square": Primitive("@name@_square({})", "(({0}) * ({0}))", "torch.square({})", ("Mul", X, X)),
    "sub": _infix("-", "Sub", X, Y),
    "tan": _same("tan", "Tan", X),
    "tanh": Primitive("@name@_tanh({})", "Math.tanh({})", "torch.tanh({})", ("Tanh", X)),
    "xor": _infix("^", "Xor", X, Y),
}
