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
MAGIC = int.from_bytes(b"CLNSEG02", "little")
# Of segments whose times of `time()` are nanoseconds; they are read, and no longer written.
MAGIC_OF_NANOSECONDS = int.from_bytes(b"CLNSEG01", "little")
MAGICS = (MAGIC, MAGIC_OF_NANOSECONDS)
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
ADVANCE_MOST = 31
# Of so many records, what is added to a word: shifting takes longer than looking it up.
ADVANCES = tuple(count << ADVANCE_SHIFT for count in range(ADVANCE_MOST + 1))

# TIME_NS and TAKE: a site (or an input), and a time since the base (or an offset).
SITE_SHIFT = 44
SITES_MOST = 1 << (ADVANCE_SHIFT - SITE_SHIFT)
LOW_BITS = 1 << SITE_SHIFT

# TIME: the bits of a float from 2**30 up to 2**31, whose highest are this kind whatever follows: four bits of records,
# 12 of a site, and 36 of ticks since the base, which is a whole second. A float of today's seconds counts in just these
# ticks: it has its word, and is had again from it, by sums that nothing is lost in, and becomes no integer on the way.
TICKS = 1 << 22
REAL_LEAST = 2.0**30
REAL_BITS = 0x41D << 52
REAL_SITE_SHIFT, REAL_ADVANCE_SHIFT = 36, 48
REAL_SITE = 2.0**REAL_SITE_SHIFT / TICKS
REAL_SPAN_S = (1 << REAL_SITE_SHIFT) // TICKS
REAL_ADVANCES = tuple(count << REAL_ADVANCE_SHIFT for count in range(16))
REAL_ADVANCES_S = tuple(count * 2.0**REAL_ADVANCE_SHIFT / TICKS for count in range(16))

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

    `value` is a time in ns since 1970, a random number's 53 bits, an offset, a count, or a type; `seconds` is a time
    that was given as such. `site` may be an input.
    """

    at: int
    kind: int
    advance: int = 0
    site: int = 0
    value: int = 0
    payload: bytes = b""
    seconds: float = 0.0


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
    in_ticks = words[H_MAGIC] != MAGIC_OF_NANOSECONDS
    while at < end and (word := words[at]):
        kind = word >> KIND_SHIFT
        advance = word >> ADVANCE_SHIFT & ADVANCE_MOST
        if kind == TIME and in_ticks:
            yield _time(at, word, base_ns)
        elif kind == TIME:
            site, now = word >> SITE_SHIFT & SITES_MOST - 1, base_ns + (word & LOW_BITS - 1)
            yield Word(at, kind, advance, site, seconds=now / 1e9)
        elif kind == TIME_NS:
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


def _time(at: int, word: int, base_ns: int) -> Word:
    ticks, site = word & (1 << REAL_SITE_SHIFT) - 1, word >> REAL_SITE_SHIFT & SITES_MOST - 1
    advance = word >> REAL_ADVANCE_SHIFT & len(REAL_ADVANCES) - 1
    return Word(at, TIME, advance, site, seconds=base_ns // 10**9 + ticks / TICKS)


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
