"""The cells of one column as places in a text: which differ, and which numbers they hold.

A table has few kinds of cells but many rows, so work per cell is done by NumPy on eight bytes at a
time, and Python sees only cells that differ. `plain_numbers` reads digits with at most one sign and
one decimal mark; whatever else a number may be is left to the caller, as is what is no number.

Eight bytes are loaded as a little-endian number, whose highest byte is the last of the text.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PADDING = 64  # bytes before a text, so that words before its first cell can be loaded
LONGEST = 24  # bytes of a number that `plain_numbers` reads
COMPARED = 64  # bytes of a cell up to which cells are compared by NumPy
SLOTS = 16  # bits of a slot in a table of cells that differ
EXACT = 1 << 53  # whole numbers up to this are floats
MINUS, PLUS, ZERO = b"-+0"


def _in_every_byte(value: int) -> np.uint64:
    return np.uint64(value * 0x0101010101010101)


KEPT = np.array(
    [(2**64 - 1) >> 8 * n << 8 * n for n in range(8, -1, -1)], "<u8"
)  # the last n bytes
HIGH_BITS, ONE = _in_every_byte(0x80), np.uint64(1)
# Times the lowest bit of a byte, its top byte is the number of bytes after that byte.
PLACES = np.uint64(0x0706050403020100)
POWERS = 10.0 ** np.arange(23)  # all that are floats
WHOLE_POWERS = 10 ** np.arange(20, dtype=np.uint64)
OTHER_BEGINNINGS = np.zeros(256, bool)  # letters that begin no number, `inf`, `NaN`, `None`, …
OTHER_BEGINNINGS[[*b"bcdefghjklmopqrstuvwxyzBCDEFGHJKLMOPQRSTUVWXYZ"]] = True
MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class PlainNumbers(NamedTuple):
    """What `plain_numbers` read.

    Attributes:
        values: `(rows,)` in float64, NaN where nothing was read.
        read: `(rows,)`, whether a cell was read.
        marks: `(rows,)`, the byte of the decimal mark of a cell that was read, 0 without one; empty
            where there is only one mark.
        decimals: `(rows,)`, the number of digits after the mark.
        begins: `(rows,)`, the place of the first digit or mark.
    """

    values: np.ndarray
    read: np.ndarray
    marks: np.ndarray
    decimals: np.ndarray
    begins: np.ndarray


class Cells:
    """Cells of one column.

    Args:
        text: UTF-8 between `PADDING` zero bytes and any other byte.
        begins, ends: `(rows,)`, the places of each cell in the text.
    """

    def __init__(self, text: bytes, begins: np.ndarray, ends: np.ndarray):
        self.text, self.begins, self.ends = text, begins, ends

    @classmethod
    def of_strings(cls, cells: Sequence[str]) -> "Cells":
        """Cells that are strings."""
        each = [cell.encode("utf-8", "surrogatepass") for cell in cells]
        ends = np.cumsum([PADDING, *map(len, each)])
        return cls(b"".join([bytes(PADDING), *each, b"\0"]), ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, rows: np.ndarray) -> "Cells":
        return Cells(self.text, self.begins[rows], self.ends[rows])

    def strings(self) -> list[str]:
        """All cells, as strings."""
        places = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        if len(self.text) > 50 * len(self) or not self.text.isascii():
            return [self.text[begin:end].decode("utf-8", "surrogatepass") for begin, end in places]
        text = self.text.decode("ascii")
        return [text[begin:end] for begin, end in places]

    def stripped(self) -> list[str]:
        """All cells as strings, without spaces at their ends."""
        each, some = np.frombuffer(self.text, np.uint8), np.flatnonzero(self.begins < self.ends)
        ends = np.concatenate([each[self.begins[some]], each[self.ends[some] - 1]])
        if not ((ends <= ord(" ")) | (ends >= 128)).any():
            return self.strings()
        return [cell.strip() for cell in self.strings()]

    def surely_words(self) -> np.ndarray:
        """Which cells neither are numbers nor stand for a missing one, as far as is seen quickly.

        These begin with a letter that no such cell begins with, or have a colon, or a digit before
        a hyphen or a slash, in the last `LONGEST` bytes.
        """
        surely = OTHER_BEGINNINGS[np.frombuffer(self.text, np.uint8)[self.begins]]
        surely &= self.begins < self.ends
        for word in self._words(self.begins, LONGEST // 8):
            zeroed = word ^ _in_every_byte(ZERO)  # bytes outside of the cell are no digits here
            digits = ~(zeroed | (zeroed + _in_every_byte(0x76))) & HIGH_BITS
            found = _bytes_equal(word, ord(":"))
            for mark in b"-/":
                found |= _bytes_equal(word, mark) & (digits << np.uint64(8))
            surely |= found != 0
        return surely

    def different(self) -> tuple["Cells", np.ndarray]:
        """The different cells, and the number of each row's; a few cells may be there twice."""
        rows, longest = np.arange(len(self)), int((self.ends - self.begins).max(initial=0))
        first = rows
        zero = self.text.find(b"\0", PADDING, len(self.text) - 1) >= 0  # would be as no byte
        if longest <= COMPARED and not zero:
            words = self._words(self.begins, -(-longest // 8) or 1)
            first = _first_alike(words, MULTIPLIERS[0])
            alone = np.flatnonzero(first < 0)
            if alone.size:  # cells whose slot another one has
                again = _first_alike([word[alone] for word in words], MULTIPLIERS[1])
                first[alone] = np.where(again < 0, alone, alone[again])
        representing = np.flatnonzero(first == rows)
        number = np.empty(len(self), np.intp)
        number[representing] = np.arange(len(representing))
        return self[representing], number[first]

    def plain_numbers(self, marks: bytes) -> PlainNumbers:
        """The cells of digits, with a sign or a decimal mark or not, as what `float` makes of them.

        Args:
            marks: the bytes that may be the decimal mark of a number.
        """
        begins = self.begins
        first = np.frombuffer(self.text, np.uint8)[begins]
        negative = first == MINUS
        signed = negative | (first == PLUS)
        if signed.any():
            begins = begins + (signed & (begins < self.ends))
        widths = self.ends - begins
        longest = min(int(widths.max(initial=0)), LONGEST)
        words = self._words(begins, -(-longest // 8) or 1, ZERO)
        wrong = np.bitwise_or.reduce([_beyond_nine(word) for word in words])
        mark_of = np.zeros(len(self) if len(marks) > 1 else 0, np.uint8)
        decimals, seen = np.zeros(len(self), np.int64), np.zeros(len(self), bool)
        if wrong.any():
            wrong = np.zeros(len(self), np.uint64)
            for mark in marks:
                self._take_out(mark ^ ZERO, words, decimals, seen, wrong)
                if len(marks) > 1:
                    mark_of[seen & (mark_of == 0)] = mark
            for word in words:
                wrong |= _beyond_nine(word)
        read = (wrong == 0) & (widths > seen)
        if len(words) > 1:
            read &= (widths <= LONGEST) & (decimals < len(POWERS))
        whole = _eight_digits(words[0])
        for word, size in zip(words[1:], WHOLE_POWERS[[8, 16]], strict=False):
            more = _eight_digits(word)
            read &= more < (1000 if size > 10**8 else 10**8)  # else beyond 64 bits
            whole += more * size
        values = whole.astype(float)
        if seen.any():
            values /= POWERS.take(decimals, mode="clip")
            if len(words) > 1:
                large = np.flatnonzero((whole > EXACT) & (decimals > 0) & read)
                values[large], read[large] = _rounded(whole[large], decimals[large], values[large])
        if negative.any():
            np.negative(values, out=values, where=negative)
        if not read.all():
            values[~read] = np.nan
        return PlainNumbers(values, read, mark_of, decimals, begins)

    @staticmethod
    def _take_out(
        mark: int,
        words: list[np.ndarray],
        decimals: np.ndarray,
        seen: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        """Take a mark out of numbers, so that the digits before it move one place on.

        Changes all but the first argument: `decimals` is the number of bytes after the mark, `seen`
        whether there was one, and `wrong` is not 0 where there are two.
        """
        taken = np.zeros(len(seen), bool)
        for n, word in enumerate(words):  # from the last of a cell
            # The high bit of each byte that is the mark. A borrow may set one more after it, but
            # only for a byte that differs from the mark in its lowest bit, which is no digit.
            high = word ^ _in_every_byte(mark)
            rest = high - _in_every_byte(1)
            np.invert(high, out=high)
            high &= rest
            high &= HIGH_BITS
            if not high.any() and not taken.any():
                continue
            here = high != 0
            wrong |= high & (high - ONE)
            wrong |= here & seen
            high >>= np.uint64(7)  # now the lowest bit of the byte
            moved = high - ONE
            moved &= word
            moved <<= np.uint64(8)
            moved |= word & -(high << np.uint64(8))
            if taken.any():
                moved = np.where(taken, word << np.uint64(8), moved)
            if n + 1 < len(words):
                moved |= words[n + 1] >> np.uint64(56)
            high *= PLACES
            high >>= np.uint64(56)
            decimals += high.view(np.int64)
            if n:
                decimals += here * (8 * n)
            seen |= here
            taken |= here
            words[n] = moved if taken.all() else np.where(taken, moved, word)

    def _words(self, begins: np.ndarray, count: int, base: int = 0) -> list[np.ndarray]:
        """The last eight bytes of each cell, the eight before, and so on; 0 outside of it.

        Bytes of the cell are combined with `base` by exclusive or.
        """
        size, widths = 8 * count, self.ends - begins
        every = np.ndarray(len(self.text) - size + 1, f"V{size}", self.text, strides=(1,))
        # A row for each cell, whose last word comes first in the list.
        loaded = every[self.ends - size].view("<u8").reshape(-1, count)
        words = []
        for n in range(count):
            word = np.ascontiguousarray(loaded[:, count - 1 - n])
            if base:
                word ^= _in_every_byte(base)
            word &= KEPT.take(widths - 8 * n, mode="clip")
            words.append(word)
        return words


def _first_alike(words: list[np.ndarray], multiplier: np.uint64) -> np.ndarray:
    """For each row the number of one that is alike, the same for all of these; -1 if unknown."""
    hashed = words[0] * multiplier
    for word in words[1:]:
        hashed = (hashed ^ (hashed >> np.uint64(32)) ^ word) * multiplier
    bits = min(len(hashed).bit_length() + 1, SLOTS)
    slots = (hashed >> np.uint64(64 - bits)).view(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[slots] = np.arange(len(slots))
    first = table[slots]
    for word in words:
        other = word[first] != word
        if other.any():
            first[other] = -1
    return first


def _bytes_equal(word: np.ndarray, value: int) -> np.ndarray:
    """The high bit of each byte that has the value."""
    rest, low = word ^ _in_every_byte(value), _in_every_byte(0x7F)
    return ~(((rest & low) + low) | rest | low)


def _beyond_nine(word: np.ndarray) -> np.ndarray:
    """What is not 0 where some byte of a word is more than 9."""
    wrong = word + _in_every_byte(0x76)
    wrong |= word
    wrong &= HIGH_BITS
    return wrong


def _eight_digits(word: np.ndarray) -> np.ndarray:
    """The number whose digits are the bytes of a word."""
    pairs = word >> np.uint64(8)
    pairs += word * np.uint64(10)
    mask = np.uint64(0x000000FF000000FF)
    high = pairs & mask
    high *= np.uint64(100 + (1_000_000 << 32))
    pairs >>= np.uint64(16)
    pairs &= mask
    pairs *= np.uint64(1 + (10_000 << 32))
    high += pairs
    high >>= np.uint64(32)
    return high


def _rounded(
    whole: np.ndarray, decimals: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The floats nearest to `whole / 10**decimals`, and where they are proven to be.

    `near` is at most two units in the last place away. Then the remainder of the division fits into
    64 bits, so it is right although its terms, which do not fit, are taken modulo 2**64.
    """
    fraction, exponent = np.frexp(near)
    significand = (fraction * EXACT).astype(np.uint64)
    shift = 53 - exponent.astype(np.int64)
    power = WHOLE_POWERS[np.minimum(decimals, 18)].astype(np.int64)
    scaled = whole << np.maximum(shift, 0).astype(np.uint64)
    rest = (scaled - significand * power.astype(np.uint64)).view(np.int64)
    step = (2 * rest > power).astype(np.int64) - (2 * rest < -power)
    rest -= step * power
    proven = (2 * np.abs(rest) < power) & (decimals <= 18) & (shift >= 0)
    proven &= significand > 1 << 52  # below a power of two, floats are closer together
    values = np.ldexp((significand.view(np.int64) + step).astype(float), -shift.astype(np.int32))
    return values, proven
