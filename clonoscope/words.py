"""The words of a segment, 64 bits each: the one place that knows how determinants are packed into them.

A word is written by one store, which a kill either lets happen or not; what takes more than one word is announced by
a header that says it is unfinished, and is finished by writing the header again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.errors import check

WORD_BYTES = 8

# Header words of a file; the content follows.
MAGIC = int.from_bytes(b"CLNSEG01", "little")
ORDER_MARK = 0x0102030405060708
# H_ENDED: the epoch that ended last, plus one; 0 while one is at work, and where logs are not handed on.
H_MAGIC, H_ORDER, H_WORDS, H_SEAL, H_DROPPED, H_PROGRESS, H_END, H_ENDED = range(8)
HEADER_WORDS = 8
SEALED = 1 << 63

# Kinds of words, in the three highest bits. No kind is 0, so that a word that was never written ends what is read.
KIND_SHIFT = 61
TIME_NS, TIME, RANDOM, TAKE, ADVANCE, LONG, BASE = range(1, 8)

# How many records were taken since the word before: five bits of every word but ADVANCE and BASE.
ADVANCE_SHIFT = 56
ADVANCE_ONE = 1 << ADVANCE_SHIFT
ADVANCE_MOST = 31

# TIME_NS, TIME and TAKE: a site (or an input), and a time since the base (or an offset).
SITE_SHIFT = 44
SITES_MOST = 1 << (ADVANCE_SHIFT - SITE_SHIFT)
LOW_BITS = 1 << SITE_SHIFT

# RANDOM: a small site, and the 53 bits that a float in [0, 1) has.
RANDOM_SITE_SHIFT = 53
RANDOM_SITES_MOST = 8
RANDOM_STEPS = 1 << 53

# LONG: a type, whether it is finished, unused bytes at the end, length in words, CRC-32 of the words that follow.
TYPE_SHIFT, DONE, PAD_SHIFT, LENGTH_SHIFT = 51, 1 << 50, 47, 32
_LONG = LONG << KIND_SHIFT
LONGEST_WORDS = (1 << 15) - 1
LONGEST_BYTES = LONGEST_WORDS * WORD_BYTES

# A clock that was set back by less than this still gives times after the base.
BASE_MARGIN_NS = 30 * 60 * 10**9

# Types of LONG. Payloads are JSON, but for UUID and BYTES: a site of four bytes, and the bytes; and SEEN.
META, SITE, EPOCH, EPOCH_END, CALL, UUID, BYTES, INPUT, RECORD, OUTPUT, STATE, GAP, END, EVENT, HASH, SEEN, BORDER = (
    range(17)
)


@dataclass(frozen=True, slots=True)
class Word:
    """What one word says, or one long entry. `at` is its position; `advance`: records taken since the word before.

    `value` is a time in ns since 1970, a random number's 53 bits, an offset, a count, or a type.
    `site` may be an input.
    """

    at: int
    kind: int
    advance: int = 0
    site: int = 0
    value: int = 0
    payload: bytes = b""


UNFINISHED = "an entry that was being written when its writer ended"


@dataclass(frozen=True, slots=True)
class Torn:
    """An entry that was being written when its writer was killed, or one whose bytes are not what was written."""

    at: int
    words: int
    why: str


def long_header(kind_of_entry: int, payload: bytes, padded: bytes) -> int:
    """The header of a long entry that is not finished yet; `finished` has that of one that is."""
    words = len(padded) // WORD_BYTES
    check(words <= LONGEST_WORDS, "an entry is longer than its header can say")
    return _LONG | kind_of_entry << TYPE_SHIFT | len(padded) - len(payload) << PAD_SHIFT | words << LENGTH_SHIFT


def finished(header: int, padded: bytes) -> int:
    """With the checksum of what was written."""
    return header | DONE | zlib.crc32(padded)


def padded_to_words(payload: bytes) -> bytes:
    """With zeros to a whole number of words."""
    return payload + bytes(-len(payload) % WORD_BYTES)


def read_words(words: Sequence[int], begin: int, end: int, content: memoryview) -> Iterator[Word | Torn]:
    """All that stands from `begin` on, up to `end` or to the first word that was never written.

    `content` is the same as bytes. Behind an entry that is damaged nothing is read, as its length may be damaged too.
    """
    base_ns, at = 0, begin
    while at < end and (word := words[at]):
        kind = word >> KIND_SHIFT
        advance = word >> ADVANCE_SHIFT & ADVANCE_MOST
        if kind in (TIME_NS, TIME):
            yield Word(at, kind, advance, word >> SITE_SHIFT & SITES_MOST - 1, base_ns + (word & LOW_BITS - 1))
        elif kind == TAKE:
            yield Word(at, kind, advance, word >> SITE_SHIFT & SITES_MOST - 1, word & LOW_BITS - 1)
        elif kind == RANDOM:
            yield Word(at, kind, advance, word >> RANDOM_SITE_SHIFT & RANDOM_SITES_MOST - 1, word & RANDOM_STEPS - 1)
        elif kind == ADVANCE:
            yield Word(at, kind, word & LOW_BITS - 1)
        elif kind == BASE:
            base_ns = (word & (1 << KIND_SHIFT) - 1) * 1000
        elif kind == LONG:
            entry = _long(at, word, advance, end, content)
            yield entry
            if isinstance(entry, Torn) and word & DONE:
                return
            at += word >> LENGTH_SHIFT & LONGEST_WORDS
        else:
            yield Torn(at, 1, "a word of no kind")
            return
        at += 1


def _long(at: int, header: int, advance: int, end: int, content: memoryview) -> Word | Torn:
    length = header >> LENGTH_SHIFT & LONGEST_WORDS
    if at + 1 + length > end:
        return Torn(at, end - at, "an entry that goes on past its segment")
    if not header & DONE:
        return Torn(at, length + 1, UNFINISHED)
    padded = bytes(content[(at + 1) * WORD_BYTES : (at + 1 + length) * WORD_BYTES])
    if zlib.crc32(padded) != header & 0xFFFFFFFF:
        return Torn(at, length + 1, "an entry whose checksum is wrong")
    payload = padded[: len(padded) - (header >> PAD_SHIFT & 7)]
    return Word(at, LONG, advance, 0, header >> TYPE_SHIFT & 31, payload)
