"""The records that a path of a channel's receiver took, whole ones only, of whichever attempt of its sender."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.guarantees.ledger.executions import Executions, Path
from replay.guarantees.ledger.streams import Entry, Run, Stream, runs_of, taken_in
from replay.model import Channel


@dataclass(slots=True)
class Takes:
    """`runs`: what was taken, in order; `streams`: what those attempts of the sender put on the channel."""

    channel: Channel
    runs: list[Run]
    streams: dict[int, Stream]

    @classmethod
    def read(cls, source: RecordingSource, executions: Executions, channel: Channel, path: Path | None = None) -> Takes:
        """Of a path of the receiver; without one, of the executions that count."""
        runs = runs_of(taken_in(source, channel, path or executions.surviving(channel.target)))
        streams = {
            one: Stream.read(source, channel, executions.path(channel.source, one))
            for one in {run.attempt for run in runs}
        }
        return cls(channel, runs, streams)

    def entries(self) -> Iterator[tuple[int, int, Entry]]:
        """(sender's attempt, place in its stream, record)."""
        before = -1
        for run in self.runs:
            stream = self.streams[run.attempt]
            begin, end = self._span(stream, run.attempt, run.first)[0], self._span(stream, run.attempt, run.last)[1]
            ends = stream.ends
            first = bisect_right(ends, begin)
            starts = ends[first - 1] if first else 0
            if starts < begin and before != begin:
                first += 1  # its beginning was taken of nobody: it is dropped with the rest of it
            for index in range(first, bisect_right(ends, end)):
                yield run.attempt, index, stream.entries[index]
            before = end

    def _span(self, stream: Stream, attempt: int, seq: int) -> tuple[int, int]:
        if (attempt, seq) not in stream.spans:
            folder = f"tasks/{self.channel.source}/{attempt}/sent-{self.channel.k}/"
            raise Missing(
                f"The recording lacks buffer {seq} that attempt {attempt} of {self.channel.source} sent on "
                f"{self.channel.id}, and that was taken.",
                member=folder,
                channel=self.channel.id,
                buffer=seq,
            )
        return stream.spans[attempt, seq]
