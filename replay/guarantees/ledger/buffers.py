"""The buffers of every channel, sending by sending, by what became of them; and those of which there is something to
tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.bundle.frames import ReceiptFrame
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.guarantees.claims import Section
from replay.guarantees.ledger.agreement import finding_of
from replay.guarantees.ledger.wording import tell_findings
from replay.model import Channel

COUNTS = (
    "cut", "rebuilt", "held_back", "sent", "sent_again", "received", "taken", "taken_again", "not_taken", "lost",
)  # fmt: skip
"""Of buffers: cut anew; rebuilt by a recovery; of these, never sent by whoever rebuilt them. Of sendings: all; from the
in-flight log; that arrived; that were taken; of which somebody had taken that number before; that arrived and were not
taken; that no receipt names."""


class Entry(NamedTuple):
    """One sending of a buffer, or a buffer that was never sent: then `sending` is None. The receiver's attempt and
    times are those of its receipt; None where none names it, or where it was never taken."""

    attempt: int
    seq: int
    sending: int | None
    rebuilt: bool
    again: bool
    receiver: int | None
    received_us: int | None
    taken_us: int | None

    @property
    def fate(self) -> str:
        """`taken`, `not taken`, `lost` on the wire; `held back` or `never sent`."""
        if self.sending is None:
            return "held back" if self.rebuilt else "never sent"
        if self.received_us is None:
            return "lost"
        return "not taken" if self.taken_us is None else "taken"


def entries(source: RecordingSource, channel: Channel) -> Iterator[Entry]:
    """Of one channel, by the sender's attempts, in the order cut, each buffer with its sendings."""
    receipts: dict[tuple[int, int, int], tuple[int, ReceiptFrame]] = {}
    for receiver in source.attempts(channel.target):
        for one in source.receipts(channel.target, receiver, channel.i):
            receipts[one.sender_attempt, one.seq, one.sending] = receiver, one
    for attempt in source.attempts(channel.source):
        sendings: dict[int, list[tuple[int, bool]]] = {}
        for sent in source.sendings(channel.source, attempt, channel.k):
            sendings.setdefault(sent.seq, []).append((sent.sending, sent.from_in_flight))
        for frame in source.buffers(channel.source, attempt, channel.k):
            if frame.seq not in sendings:
                yield Entry(attempt, frame.seq, None, frame.held_back, False, None, None, None)
            for sending, again in sendings.get(frame.seq, ()):
                entry = Entry(attempt, frame.seq, sending, frame.held_back, again, None, None, None)
                arrived = receipts.get((attempt, frame.seq, sending))
                yield entry if arrived is None else _arrived(entry, *arrived)


def _arrived(entry: Entry, receiver: int, receipt: ReceiptFrame) -> Entry:
    taken_us = receipt.taken_us if receipt.taken else None
    return entry._replace(receiver=receiver, received_us=receipt.received_us, taken_us=taken_us)


def ledger(source: RecordingSource) -> Section:
    """Of every channel."""
    section = Section("ledger", "Buffers", verdict="counted")
    channels: dict[str, dict[str, int]] = {}
    totals: Counter[str] = Counter()
    for channel in source.graph.channels:
        counts = _Channel(channel)
        try:
            counts.count(section, source)
        except (DivergenceFound, ReplayError) as fault:
            tell_findings(section, [finding_of(source, fault)])
        channels[channel.id] = {name: counts.counts[name] for name in COUNTS}
        totals.update(counts.counts)
    section.numbers = {"channels": channels, "totals": {name: totals[name] for name in COUNTS}}
    if not channels:
        section.sentence = "No channel between tasks is recorded, so there is no buffer to count."
        return section
    section.sentence = (
        f"{totals['cut']:,} buffers were cut and {totals['rebuilt']:,} rebuilt; of {totals['sent']:,} sendings "
        f"{totals['taken']:,} were taken, {totals['not_taken']:,} arrived and were not, and {totals['lost']:,} never "
        "arrived."
    )
    return section


@dataclass(slots=True)
class _Channel:
    channel: Channel
    counts: Counter[str] = field(default_factory=Counter)
    before: tuple[int, int] = (-1, -1)

    def count(self, section: Section, source: RecordingSource) -> None:
        taken: Counter[int] = Counter()
        for one in entries(source, self.channel):
            if (one.attempt, one.seq) != self.before:
                self.counts["rebuilt" if one.rebuilt else "cut"] += 1
                self.counts["held_back"] += one.fate == "held back"
                self.before = one.attempt, one.seq
            if one.sending is None:
                continue
            self.counts["sent"] += 1
            self.counts["sent_again"] += one.again
            self.counts["received"] += one.received_us is not None
            self.counts[one.fate.replace(" ", "_")] += 1
            if one.fate == "taken":
                taken[one.seq] += 1
            self._note(section, one, again=one.fate == "taken" and taken[one.seq] > 1)

    def _note(self, section: Section, one: Entry, *, again: bool) -> None:
        name = f"{self.channel.id}/{one.attempt}#{one.seq}/{one.sending}"
        if one.fate == "lost":
            self._tell(section, "lost", f"was sent by attempt {one.attempt} and never arrived", one, f"sending:{name}")
        elif one.fate == "not taken":
            why = f"arrived at attempt {one.receiver} and was not taken"
            self._tell(section, "not taken", why, one, f"receipt:{name}")
        elif again:
            self.counts["taken_again"] += 1
            why = f"of attempt {one.attempt} was taken by attempt {one.receiver}, and that number before as well"
            self._tell(section, "taken again", why, one, f"receipt:{name}")

    def _tell(self, section: Section, kind: str, why: str, one: Entry, evidence: str) -> None:
        section.claim(f"channel:{self.channel.id}", kind, f"Buffer {one.seq} {why}.", (evidence,))
