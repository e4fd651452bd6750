"""Known cells as graphs."""

from .graph import Graph, Node

# h' = tanh(W x + R h + b)
SIMPLE = Graph(1, (Node("linear", (0,)), Node("tanh", (1,))), (2,), 2)

# The linear maps are i, f, g, o, in the order of the blocks of `cells.LSTM`; states h, c.
LSTM = Graph(
    2,
    (
        Node("linear", (0,)),  # 2: i
        Node("linear", (0,)),  # 3: f
        Node("linear", (0,)),  # 4: g
        Node("linear", (0,)),  # 5: o
        Node("sigmoid", (2,)),
        Node("sigmoid", (3,)),
        Node("tanh", (4,)),
        Node("sigmoid", (5,)),
        Node("multiply", (7, 1)),  # 10: f c
        Node("multiply", (6, 8)),  # 11: i g
        Node("add", (10, 11)),  # 12: c'
        Node("tanh", (12,)),
        Node("multiply", (9, 13)),  # 14: h'
    ),
    (14, 12),
    14,
)

# The linear maps are z, r and the candidate, in the order of the blocks of `cells.GRU`.
GRU = Graph(
    1,
    (
        Node("linear", (0,)),  # 1: z
        Node("linear", (0,)),  # 2: r
        Node("sigmoid", (1,)),
        Node("sigmoid", (2,)),
        Node("multiply", (4, 0)),  # 5: r h
        Node("linear", (5,)),  # 6: the candidate
        Node("tanh", (6,)),
        Node("complement", (3,)),
        Node("multiply", (8, 0)),
        Node("multiply", (3, 7)),
        Node("add", (9, 10)),  # 11: h'
    ),
    (11,),
    11,
)

KNOWN = {"simple": SIMPLE, "lstm": LSTM, "gru": GRU}
