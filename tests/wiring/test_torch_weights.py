"""Networks taken over from torch give torch's outputs, final states and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import unroll
from ostinato.cells import GRU, LSTM, MLSTM, PeepholeLSTM, Simple
from ostinato.wiring import Bidirectional, Network, Readout, Stack
from ostinato.wiring.torch_weights import from_torch, to_torch

STEPS, BATCH, INPUTS, UNITS = 7, 4, 5, 3
LENGTHS = [4, 6, 1, 5]  # neither sorted nor up to STEPS
TOLERANCE = 1e-5

TORCH = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
OURS = {"rnn": Simple, "lstm": LSTM, "gru": GRU}

# The kind, and what torch is told beside the sizes.
KINDS = {
    "rnn tanh": ("rnn", {"nonlinearity": "tanh"}),
    "rnn relu": ("rnn", {"nonlinearity": "relu"}),
    "lstm": ("lstm", {}),
    "gru": ("gru", {}),
}

# How torch lays the network out, and whether lengths and a first state are given.
TWO, BOTH = {"num_layers": 2}, {"bidirectional": True}
CASES = {
    "one layer": ({}, False, False),
    "one layer, no biases": ({"bias": False}, False, False),
    "one layer, lengths": ({}, True, True),
    "two layers": (TWO, False, True),
    "bidirectional": (BOTH, False, False),
    "two bidirectional layers, lengths": (TWO | BOTH, True, True),
}
PLAIN = ("one layer", "one layer, no biases", "two bidirectional layers, lengths")


def numpy(tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def network(kind, **options):
    import torch  # where it is needed: each process of the tests would take seconds for it

    torch.manual_seed(0)
    return getattr(torch.nn, TORCH[kind])(INPUTS, UNITS, **options)


def state_dict(net):
    return {name: value.numpy() for name, value in net.state_dict().items()}


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def by_torch(net, xs, lengths, first, of_ys, of_states):
    """Torch's outputs, final states and gradients of `Σ of_ys ys + Σ of_states states`.

    States are a list: of h alone, or of h and c, each `(layers * directions, batch, units)`.
    """
    import torch

    parameters = dict(net.named_parameters())
    xs = torch.tensor(xs, requires_grad=True)
    first = [torch.tensor(part, requires_grad=True) for part in first]
    given = xs
    if lengths is not None:
        given = torch.nn.utils.rnn.pack_padded_sequence(given, lengths, enforce_sorted=False)
    start = None if not first else tuple(first) if len(first) == 2 else first[0]
    ys, states = net(given, start)
    if lengths is not None:
        ys, _ = torch.nn.utils.rnn.pad_packed_sequence(ys, total_length=STEPS)
    states = list(states) if isinstance(states, tuple) else [states]
    loss = (torch.tensor(of_ys) * ys).sum()
    for weight, part in zip(of_states, states, strict=True):
        loss = loss + (torch.tensor(weight) * part).sum()
    loss.backward()
    gradients = {name: value.grad.numpy() for name, value in parameters.items()}
    return numpy([ys])[0], numpy(states), (gradients, xs.grad.numpy(), numpy(x.grad for x in first))


@eqx.filter_jit
def by_us(weights, kind, f, xs, lengths, first, of_ys, of_states):
    """The same from `from_torch` and `unroll`, with everything in torch's names and layout."""

    def loss(weights, xs, first):
        net = from_torch(weights, kind, f=f)
        structure = jax.tree.structure(net.initial((BATCH,)))
        leaves = [part[i] for i in range(len(of_states[0])) for part in first]
        state = jax.tree.unflatten(structure, leaves) if first else None
        ys, states = unroll(net, xs, state, lengths=lengths)
        leaves, count = jax.tree.leaves(states), len(of_states)
        states = [jnp.stack(leaves[i::count]) for i in range(count)]
        value = jnp.sum(of_ys * ys)
        for weight, part in zip(of_states, states, strict=True):
            value = value + jnp.sum(weight * part)
        return value, (ys, states)

    gradient = jax.grad(loss, argnums=(0, 1, 2), has_aux=True)
    gradients, (ys, states) = gradient(weights, xs, first)
    return ys, states, gradients


def assert_same(ours, theirs, what):
    assert ours.dtype == theirs.dtype == np.float32, what
    assert ours.shape == theirs.shape, what
    scale = np.abs(theirs).max()
    assert scale > 0, what  # or there would be nothing to compare
    assert np.abs(ours - theirs).max() <= TOLERANCE * scale, what


def kinds_and_cases():
    """Both kinds with several blocks in every case; of the plain ones what differs in a block."""
    for name in KINDS:
        for case in CASES:
            if name in ("lstm", "gru") or case in PLAIN:
                yield name, case


