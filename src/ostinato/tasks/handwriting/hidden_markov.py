"""Hidden Markov models of characters, by which words are recognised: the baseline of handwriting.

A character is a chain of states, each of which repeats with probability a or goes on to the next,
and emits a step of the pen from a Gaussian with a diagonal covariance. The model of a word is the
chain of its characters. With α the forward and β the backward probabilities of a chain,

    γ_t(s) = α_t(s) β_t(s) / p(x),    N(s) = Σ_t γ_t(s)
    μ_s = Σ_t γ_t(s) x_t / N(s),      σ²_s = Σ_t γ_t(s) (x_t - μ_s)² / N(s),
    a_s = expected repetitions of s / N(s)

are re-estimated over all words at once, without knowing where a character begins (embedded
Baum-Welch). What was written is the word of the lexicon with the largest p(x).

Sources: Baum et al. (1970), A maximization technique occurring in the statistical analysis of
probabilistic functions of Markov chains; Rabiner (1989), A tutorial on hidden Markov models;
Viterbi (1967). Everything is computed in float64, in logarithms.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...errors import BadInput
from ...progress import Report, each, silent
from ...settings import checked_int

STATES, ROUNDS = 8, 6
FLOOR = 1e-2  # the least variance, as a share of that of all data
NEVER = -1e300  # stands for log 0


@dataclasses.dataclass(frozen=True)
class CharacterModels:
    """A chain of S states for each of K characters.

    Attributes:
        means, variances: `(K, S, features)`.
        stay: `(K, S)`, the probability that a state repeats.
    """

    means: np.ndarray
    variances: np.ndarray
    stay: np.ndarray

    @property
    def states(self) -> int:
        return self.stay.shape[1]

    def chain(self, word: Sequence[int] | np.ndarray) -> np.ndarray:
        """The states `(N,)` of a word's characters, as numbers from 0 to K S - 1."""
        places = np.arange(self.states)
        return np.concatenate([character * self.states + places for character in word])

    def logs(self, steps: np.ndarray) -> np.ndarray:
        """The log density `(T, K S)` of each step `(T, features)` in each state."""
        means = self.means.reshape(-1, self.means.shape[-1])
        variances = self.variances.reshape(means.shape)
        squares = (steps[:, None] - means) ** 2 / variances
        return -0.5 * np.sum(squares + np.log(2 * np.pi * variances), axis=-1)


