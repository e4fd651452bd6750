"""WAV files: read and written like SciPy's, and whatever else they may be refused in one line."""

import struct
import warnings

import numpy as np
import pytest
import scipy.io.wavfile

from ostinato.data.wav import Sound, read_wav, wav_bytes
from ostinato.errors import BadInput

RNG = np.random.default_rng(0)
WAVE = np.clip(RNG.normal(size=(99, 2)) / 3, -1, 1).astype(np.float32)
FORMS = [(8, False), (16, False), (24, False), (32, False), (32, True), (64, True)]


@pytest.mark.parametrize(("bits", "floats"), FORMS)
@pytest.mark.parametrize("channels", [1, 2])
def test_what_is_written_is_read_as_by_scipy(bits, floats, channels, tmp_path):
    path, wave = tmp_path / "a.wav", WAVE[:, :channels]
    path.write_bytes(wav_bytes(Sound(44100, wave, bits, floats)))
    sound = read_wav(path)
    assert sound[0] == 44100 and sound[2:] == (bits, floats)
    # Half a step of the file, or the rounding of float32; the largest whole number is a step less.
    tolerance = 1e-7 if floats else 1.01 * 2.0 ** -(bits - 1) + 1e-7
    np.testing.assert_allclose(sound.samples, wave, atol=tolerance)
    rate, theirs = scipy.io.wavfile.read(path)
    theirs = theirs.reshape(99, -1).astype(float)
    if bits == 8:
        theirs = theirs - 128
    scale = 1 if floats else 2.0 ** (31 if bits == 24 else bits - 1)  # 24 bits are in the upper 32
    assert rate == 44100
    np.testing.assert_allclose(sound.samples, theirs / scale, atol=1e-7)


def test_files_of_scipy_are_read(tmp_path):
    path = tmp_path / "a.wav"
    for data in (WAVE, (WAVE * 32767).astype(np.int16), (WAVE * 2e9).astype(np.int32)):
        scipy.io.wavfile.write(path, 8000, data)
        scale = 1 if data.dtype.kind == "f" else 2.0 ** (8 * data.itemsize - 1)
        np.testing.assert_allclose(read_wav(path).samples, data / scale, atol=1e-7)


def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def riff(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def form(kind=1, channels=1, rate=8000, bits=16, block=None):
    block = channels * bits // 8 if block is None else block
    return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * block, block, bits))


DATA = chunk(b"data", bytes(range(100)))
GOOD = riff(form(), DATA)


def test_other_chunks_and_the_extensible_form_are_read(tmp_path):
    path = tmp_path / "a.wav"
    wide = struct.pack("<HHIIHHHHIH", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4, 1) + bytes(14)
    for content in (
        riff(chunk(b"LIST", b"odd"), form(), chunk(b"cue ", b""), DATA, chunk(b"id3 ", b"x")),
        riff(chunk(b"fmt ", wide), DATA),
        GOOD + b"after the end",
    ):
        path.write_bytes(content)
        assert read_wav(path).samples.shape == (50, 1)


WRONG = {
    "nothing": (b"", "is empty"),
    "a text": (b"not a sound at all", "is not a WAV file"),
    "an AVI": (b"RIFF\x20\0\0\0AVI LIST" + bytes(40), "is not a WAV file"),
    "MP3": (b"ID3\x03" + bytes(100), "is not a WAV file"),
    "FLAC": (b"fLaC" + bytes(100), "is not a WAV file"),
    "big-endian": (b"RIFX" + GOOD[4:], "of the form RIFX"),
    "RF64": (b"RF64" + GOOD[4:], "of the form RF64"),
    "only a header": (GOOD[:12], "does not say what form"),
    "no form": (riff(DATA), "does not say what form"),
    "a short form": (riff(chunk(b"fmt ", b"\1\0"), DATA), "does not say what form"),
    "no data": (riff(form()), "holds no sound"),
    "empty data": (riff(form(), chunk(b"data", b"")), "holds no sound"),
    "half a sample": (riff(form(), chunk(b"data", b"x")), "holds no sound"),
    "cut": (GOOD[:-30], r"ends too early: it has 70 of 100 bytes of sound"),
    "cut in the form": (GOOD[:24], "ends too early"),
    "ADPCM": (riff(form(2, bits=4, block=1), DATA), "samples of ADPCM"),
    "A-law": (riff(form(6, bits=8), DATA), "samples of A-law"),
    "µ-law": (riff(form(7, bits=8), DATA), "samples of µ-law"),
    "MP3 inside": (riff(form(0x55, bits=0), DATA), "samples of MP3"),
    "unheard of": (riff(form(0x1234), DATA), "samples of code 4660"),
    "12 bits": (riff(form(1, bits=12), DATA), "samples of code 1 with 12 bits"),
    "half floats": (riff(form(3, bits=16), DATA), "samples of code 3 with 16 bits"),
    "no channels": (riff(form(channels=0), DATA), "is damaged"),
    "no rate": (riff(form(rate=0), DATA), "is damaged"),
    "sizes that differ": (riff(form(block=3), DATA), "is damaged"),
    "NaN": (
        riff(form(3, bits=32), chunk(b"data", np.array([0, np.nan], "<f4").tobytes())),
        r"not a number, at 0\.000 s",
    ),
    "infinity": (
        riff(form(3, bits=64), chunk(b"data", np.array([1e300], "<f8").tobytes())),
        "not a number",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(name, tmp_path):
    content, words = WRONG[name]
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words) as refused:
        read_wav(path)
    assert "\n" not in str(refused.value) and str(path) in str(refused.value)


def test_no_bytes_make_it_fail(tmp_path):
    """A thousand damaged files: each is read, or refused in one line."""
    path, rng = tmp_path / "a.wav", np.random.default_rng(1)
    for _ in range(1000):
        content = bytearray(GOOD[: rng.integers(len(GOOD)) if rng.random() < 0.3 else None])
        for place in rng.integers(max(len(content), 1), size=rng.integers(1, 6)):
            content[place : place + 1] = bytes([rng.integers(256)])
        path.write_bytes(bytes(content))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                samples = read_wav(path).samples
                assert np.isfinite(samples).all() and samples.size
            except BadInput as error:
                assert "\n" not in str(error)


def test_clipping_is_heard():
    wave = np.sin(np.arange(100) / 3)[:, None]
    assert not Sound(8000, wave).clipped
    assert Sound(8000, np.clip(2 * wave, -1, 1)).clipped
    assert not Sound(8000, wave[:1]).clipped


def test_a_folder_and_nothing_are_refused(tmp_path):
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "no.wav", "there is no file")):
        with pytest.raises(BadInput, match=words):
            read_wav(path)