@pytest.mark.parametrize(("name", "case"), list(kinds_and_cases()))
def test_same_as_torch(name, case):
    kind, options = KINDS[name]
    layout, with_lengths, with_first = CASES[case]
    net = network(kind, **options, **layout)
    lengths = LENGTHS if with_lengths else None
    directions = 2 if net.bidirectional else 1
    parts, shape = 2 if kind == "lstm" else 1, (net.num_layers * directions, BATCH, UNITS)
    xs, of_ys = numbers(1, STEPS, BATCH, INPUTS), numbers(2, STEPS, BATCH, directions * UNITS)
    of_states = [numbers(3 + i, *shape) for i in range(parts)]
    first = [numbers(5 + i, *shape) for i in range(parts)] if with_first else []

    theirs = by_torch(net, xs, lengths, first, of_ys, of_states)
    f = options.get("nonlinearity", "tanh")
    lengths = None if lengths is None else np.array(lengths, np.int32)
    ours = by_us(state_dict(net), kind, f, xs, lengths, first, of_ys, of_states)

    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    expected = jax.tree_util.tree_leaves_with_path(theirs)
    for (path, wanted), given in zip(expected, jax.tree.leaves(ours), strict=True):
        assert_same(np.asarray(given), wanted, jax.tree_util.keystr(path))
    if with_lengths:
        past = np.arange(STEPS)[:, None] >= lengths
        assert not theirs[0][past].any() and not np.asarray(ours[0])[past].any()


@pytest.mark.parametrize("kind", TORCH)
def test_parts(kind):
    def load(**layout):
        return eqx.filter_eval_shape(from_torch, state_dict(network(kind, **layout)), kind)

    cell = OURS[kind]
    assert type(load()) is cell
    layer = load(bidirectional=True)
    assert type(layer) is Bidirectional
    assert type(layer.forward) is type(layer.backward) is cell
    stack = load(num_layers=3)
    assert type(stack) is Stack
    assert [type(part) for part in stack.layers] == 3 * [cell]
    stack = load(num_layers=2, bidirectional=True)
    assert [type(part) for part in stack.layers] == 2 * [Bidirectional]


