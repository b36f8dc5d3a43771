"""How much of a recording is kept: so many epochs of each task, and never more bytes than were allowed."""

from __future__ import annotations

import errno
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from clonoscope.segments import SUFFIX, Segment


@dataclass(frozen=True, slots=True)
class Full:
    """A segment that nothing is added to. `epoch`: the last one in it; None where an earlier process wrote it."""

    task: str
    path: Path
    size_bytes: int
    epoch: int | None


class Retention:
    """Lets the oldest go: whole segments, of epochs that are over. What goes is missing at the beginning of a log."""

    def __init__(self, folder: Path, keep: int | None, max_bytes: int):
        self.max_bytes = max_bytes
        self._folder = folder
        self._keep = keep
        self._lock = threading.RLock()
        self._full: deque[Full] = deque()
        self._epochs: dict[str, int] = {}
        self.bytes = 0

    def look(self) -> None:
        """At what earlier processes, and other ones, left here."""
        found = []
        for path in self._folder.glob(f"tasks/*/*/*{SUFFIX}"):
            status = path.stat()
            found.append((status.st_mtime_ns, Full(path.parent.parent.name, path, status.st_size, None)))
        with self._lock:
            self._full.extendleft(one for _, one in sorted(found, key=lambda pair: pair[0], reverse=True))
            self.bytes += sum(one.size_bytes for _, one in found)

    def make_room(self, at_least_bytes: int) -> None:
        """For one more segment; raises `OSError` where nothing may go."""
        with self._lock:
            while self.bytes + at_least_bytes > self.max_bytes:
                oldest = next((one for one in self._full if self._is_over(one)), None)
                if oldest is None:
                    raise OSError(errno.ENOSPC, f"the recording has reached its {self.max_bytes >> 20} MiB (max_mb)")
                self._let_go(oldest)

    def _is_over(self, one: Full) -> bool:
        return one.epoch is None or one.epoch < self._epochs.get(one.task, one.epoch)

    def _let_go(self, one: Full) -> None:
        self._full.remove(one)
        self.bytes -= one.size_bytes
        one.path.unlink(missing_ok=True)

    def began(self, segment: Segment) -> None:
        """A segment was made."""
        with self._lock:
            self.bytes += segment.size_bytes

    def filled(self, task: str, segment: Segment, epoch: int | None) -> None:
        """A segment is sealed; without an epoch it belongs to what came before the first."""
        with self._lock:
            self._full.append(Full(task, segment.path, segment.size_bytes, -1 if epoch is None else epoch))

    def epoch_began(self, task: str, epoch: int) -> None:
        """Of a task; those that are too old go."""
        with self._lock:
            self._epochs[task] = epoch
            if self._keep is None:
                return
            over = [
                one
                for one in self._full
                if one.task == task and one.epoch is not None and one.epoch <= epoch - self._keep
            ]
            for one in over:
                self._let_go(one)

    def after_fork(self) -> None:
        """In the child: what was written so far is the parent's to let go."""
        self._lock = threading.RLock()
        self._full.clear()
