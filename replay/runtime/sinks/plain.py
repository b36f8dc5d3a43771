"""The plain sink: every write goes out at once. After a failure it writes again what it wrote since the checkpoint."""

from __future__ import annotations

from replay.model import Record
from replay.runtime.sinks.base import Sink


class PlainSink(Sink):
    """At least once."""

    def write(self, record: Record) -> None:
        """Out at once, or as soon as the protocol lets anything out."""
        attempt, epoch, now_us = self.attempt, self.attempt.body.epoch, self.attempt.main.now_us()

        def out() -> None:
            written_us = max(now_us, attempt.engine.scheduler.now_us)
            self._accepted(epoch, written_us, record)
            self._visible(record, written_us)

        attempt.leaves(out)