def test_blocks_of_the_gru():
    weights = state_dict(network("gru"))
    ours = from_torch(weights, "gru")
    (A_r, A_z, A_n), (B_r, B_z, B_n), (p_r, p_z, p_n), (q_r, q_z, q_n) = (
        np.split(weights[f"{name}_l0"], 3)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    assert ours.reset == "after"
    np.testing.assert_array_equal(ours.W, np.concatenate([-A_z, A_r, A_n]).T)
    np.testing.assert_array_equal(ours.R, np.concatenate([-B_z, B_r]).T)
    np.testing.assert_array_equal(ours.U, B_n.T)
    np.testing.assert_array_equal(ours.b, np.concatenate([-(p_z + q_z), p_r + q_r, p_n]))
    np.testing.assert_array_equal(ours.d, q_n)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", TORCH)
def test_keeps_the_dtype(kind, bias, dtype):
    weights = state_dict(network(kind, num_layers=2, bidirectional=True, bias=bias))
    weights = {name: value.astype(dtype) for name, value in weights.items()}
    net = eqx.filter_eval_shape(from_torch, weights, kind)
    assert {leaf.dtype for leaf in jax.tree.leaves(net)} == {np.dtype(dtype)}


def without(weights, name):
    return {key: value for key, value in weights.items() if key != name}


def with_(weights, name, value):
    return weights | {name: value}


WRONG = {
    "kind": (lambda w: w, {"kind": "elman"}, "'rnn', 'lstm' or 'gru', got 'elman'"),
    "f of rnn": (lambda w: w, {"kind": "rnn", "f": "step"}, "'tanh' or 'relu'.*got 'step'"),
    "f of lstm": (lambda w: w, {"f": "relu"}, "f must be 'tanh' for kind 'lstm', got 'relu'"),
    "other kind": (lambda w: w, {"kind": "gru"}, r"weight_ih_l0 of shape \(9, 5\).*got \(12, 5\)"),
    "empty": (lambda w: {}, {}, "with 'weight_ih_l0', got none"),
    "no layer 0": (
        lambda w: {name.replace("l0", "l1"): value for name, value in w.items()},
        {},
        "with 'weight_ih_l0', got weight_ih_l1",
    ),
    "one weight": (lambda w: without(w, "weight_hh_l0"), {}, "with 'weight_hh_l0', got weight_ih"),
    "one bias": (lambda w: without(w, "bias_hh_l0"), {}, "with 'bias_hh_l0', got weight_ih_l0"),
    "one direction": (
        lambda w: with_(w, "weight_ih_l0_reverse", w["weight_ih_l0"]),
        {},
        "with 'weight_hh_l0_reverse', got weight_ih_l0",
    ),
    "prefix": (lambda w: with_(w, "encoder.bias", w["bias_ih_l0"]), {}, "got 'encoder.bias'"),
    "recurrent shape": (
        lambda w: with_(w, "weight_hh_l0", numbers(0, 8, 3)),
        {},
        r"weight_hh_l0 of shape \(12, 3\) for 'lstm', got \(8, 3\)",
    ),
    "bias shape": (
        lambda w: with_(w, "bias_hh_l0", numbers(0, 3)),
        {},
        r"bias_hh_l0 of shape \(12,\) for 'lstm', got \(3,\)",
    ),
    "scalar": (lambda w: with_(w, "weight_hh_l0", np.float32(1)), {}, r"of shape .*, got \("),
    "dtypes": (
        lambda w: with_(w, "bias_hh_l0", w["bias_hh_l0"].astype(np.float64)),
        {},
        "one floating-point dtype, got float32 for weight_ih_l0 and float64 for bias_hh_l0",
    ),
    "integers": (
        lambda w: {name: value.astype(np.int32) for name, value in w.items()},
        {},
        "floating-point dtype, got int32",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case):
    change, options, message = WRONG[case]
    weights = change(state_dict(network("lstm")))
    with pytest.raises(ValueError, match=message) as error:
        from_torch(weights, **({"kind": "lstm"} | options))
    assert "\n" not in str(error.value)


def test_refuses_a_second_layer_that_does_not_fit():
    weights = state_dict(network("gru", num_layers=2, bidirectional=True))
    weights["weight_ih_l1_reverse"] = weights["weight_ih_l1_reverse"][:, :UNITS]
    with pytest.raises(ValueError, match=r"weight_ih_l1_reverse of shape \(9, 6\).*got \(9, 3\)"):
        from_torch(weights, "gru")


def test_refuses_proj_size():
    weights = state_dict(network("lstm", proj_size=2))
    with pytest.raises(ValueError, match=r"proj_size is not supported.*got 'weight_hr_l0'"):
        from_torch(weights, "lstm")


@pytest.mark.parametrize("case", KINDS)
def test_a_module_says_what_it_is(case):
    kind, options = KINDS[case]
    theirs = network(kind, num_layers=2, bidirectional=True, **options)
    f = options.get("nonlinearity", "tanh")
    expected = from_torch(state_dict(theirs), kind, f=f)
    assert eqx.tree_equal(from_torch(theirs), expected)
    assert eqx.tree_equal(from_torch(theirs, kind, f=f), expected)


def test_other_modules_are_refused():
    import torch

    with pytest.raises(ValueError, match=r"expected a torch.nn.RNN, nn.LSTM or nn.GRU, got Linear"):
        from_torch(torch.nn.Linear(2, 3))
    with pytest.raises(ValueError, match=r"a module knows its kind, LSTM; got kind='gru'"):
        from_torch(network("lstm"), "gru")
    with pytest.raises(ValueError, match=r"a module knows its kind, RNN_TANH; got .*f='relu'"):
        from_torch(network("rnn"), f="relu")
    with pytest.raises(ValueError, match=r"proj_size is not supported"):
        from_torch(network("lstm", proj_size=2))


@pytest.mark.parametrize("case", KINDS)
def test_there_and_back(case):
    """A module of torch that became a network becomes the same module again."""
    kind, options = KINDS[case]
    theirs = network(kind, num_layers=2, bidirectional=True, **options)
    again = to_torch(from_torch(theirs))
    assert repr(again) == repr(theirs)
    xs = torch_numbers(STEPS, BATCH, INPUTS)
    np.testing.assert_allclose(*(net(xs)[0].detach().numpy() for net in (again, theirs)), atol=1e-6)
    assert eqx.tree_equal(from_torch(again), from_torch(theirs))


def torch_numbers(*shape):
    import torch

    return torch.tensor(numbers(1, *shape))


KEY = jax.random.key(0)
NOT_IN_TORCH = {
    "peepholes": lambda: PeepholeLSTM(3, 4, key=KEY),
    "GRU that resets before the product": lambda: GRU(3, 4, key=KEY),
    "the function sigmoid": lambda: Simple(3, 4, key=KEY, f="sigmoid"),
    "layers that differ": lambda: Stack([LSTM(3, 4, key=KEY), LSTM(4, 5, key=KEY)]),
    "module for MLSTM": lambda: MLSTM(3, 4, key=KEY),
    "module for Stack": lambda: Stack.of(LSTM, 3, [4, 4], key=KEY, skip=True),
    "module for Network": lambda: Network(LSTM(3, 4, key=KEY), Readout(4, 2, key=KEY)),
}


@pytest.mark.parametrize("what", NOT_IN_TORCH)
def test_what_torch_does_not_have_is_refused(what):
    with pytest.raises(ValueError, match=f"torch.nn has no {what}.*ostinato export --to torch"):
        to_torch(NOT_IN_TORCH[what]())
