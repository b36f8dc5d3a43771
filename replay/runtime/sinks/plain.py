"""The plain sink: every write goes out at once. After a failure it writes again what it wrote since the checkpoint."""

from __future__ import annotations

from replay.model import Record
from replay.runtime.sinks.base import Sink


class PlainSink(Sink):
    """At least once."""

    def write(self, record: Record) -> None:
        """Out at once."""
        now_us = self.attempt.main.now_us()
        self._accepted(self.attempt.body.epoch, now_us, record)
        self._visible(record, now_us)
