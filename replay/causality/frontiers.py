"""Frontiers: up to where of whose logs a task depended on, from when on, by the cut positions that buffers carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.causality.recording import Recording
from replay.model import MAIN, Channel, TaskId, Thread, thread_of_output

LogPlace = tuple[TaskId, Thread, int]
"""(task, thread, epoch)"""

_BUFFER_BUILT_BYTES = 5


@dataclass(frozen=True, slots=True)
class FrontierRow:
    """From `t_us` on, `task`'s attempt depended on `of_task`'s log up to `upto`. A row where it grew."""

    task: TaskId
    attempt: int
    t_us: int
    of_task: TaskId
    thread: Thread
    epoch: int
    upto: int


def frontiers(recording: Recording) -> list[FrontierRow]:
    """Of every attempt of every task, from the sources down; by task, attempt and time."""
    grown: dict[tuple[TaskId, int], list[FrontierRow]] = {}
    for task in recording.graph.order:
        for attempt in recording.attempts(task):
            grown[task, attempt] = list(_of_attempt(recording, task, attempt, grown))
    return [row for rows in grown.values() for row in rows]


def _of_attempt(
    recording: Recording, task: TaskId, attempt: int, grown: dict[tuple[TaskId, int], list[FrontierRow]]
) -> Iterator[FrontierRow]:
    channels = [recording.graph.channel(channel) for channel in recording.graph.task(task).inputs]
    takes: list[tuple[int, int, ReceiptFrame]] = []
    for i, _ in enumerate(channels):
        receipts = recording.receipts(task, attempt, i)
        takes.extend((receipt.taken_us, i, receipt) for receipt in receipts if receipt.taken)
    takes.sort(key=lambda take: take[:2])
    cuts = [Cuts(recording, channel) for channel in channels]
    merged: dict[tuple[int, int], int] = {}  # (input, sender's attempt) -> how many of the sender's rows are in
    frontier: dict[LogPlace, int] = {}
    for t_us, i, receipt in takes:
        found = cuts[i].find(receipt.sender_attempt, receipt.seq)
        if found is None:
            continue
        frame, built = found
        source = channels[i].source
        news: list[tuple[LogPlace, int]] = [
            ((source, MAIN, frame.main_epoch), frame.main_offset),
            ((source, thread_of_output(channels[i].k), frame.epoch), built),
        ]
        above = grown.get((source, receipt.sender_attempt), [])
        at = merged.get((i, receipt.sender_attempt), 0)
        while at < len(above) and above[at].t_us <= frame.t_us:
            news.append(((above[at].of_task, above[at].thread, above[at].epoch), above[at].upto))
            at += 1
        merged[i, receipt.sender_attempt] = at
        for place, upto in news:
            if upto > frontier.get(place, 0):
                frontier[place] = upto
                yield FrontierRow(task, attempt, t_us, *place, upto)


class Cuts:
    """The buffers of a channel by sender's attempt and number, each with how far its output's log went with it."""

    def __init__(self, recording: Recording, channel: Channel):
        self.recording = recording
        self.channel = channel
        self._by_attempt: dict[int, dict[int, tuple[BufferFrame, int]]] = {}

    def find(self, attempt: int, seq: int) -> tuple[BufferFrame, int] | None:
        if attempt not in self._by_attempt:
            self._by_attempt[attempt] = self._read(attempt)
        return self._by_attempt[attempt].get(seq)

    def _read(self, attempt: int) -> dict[int, tuple[BufferFrame, int]]:
        logged = self.recording.manifest.protocol.logs
        found: dict[int, tuple[BufferFrame, int]] = {}
        lengths: dict[int, int] = {}
        for frame in self.recording.buffers(self.channel.source, attempt, self.channel.k):
            lengths[frame.epoch] = lengths.get(frame.epoch, 0) + (_BUFFER_BUILT_BYTES if logged else 0)
            # What follows needs the frame's places, not its bytes.
            bare = BufferFrame(
                frame.seq, frame.t_us, frame.flags, frame.epoch, frame.main_epoch, frame.main_offset, b""
            )
            found[frame.seq] = (bare, lengths[frame.epoch])
        return found