def forward(logs: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """log α `(T, ..., N)` of chains that begin in their first state.

    Args:
        logs: `(T, ..., N)`, the log density of each step in each state.
        stay: `(..., N)`, the probability that a state repeats; the last one may go on too.
    """
    repeat, onward = np.log(stay), np.log1p(-stay)
    alpha = np.full_like(logs, NEVER)
    alpha[0, ..., 0] = logs[0, ..., 0]
    for t in range(1, len(logs)):
        alpha[t] = alpha[t - 1] + repeat
        alpha[t, ..., 1:] = np.logaddexp(
            alpha[t, ..., 1:], alpha[t - 1, ..., :-1] + onward[..., :-1]
        )
        alpha[t] += logs[t]
    return alpha


def posteriors(logs: np.ndarray, stay: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """log p(x), γ `(T, N)` and the expected repetitions `(N,)` of each state.

    The chain begins in its first state and ends in its last.

    Args:
        logs: `(T, N)`.
        stay: `(N,)`.
    """
    alpha = forward(logs, stay)
    beta = _backward(logs, stay)
    value = float(alpha[-1, -1])
    gamma = np.exp(alpha + beta - value)
    repeats = np.exp(alpha[:-1] + np.log(stay) + logs[1:] + beta[1:] - value).sum(axis=0)
    return value, gamma, repeats


def _backward(logs: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """log β: the same recursion from the end, with the states in reverse order."""
    repeat, onward = np.log(stay), np.log1p(-stay)
    beta = np.full_like(logs, NEVER)
    beta[-1, -1] = 0.0
    for t in range(len(logs) - 2, -1, -1):
        later = logs[t + 1] + beta[t + 1]
        beta[t] = later + repeat
        beta[t, :-1] = np.logaddexp(beta[t, :-1], later[1:] + onward[:-1])
    return beta


def fit_characters(
    words: Sequence[Sequence[int] | np.ndarray],
    drawings: Sequence[np.ndarray],
    characters: int,
    *,
    states: int = STATES,
    rounds: int = ROUNDS,
    report: Report = silent,
) -> tuple[CharacterModels, list[float]]:
    """Models of characters from written words, by Baum-Welch, and log p of all words per round.

    The first models divide every drawing into equal parts, one per state of its word.

    Args:
        words: the characters of each, as numbers from 0.
        drawings: the steps `(T, features)` of each; a shorter one than its word has states is left
            out.
        characters: K.
        states: of a character.
        rounds: of re-estimation.
        report: hears how many rounds are done.
    """
    if len(words) != len(drawings):
        raise BadInput(f"there are {len(words)} words and {len(drawings)} drawings")
    if any(not 0 <= x < characters for word in words for x in word):
        raise BadInput(f"characters are from 0 to {characters - 1}")
    checked_int("states", states)
    checked_int("rounds", rounds, min=0)
    pairs = [
        (np.asarray(word), np.asarray(steps, float))
        for word, steps in zip(words, drawings, strict=True)
        if len(steps) >= states * len(word) > 0
    ]
    if not pairs:
        raise BadInput(f"no drawing has {states} steps for each of its characters")
    everything = np.concatenate([steps for _, steps in pairs])
    floor = FLOOR * everything.var(axis=0) + 1e-6
    shape = (characters, states)
    counts = _Counts.empty(*shape, everything)
    for word, steps in pairs:
        places = np.arange(len(steps)) * states * len(word) // len(steps)
        gamma = np.eye(states * len(word))[places]
        same = (places[1:] == places[:-1])[:, None] * gamma[1:]
        counts.add(word, steps, gamma, same.sum(axis=0))
    models, values = counts.models(floor), []
    for _ in each(range(rounds), report, "hidden Markov models", rounds):
        counts, total = _Counts.empty(*shape, everything), 0.0
        for word, steps in pairs:
            chain = models.chain(word)
            value, gamma, repeats = posteriors(
                models.logs(steps)[:, chain], models.stay.reshape(-1)[chain]
            )
            total += value
            counts.add(word, steps, gamma, repeats)
        models = counts.models(floor)
        values.append(total)
    return models, values


@dataclasses.dataclass
class _Counts:
    """What re-estimation adds up: γ, γ x, γ x² and repetitions, by character and state."""

    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray
    repeats: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def empty(cls, characters: int, states: int, everything: np.ndarray) -> "_Counts":
        features = everything.shape[1]
        sums = np.zeros((2, characters, states, features))
        weights = np.zeros((2, characters, states))
        usual = everything.mean(axis=0), everything.var(axis=0)
        return cls(weights[0], sums[0], sums[1], weights[1], *usual)

    def add(
        self, word: np.ndarray, steps: np.ndarray, gamma: np.ndarray, repeats: np.ndarray
    ) -> None:
        shape = (len(word), self.weight.shape[1])
        np.add.at(self.weight, word, gamma.sum(axis=0).reshape(shape))
        np.add.at(self.repeats, word, repeats.reshape(shape))
        np.add.at(self.first, word, (gamma.T @ steps).reshape(*shape, -1))
        np.add.at(self.second, word, (gamma.T @ steps**2).reshape(*shape, -1))

    def models(self, floor: np.ndarray) -> CharacterModels:
        """The re-estimated models; a character that never occurs is like all data."""
        there = self.weight[..., None] > 1e-9
        weight = np.maximum(self.weight, 1e-9)
        means = np.where(there, self.first / weight[..., None], self.mean)
        second = np.where(there, self.second / weight[..., None] - means**2, self.variance)
        stay = np.where(there[..., 0], self.repeats / weight, 0.5)
        return CharacterModels(means, np.maximum(second, floor), np.clip(stay, 0.01, 0.99))


def most_probable_words(
    models: CharacterModels,
    lexicon: Sequence[Sequence[int] | np.ndarray],
    drawings: Sequence[np.ndarray],
    report: Report = silent,
) -> list[int]:
    """The number of the most probable word of a lexicon for each drawing `(T, features)`."""
    longest = models.states * max(map(len, lexicon))
    chains = np.zeros((len(lexicon), longest), int)
    ends = np.array([models.states * len(word) - 1 for word in lexicon])
    for chain, word in zip(chains, lexicon, strict=True):
        states = models.chain(word)
        chain[: len(states)] = states  # what comes after the end cannot come back
    stay, words = models.stay.reshape(-1)[chains], []
    for steps in each(drawings, report, "hidden Markov models: recognising", len(drawings)):
        alpha = forward(models.logs(np.asarray(steps, float))[:, chains], stay)
        words.append(int(np.argmax(alpha[-1, np.arange(len(lexicon)), ends])))
    return words
