"""Drawing from a network, and searching its most probable text."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import GRU, LSTM
from ostinato.data import Vocabulary
from ostinato.data.tokens import Tokens
from ostinato.decoding import beam, beam_answers, ctc_beam, play, sample, sampled_answers, sampling
from ostinato.decoding.sampling import choose
from ostinato.decoding.text import as_text, opening, until
from ostinato.errors import BadInput
from ostinato.tasks.applying import ApplyOptions
from ostinato.through_time import unroll
from ostinato.wiring import Bidirectional, Dropout, Embedding, Network, OneHot, Readout

ONE, TWO = jax.random.key(1), jax.random.key(2)
SYMBOLS = 5


def network(cell=None) -> Network:
    """A small network whose logits are large enough to tell symbols apart."""
    cell = LSTM(SYMBOLS, 6, key=ONE) if cell is None else cell
    made = Network(cell, Readout(6, SYMBOLS, key=TWO), OneHot(SYMBOLS))
    return eqx.tree_at(lambda n: n.readout.V, made, 4 * made.readout.V)


def drawn(*args, **options) -> np.ndarray:
    return np.concatenate([*sample(*args, **options)])


def log_probabilities(network):
    """`after(text)`: the log-probabilities of the next symbol, stepped one by one."""
    advance = jax.jit(lambda state, symbol: network.step(state, network.inputs(symbol)))

    @functools.cache
    def reached(text):
        state = reached(text[:-1])[0] if len(text) > 1 else network.initial(())
        state, logits = advance(state, jnp.asarray(text[-1]))
        return state, np.asarray(logits - jax.nn.logsumexp(logits))

    return lambda text: reached(tuple(map(int, text)))[1]


@jax.jit
def pick(keys, logits, temperature, top_k, top_p):
    return jax.vmap(lambda key: choose(logits, key, temperature, top_k, top_p))(keys)


def shares(logits, count, temperature, top_k=None, top_p=None):
    """How often each symbol is chosen."""
    found = pick(jax.random.split(ONE, count), logits, jnp.asarray(temperature), top_k, top_p)
    return np.bincount(np.asarray(found), minlength=len(logits)) / count


def reference(logits, temperature, top_k, top_p):
    """The probabilities after temperature, top-k and top-p, in NumPy and one by one."""
    p = np.exp((logits - logits.max()) / temperature)
    order = sorted(range(len(p)), key=lambda i: -p[i])[: top_k or len(p)]
    p = p / p[order].sum()
    kept, total = [], 0.0
    for i in order:
        kept.append(i)
        total += p[i]
        if top_p is not None and total >= top_p:
            break
    out = np.zeros(len(p))
    out[kept] = p[kept] / p[kept].sum()
    return out


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    "top_k, top_p", [(None, None), (3, None), (None, 0.7), (4, 0.8), (2, 0.01)]
)
def test_frequencies_are_the_probabilities(temperature, top_k, top_p):
    logits = np.array([0.3, 2.0, -1.0, 1.1, 0.9, -2.0])
    count = 20_000
    found = shares(jnp.asarray(logits), count, temperature, top_k, top_p)
    expected = reference(logits, temperature, top_k, top_p)
    np.testing.assert_array_equal(found > 0, expected > 0)
    # Five standard deviations of a binomial share.
    assert np.all(np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / count))


def test_temperature_zero_and_almost_zero_take_the_most_probable():
    logits = jnp.asarray([0.0, 1e-6, -3.0], jnp.float32)
    assert shares(logits, 100, jnp.float32(0))[1] == 1
    assert shares(logits, 100, jnp.float32(1e-30))[1] == 1


def test_limits_that_exclude_nothing_change_nothing():
    free = drawn(network(), [0], 60, key=ONE)
    np.testing.assert_array_equal(free, drawn(network(), [0], 60, key=ONE, top_k=99, top_p=1.0))


def test_symbols_follow_from_the_network_s_own_logits():
    """Forced through `unroll`, each drawn symbol is what its logits and its noise give."""
    symbols = drawn(network(), [2, 1], 30, key=ONE, temperature=0.7)
    logits, _ = unroll(network(), jnp.asarray([2, 1, *symbols[:-1]]))
    for i, symbol in enumerate(symbols):
        noise = jax.random.gumbel(jax.random.fold_in(ONE, i), (SYMBOLS,))
        assert symbol == jnp.argmax(logits[i + 1] / 0.7 + noise)


def test_temperature_zero_is_the_greedy_path():
    text, after = [3, 0], log_probabilities(network())
    for symbol in drawn(network(), text, 12, key=ONE, temperature=0):
        assert symbol == np.argmax(after(text))
        text.append(symbol)


@pytest.mark.parametrize("first, largest", [(1, 1), (3, 7)])
def test_sizes_of_pieces_change_nothing(monkeypatch, first, largest):
    expected = drawn(network(), [0, 1], 100, key=ONE, top_p=0.9)
    monkeypatch.setattr(sampling, "FIRST", first)
    monkeypatch.setattr(sampling, "LARGEST", largest)
    pieces = [*sample(network(), [0, 1], 100, key=ONE, top_p=0.9)]
    assert max(map(len, pieces)) <= largest
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_comes_in_pieces_and_the_key_decides():
    pieces = [*sample(network(), [0], 300, key=ONE)]
    assert [len(piece) for piece in pieces] == [16, 32, 64, 128, 60]
    longer = drawn(network(), [0], 301, key=ONE)
    np.testing.assert_array_equal(np.concatenate(pieces), longer[:300])
    assert np.any(longer[:300] != drawn(network(), [0], 300, key=TWO))


def test_goes_on_from_its_final_state():
    def run():
        first = yield from sample(network(), [0, 4], 20, key=ONE, temperature=0)
        states.append(first)

    states: list = []
    start = np.concatenate([*run()])
    rest = drawn(network(), start[-1:], 20, key=ONE, temperature=0, state=states[0])
    whole = drawn(network(), [0, 4], 40, key=ONE, temperature=0)
    np.testing.assert_array_equal(np.concatenate([start, rest]), whole)


def test_noise_is_off_and_vectors_may_be_learned():
    def made(wrap):
        encoding = Embedding(SYMBOLS, 3, key=ONE)
        return Network(wrap(GRU(3, 6, key=ONE)), Readout(6, SYMBOLS, key=TWO), encoding)

    quiet = drawn(made(lambda cell: cell), [0], 50, key=ONE)
    noisy = drawn(made(lambda cell: Dropout(cell, 0.5, key=TWO)), [0], 50, key=ONE)
    np.testing.assert_array_equal(quiet, noisy)


def test_a_wide_beam_finds_the_most_probable_of_all():
    count, prompt, after = 4, (1, 2), log_probabilities(network())
    every = {
        end: sum(after((*prompt, *end[:i]))[end[i]] for i in range(count))
        for end in itertools.product(range(SYMBOLS), repeat=count)
    }
    best = max(every, key=every.__getitem__)
    found, score = beam(network(), prompt, count, SYMBOLS ** (count - 1))
    assert tuple(found) == best
    assert score == pytest.approx(every[best], rel=1e-10)


def test_a_narrow_beam_is_the_textbook_search():
    count, width, after = 12, 3, log_probabilities(network())
    beams = [((), 0.0)]
    for _ in range(count):
        longer = [
            ((*end, symbol), score + after((2, *end))[symbol])
            for end, score in beams
            for symbol in range(SYMBOLS)
        ]
        beams = sorted(longer, key=lambda pair: -pair[1])[:width]
    found, score = beam(network(), [2], count, width)
    assert tuple(found) == beams[0][0]
    assert score == pytest.approx(beams[0][1], rel=1e-10)


def test_a_beam_of_one_is_greedy():
    found, _ = beam(network(), [0], 12, 1)
    np.testing.assert_array_equal(found, drawn(network(), [0], 12, key=ONE, temperature=0))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"temperature": -0.1}, "temperature must be at least 0, got -0.1"),
        ({"temperature": float("nan")}, "temperature must be a number that float32 holds"),
        ({"temperature": float("inf")}, "temperature must be a number that float32 holds"),
        ({"temperature": "1"}, "temperature must be of type float, got '1'"),
        ({"temperature": True}, "temperature must be of type float, got True"),
        ({"top_k": 0}, "top_k must be at least 1, got 0"),
        ({"top_k": 1.5}, "top_k must be of type int, got 1.5"),
        ({"top_k": True}, "top_k must be of type int, got True"),
        ({"top_p": "0.5"}, "top_p must be of type float, got '0.5'"),
        ({"top_p": float("nan")}, "top_p must be a number"),
        ({"count": 2.0}, "the length to generate must be of type int, got 2.0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, got 1.5"),
        ({"count": 0}, "the length to generate must be at least 1, got 0"),
        ({"prompt": []}, "a prompt is at least one symbol"),
    ],
)
def test_refuses_what_cannot_be(options, words):
    given = {"prompt": [0], "count": 5, "key": ONE} | options
    with pytest.raises(BadInput, match=words):
        sample(network(), **given)


def test_options_of_numpy_are_numbers():
    same = drawn(network(), [0], 9, key=ONE, temperature=0.5, top_k=2)
    options = {"temperature": np.float32(0.5), "top_k": np.int64(2)}
    np.testing.assert_array_equal(drawn(network(), [0], np.int32(9), key=ONE, **options), same)


@pytest.mark.parametrize(
    "call",
    [
        lambda: beam(network(), [0], 3, 1.5),
        lambda: play(network(), [0], 3, key=ONE, alternatives=2.5),
        lambda: play(network(), [0], 3, key=ONE, top_k=1.5),
        lambda: ctc_beam(np.zeros((2, 1, 3)), width=2.0),
        lambda: ctc_beam(np.zeros((2, 1, 3)), count="1"),
        lambda: beam_answers(None, None, None, width=2.5, max_symbols=3),
        lambda: beam_answers(None, None, None, width=2, max_symbols=3.0),
        lambda: beam_answers(None, None, None, width=2, max_symbols=3, count=True),
        lambda: beam_answers(None, None, None, width=2, max_symbols=3, penalty="1"),
        lambda: sampled_answers(network(), None, None, key=ONE, max_symbols=1.5),
        lambda: sampled_answers(network(), None, None, key=ONE, max_symbols=3, count=0.5),
        lambda: sampled_answers(network(), None, None, key=ONE, max_symbols=3, top_k=1.5),
        lambda: ApplyOptions(beam=2.0),
        lambda: ApplyOptions(n_best=True),
        lambda: ApplyOptions(temperature="1"),
        lambda: ApplyOptions(temperature=float("nan")),
        lambda: ApplyOptions(penalty=None),
        lambda: ApplyOptions(seed=1.0),
        lambda: ApplyOptions(steps=2.5),
    ],
)
def test_every_way_to_decode_checks_the_types_of_its_options(call):
    with pytest.raises(BadInput, match=r"must be of type|must be a number"):
        call()


def test_symbols_outside_a_vocabulary_are_not_decoded():
    bytes_, text = Vocabulary.of_bytes(), Vocabulary.of_text("abc")
    tokens = Tokens.of(["a cat"], "words")
    for wrong in ([-1], [0, 256], [0.5], ["a"], [True]):
        for decode in (text.decode, bytes_.decode, tokens.decode, tokens.pieces):
            with pytest.raises(BadInput, match="a symbol is a whole number from 0 to"):
                decode(wrong)
        with pytest.raises(BadInput, match="a symbol is a whole number from 0 to"):
            list(as_text([wrong], bytes_))
    assert text.decode([]) == "" == tokens.decode([])


@pytest.mark.parametrize("wrong", [None, 3, b"a", ["a"]])
def test_only_text_is_encoded(wrong):
    with pytest.raises(BadInput, match="a text must be of type str, got"):
        Vocabulary.of_text("abc").encode(wrong)
    assert Vocabulary.of_bytes().encode(b"ab").tolist() == [97, 98]


def test_refuses_symbols_and_networks_that_do_not_fit():
    with pytest.raises(ValueError, match="expects symbols from 0 to 4, got 7"):
        sample(network(), [0, 7], 5, key=ONE)
    with pytest.raises(BadInput, match="width of a beam must be at least 1, got 0"):
        beam(network(), [0], 5, 0)
    both = Bidirectional(GRU(SYMBOLS, 3, key=ONE), GRU(SYMBOLS, 3, key=TWO))
    with pytest.raises(ValueError, match="reads both ways"):
        sample(network(both), [0], 5, key=ONE)


def test_opening():
    assert opening(Vocabulary.of_text("a b\nc")).tolist() == [0]
    assert opening(Vocabulary.of_text("!a b")).tolist() == [0]
    assert opening(Vocabulary.of_text("\tab c")).tolist() == [1]
    assert opening(Vocabulary.of_text("abc")).tolist() == [0]
    assert opening(Vocabulary.of_bytes()).tolist() == [10]


def test_bytes_of_a_character_wait_for_each_other():
    raw = "aä€".encode() + b"\xe2\x82"
    pieces = [np.array([byte]) for byte in raw]
    assert [text for text in as_text(pieces, Vocabulary.of_bytes()) if text] == [
        *"aä€",
        "\N{REPLACEMENT CHARACTER}",
    ]
    characters = Vocabulary.of_text("abc")
    assert [*as_text([np.array([0, 1]), np.array([2])], characters)] == ["ab", "c"]


@pytest.mark.parametrize(
    "texts, stop, expected",
    [
        (["one. two"], ". ", "one"),
        (["on", "e.", " two"], ". ", "one"),
        ([*"aabaabaaac"], "abaaa", "aaba"),
        (["never"], "xyz", "never"),
        (["ends like th"], "the", "ends like th"),
        (["stop", "more"], "stop", ""),
    ],
)
def test_stops_before_a_text_that_may_span_pieces(texts, stop, expected):
    assert "".join(until(texts, stop)) == expected


def test_only_what_may_begin_the_stop_text_waits():
    assert [*until(["abc", "dE"], "cdX")] == ["ab", "cdE", ""]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_outputs_that_are_not_finite(wrong):
    made = network()
    damaged = eqx.tree_at(lambda n: n.readout.b, made, made.readout.b.at[1].set(wrong))
    for generate in (lambda: drawn(damaged, [0], 3, key=ONE), lambda: beam(damaged, [0], 3, 2)):
        with pytest.raises(sampling.NotFinite, match="outputs are not finite numbers"):
            generate()
    never = eqx.tree_at(lambda n: n.readout.b, made, made.readout.b.at[1].set(-np.inf))
    assert 1 not in drawn(never, [0], 50, key=ONE)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sample(network(), [0], 2**31, key=ONE), "must be at most 2147483647, got"),
        (lambda: sample(network(), [0.5], 3, key=ONE), "expects integer symbols"),
        (lambda: sample(network(), [2**32], 3, key=ONE), "symbols from 0 to 4, got 4294967296"),
        (lambda: beam(network(), [0], 3, 10**9), "beam must be at most 429496729 for this"),
        (lambda: beam(network(), [0], 10**9, 10**6), "needs at least .* TiB of memory"),
    ],
)
def test_refuses_numbers_out_of_range(call, words):
    with pytest.raises(BadInput, match=words):
        call()
