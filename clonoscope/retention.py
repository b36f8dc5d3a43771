"""How much of a recording is kept: so many epochs of each task, and never more bytes than were allowed."""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clonoscope.segments import SUFFIX, Segment, is_sealed, rest_of, segments_of

# Others may write into the same folder: it is looked at again when this share of the bound was added here.
_LOOKS_A_BOUND = 8


@dataclass(frozen=True, slots=True)
class Full:
    """A segment that nothing is added to. `epoch`: the last one in it; None where nobody here adds to its epoch."""

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
        # The oldest first.
        self._full: dict[Path, Full] = {}
        self._open: dict[Path, int] = {}
        self._epochs: dict[str, int] = {}
        self._added_bytes = 0
        self._looking = False
        # The last epochs that each task began: their numbers need not follow one another.
        self._kept: dict[str, deque[int]] = {}
        self.bytes = 0
        # Folders of attempts that somebody reads.
        self.pinned: set[Path] = set()
        # When the oldest of what lies here was written; None where nothing does.
        self.oldest_ns: int | None = None

    def look(self) -> None:
        """At what lies here, whoever wrote it. What may still be written to by others is the last to go."""
        found = []
        for path in self._folder.glob(f"tasks/*/*/*{SUFFIX}"):
            try:
                status = path.stat()
            except OSError:
                continue  # another process let it go
            full = Full(path.parent.parent.name, path, status.st_size, None)
            found.append((not is_sealed(path), status.st_mtime_ns, full))
        with self._lock:
            known = self._full
            self._full = {
                one.path: known.get(one.path, one)
                for *_, one in sorted(found, key=lambda one: one[:2])
                if one.path not in self._open
            }
            self._full |= {path: one for path, one in known.items() if one.epoch is not None}
            self.bytes = sum(one.size_bytes for one in self._full.values()) + sum(self._open.values())
            self._added_bytes = 0
            self._looking = False
            self.oldest_ns = min((written_ns for _, written_ns, _ in found), default=None)

    def _look_again(self) -> None:
        """Beside the job, which waits for nothing here."""
        with self._lock:
            if self._looking or self._added_bytes * _LOOKS_A_BOUND < self.max_bytes:
                return
            self._looking = True
        threading.Thread(target=self.look, name="clonoscope-retention", daemon=True).start()

    def make_room(self, at_least_bytes: int) -> None:
        """For one more segment; raises `OSError` where nothing may go."""
        self._look_again()
        with self._lock:
            while self.bytes + at_least_bytes > self.max_bytes:
                oldest = next((one for one in self._full.values() if self._is_over(one)), None)
                if oldest is None:
                    raise OSError(errno.ENOSPC, f"the recording has reached its {self.max_bytes >> 20} MiB (max_mb)")
                self._let_go(oldest)

    def _is_over(self, one: Full) -> bool:
        if one.path.parent in self.pinned:
            return False
        return one.epoch is None or one.epoch < self._epochs.get(one.task, one.epoch)

    def _is_before(self, one: Full, epoch: int) -> bool:
        return one.epoch is not None and one.epoch < epoch and one.path.parent not in self.pinned

    def _let_go(self, one: Full) -> None:
        del self._full[one.path]
        self.bytes -= one.size_bytes
        one.path.unlink(missing_ok=True)

    @contextmanager
    def beginning(self, path: Path) -> Iterator[None]:
        """Within, a segment is made under that name: whoever looks meanwhile must not take it for one that is over."""
        with self._lock:
            self._open[path] = 0
        try:
            yield
        except BaseException:
            with self._lock:
                self._open.pop(path, None)
            raise

    def began(self, segment: Segment) -> None:
        """A segment was made."""
        with self._lock:
            self._open[segment.path] = segment.size_bytes
            self.bytes += segment.size_bytes

    def filled(self, task: str, segment: Segment, epoch: int | None) -> None:
        """A segment is sealed; without an epoch nothing holds it here."""
        with self._lock:
            self.bytes += segment.size_bytes - self._open.pop(segment.path, 0)
            self._added_bytes += segment.size_bytes
            self._full[segment.path] = Full(task, segment.path, segment.size_bytes, epoch)

    def epoch_began(self, task: str, epoch: int) -> None:
        """Of a task; those that are too old go."""
        with self._lock:
            self._epochs[task] = epoch
            if self._keep is None:
                return
            kept = self._kept.setdefault(task, deque(maxlen=self._keep))
            while kept and kept[-1] >= epoch:
                kept.pop()
            kept.append(epoch)
            if len(kept) < self._keep:
                return
            over = [one for one in self._full.values() if one.task == task and self._is_before(one, kept[0])]
            for one in over:
                self._let_go(one)

    def handed_on(self, folder: Path, epoch: int) -> None:
        """An epoch of a task that is handed on begins; who recorded those before does not matter."""
        for path in self._too_old(folder, epoch - self._keep) if self._keep is not None else ():
            with self._lock:
                known = self._full.get(path)
                if known is not None:
                    self._let_go(known)
                else:
                    path.unlink(missing_ok=True)

    def _too_old(self, folder: Path, last: int) -> Iterator[Path]:
        """An epoch that never ended goes with the next that did."""
        before: list[Path] = []
        attempts = sorted(int(one.name) for one in folder.iterdir() if one.name.isdecimal())
        for attempt in attempts:
            for _, path in segments_of(folder / str(attempt)):
                before.append(path)
                rest = rest_of(path)
                if rest is not None and rest.epoch > last:
                    return
                if rest is not None:
                    yield from before
                    before.clear()

    def after_fork(self) -> None:
        """In the child: what was written so far is the parent's to let go."""
        self._lock = threading.RLock()
        self._looking = False
        self._full.clear()
        self._open.clear()
        self.pinned.clear()
