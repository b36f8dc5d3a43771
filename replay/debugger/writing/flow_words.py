"""The sentences of what flows through a task: buffers in, records and watermarks, buffers out."""

from __future__ import annotations

from typing import Any

from replay.bundle.frames import BufferFrame
from replay.debugger.writing.sentences import Sentence, fixed
from replay.debugger.writing.words import bytes_of
from replay.errors import printable
from replay.runtime.body.output import Cut
from replay.runtime.body.watermarks import END_OF_TIME, IDLE, NO_WATERMARK
from replay.runtime.operators import Timer
from replay.runtime.operators.base import EVENT

_SHOWN_KEY = 40
_SHOWN_EVENT = 80
_GIVEN = {
    "plain": "the outside world is given it",
    "transactional": "it stands in the open transaction",
    "idempotent": "it is gathered in the sink's own log",
    "determinant": "the outside world is given it with its determinants",
}


DELIVERED = Sentence("Processes record {:,} of the epoch, key {} of buffer {:d}.")
DELIVERED_BY_SOURCE = Sentence("Processes record {:,} of the epoch, key {}.")


def short(value: Any) -> str:
    """A key as a sentence can hold it."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_KEY else f"{text[:_SHOWN_KEY]}…"


def take_words(log: str | None, i: int, channel: str, frame: BufferFrame, as_before: str) -> str:
    """Which buffer comes in next, where no log says so because there is one channel alone, or for a barrier."""
    upstream = channel.partition(">")[0]
    what = bytes_of(len(frame.payload))
    if frame.is_event:
        what = f"an event ({printable(frame.payload.decode('utf-8', 'replace'), _SHOWN_EVENT)})"
    came = f"{log} says the next buffer came from" if log else "Takes the next buffer of"
    return f"{came} channel {i} ({upstream}): buffer {frame.seq}, {what}{as_before}."


def watermark_words(upstream: str, watermark_ms: int) -> str:
    """What a watermark of an input says."""
    match watermark_ms:
        case _ if watermark_ms == IDLE:
            return f"{upstream} is idle and holds nobody back"
        case _ if watermark_ms == NO_WATERMARK:
            return f"{upstream} is there again"
        case _ if watermark_ms >= END_OF_TIME:
            return f"event time has come to its end at {upstream}"
        case _:
            return f"event time has come to {watermark_ms} at {upstream}"


def timer_words(timer: Timer) -> str:
    """Which timer the operator is given."""
    name = f" {timer.name!r}" if timer.name else ""
    key = f" of key {short(timer.key)}" if timer.key != "" else ""
    time = "event time " if timer.time == EVENT else ""
    return f"Runs the timer{name}{key}, set for {time}{timer.at_ms}."


def written(k: int, channel: str) -> Sentence:
    """Which record goes to that output. With its length in front it is never one byte."""
    return Sentence(f"Writes a record with key {{}} to output {k} ({fixed(channel.partition('>')[2])}): {{:,}} bytes.")


def given(sink: str, *, held_back: bool) -> Sentence:
    """What becomes of a record that a sink writes."""
    becomes = "the outside world has it already, so it is held back" if held_back else _GIVEN.get(sink, _GIVEN["plain"])
    return Sentence(f"Writes a record with key {{}}: {becomes}.")


def cut_words(channel: str, cut: Cut, *, anew: bool) -> str:
    """Which buffer was cut, and of what."""
    what = "an event" if cut.is_event else "records"
    like = "in a new execution" if anew else "as in the first execution"
    return f"Cuts buffer {cut.seq} of {channel}: {bytes_of(len(cut.payload))} of {what}, {like}."


def fate_words(channel: str, cut: Cut, *, held: bool, beyond: bool, matches: bool | None, received: bool | None) -> str:
    """Whether a buffer is what it was, and what becomes of it."""
    receiver = channel.partition(">")[2]
    equal = {
        True: f"equals the one {'recorded' if beyond else 'before'}, byte for byte",
        False: "differs from the one that the recording holds",
        None: "has none before it to be compared with",
    }[matches]
    had = {
        True: f", and {receiver} has received it before",
        False: f", and {receiver} never received it",
        None: "",
    }[received]
    done = "stands in the in-flight log and is not sent" if held else "was cut here and sent"
    return f"Buffer {cut.seq} of {channel} {equal}: it {done}{had}."
