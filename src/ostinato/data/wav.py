"""Read and write sound as WAV files: PCM of 8 to 32 bits, and floats."""

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from .files import check_file, check_unpacked

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
CODECS = {2: "ADPCM", 6: "A-law", 7: "µ-law", 0x11: "IMA ADPCM", 0x31: "GSM", 0x55: "MP3"}
FORMS = {(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)}
FULL_SCALE = 0.9999
MANY = 3  # samples at full scale in a row that are no accident


class Sound(NamedTuple):
    """Samples at a rate.

    Attributes:
        rate: samples per second.
        samples: `(T, channels)`, float32; full scale is from -1 to 1.
        bits: of a sample in the file.
        floats: whether the file has floats, which may go beyond full scale.
    """

    rate: int
    samples: np.ndarray
    bits: int = 32
    floats: bool = True

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    @property
    def clipped(self) -> bool:
        """Whether several samples in a row are at full scale, as where a recording clips."""
        loud = np.abs(self.samples) >= FULL_SCALE
        return bool(
            np.logical_and.reduce([loud[n : len(loud) - MANY + n + 1] for n in range(MANY)]).any()
        )


def read_wav(path: str | Path) -> Sound:
    """The sound of a WAV file.

    Example:
        >>> _ = Path("tone.wav").write_bytes(wav_bytes(Sound(8000, np.zeros((80, 1)), 16, False)))
        >>> sound = read_wav("tone.wav")
        >>> sound.rate, sound.samples.shape, sound.bits
        (8000, (80, 1), 16)
    """
    check_unpacked(path, 4 * check_file(path, "WAV file").st_size)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    try:
        return _sound(content)
    except BadInput as error:
        raise BadInput(f"{path} {error}") from None


def wav_bytes(sound: Sound) -> bytes:
    """The content of a WAV file. What goes beyond full scale is clipped, unless it has floats.

    Example:
        >>> len(wav_bytes(Sound(8000, np.zeros((10, 2)), 24, False)))
        104
    """
    rate, samples, bits, floats = sound
    channels, width = samples.shape[1], bits // 8
    if floats:
        data = samples.astype(f"<f{width}").tobytes()
    else:
        whole = np.round(np.clip(samples.astype(float), -1, 1) * 2.0 ** (bits - 1))
        whole = np.clip(whole, -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1).astype("<i4")
        if bits == 8:
            whole += 128
        data = np.ascontiguousarray(whole)[..., None].view(np.uint8)[..., :width].tobytes()
    form = struct.pack(
        "<HHIIHH", FLOAT if floats else PCM, channels, rate, rate * channels * width,
        channels * width, bits,
    )  # fmt: skip
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += b"data" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _sound(content: bytes) -> Sound:
    """The sound in the bytes of a file; raises `BadInput` for what is wrong with it."""
    if not content:
        raise BadInput("is empty; give a WAV file")
    if content[:4] in (b"RIFX", b"RF64"):
        raise BadInput(f"is a WAV file of the form {content[:4].decode()}; save it as RIFF")
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise BadInput("is not a WAV file")
    chunks = _chunks(content)
    if len(form := chunks.get(b"fmt ", b"")) < 16:
        raise BadInput("is damaged: it does not say what form its samples have")
    kind, channels, rate, _, block, bits = struct.unpack("<HHIIHH", form[:16])
    if kind == EXTENSIBLE and len(form) >= 26:
        (kind,) = struct.unpack("<H", form[24:26])
    if (kind, bits) not in FORMS:
        what = CODECS.get(kind, f"code {kind} with {bits} bits" if kind else "an unknown codec")
        raise BadInput(f"has samples of {what}; save it as PCM of 16, 24 or 32 bits, or floats")
    if not channels or not rate or block != channels * bits // 8:
        raise BadInput("is damaged: channels, rate and size of its samples do not fit")
    if b"data" not in chunks or not len(chunks[b"data"]) // block:
        raise BadInput("holds no sound")
    data = chunks[b"data"]
    values = _numbers(data[: len(data) // block * block], kind, bits).reshape(-1, channels)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise BadInput(f"has a sample that is not a number, at {at / rate:.3f} s")
    return Sound(rate, values, bits, kind == FLOAT)


def _chunks(content: bytes) -> dict[bytes, bytes]:
    """The parts of a file by name; of several with one name, the first."""
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(content):
        name, (size,) = content[at : at + 4], struct.unpack("<I", content[at + 4 : at + 8])
        body = content[at + 8 : at + 8 + size]
        if len(body) < size and name in (b"fmt ", b"data"):
            words = "sound" if name == b"data" else "header"
            raise BadInput(f"ends too early: it has {len(body):,} of {size:,} bytes of {words}")
        chunks.setdefault(name, body)
        at += 8 + size + size % 2
    return chunks


def _numbers(data: bytes, kind: int, bits: int) -> np.ndarray:
    """Samples from -1 to 1, in float32."""
    if kind == FLOAT:
        values = np.frombuffer(data, f"<f{bits // 8}")
        with np.errstate(over="ignore"):
            return values.astype(np.float32)
    if bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    width = bits // 8
    wide = np.zeros((len(data) // width, 4), np.uint8)
    wide[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return (wide.view("<i4")[:, 0] / 2.0**31).astype(np.float32)
