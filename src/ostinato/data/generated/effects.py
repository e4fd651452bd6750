"""A sound and the same sound through an effect, to try things with."""

import numpy as np

from ..wav import Sound, wav_bytes

RATE = 44_100
SECONDS = 12
NOTE = 0.25  # seconds from one pluck to the next
RINGS = 1.5  # seconds that a string sounds, at most
LOWEST = 82.41  # hertz, the low E of a guitar
SCALE = (0, 3, 5, 7, 10, 12, 15, 17, 19, 22, 24)  # semitones above it, a pentatonic scale


def effect_pair(seed: int = 0, seconds: float = SECONDS) -> tuple[np.ndarray, np.ndarray]:
    """Plucked strings, and the same through `overdrive`: two arrays `(T,)`, float32, at `RATE`.

    Each string is a burst of noise in a loop with a delay (Karplus and Strong, 1983). Notes differ
    in pitch, loudness and decay; some are chords.

    Example:
        >>> dry, wet = effect_pair(seconds=0.5)
        >>> dry.shape, bool(0.3 < np.abs(wet).max() < 1)
        ((22050,), True)
    """
    rng, count = np.random.default_rng([seed, 23]), round(seconds * RATE)
    dry = np.zeros(count + round(RINGS * RATE))
    for begin in np.arange(0, seconds, NOTE):
        for _ in range(rng.choice([1, 1, 2, 3])):
            period = round(RATE / (LOWEST * 2 ** (rng.choice(SCALE) / 12)))
            wave = rng.uniform(-1, 1, period) * rng.uniform(0.1, 1) ** 2
            decay, at = rng.uniform(0.97, 0.998), round(begin * RATE)
            for place in range(at, at + round(RINGS * RATE) - period, period):
                dry[place : place + period] += wave
                before = np.concatenate([wave[-1:], wave[:-1]])  # `np.roll` takes far longer
                wave = decay * (wave + before) / 2
    dry = dry[:count]
    dry *= 0.9 / np.abs(dry).max()
    return dry.astype(np.float32), overdrive(dry).astype(np.float32)


def overdrive(dry: np.ndarray) -> np.ndarray:
    """`0.7 LP(tanh(6 HP(x) + 0.3) - tanh 0.3)`: an asymmetric distortion between two filters.

    HP is a first-order high-pass filter at 150 Hz, LP a second-order low-pass filter at 4 kHz, both
    of Butterworth. Each sample depends on all before it, and not linearly.
    """
    from scipy.signal import butter, lfilter

    high = lfilter(*butter(1, 150, "high", fs=RATE), dry)
    bent = np.tanh(6 * high + 0.3) - np.tanh(0.3)
    return 0.7 * lfilter(*butter(2, 4000, fs=RATE), bent)


def effect_files() -> dict[str, bytes]:
    """The pair as WAV files of 16 bits, by the end of their names."""
    names = "-dry.wav", "-wet.wav"
    sounds = (Sound(RATE, x[:, None], 16, False) for x in effect_pair())
    return dict(zip(names, map(wav_bytes, sounds), strict=True))
