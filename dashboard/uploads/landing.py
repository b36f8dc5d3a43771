"""The file in which an upload lands: one writer at a time, never longer than announced, true to its row's offset."""

from __future__ import annotations

import fcntl
import os

from dashboard import store
from dashboard.models import Upload
from dashboard.problems import Problem

# What was received is written down this often, so that a killed server costs a resuming client no more.
COMMIT_EVERY_BYTES = 16 << 20
FORM_SUFFIX = ".form"


class Landing:
    """An upload that is being written. Locked against others, in whichever process, until it is closed."""

    def __init__(self, upload: Upload, *, form: bool = False) -> None:
        self.upload = upload
        # A form is over when its request is; the name tells the sweeper, which cannot ask a request that was killed.
        self.path = store.uploads() / (upload.id + (FORM_SUFFIX if form else ""))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock()
            # The row is the truth: what a killed process wrote past it counts as never received.
            upload.refresh_from_db(fields=["offset"])
            os.ftruncate(self._file, upload.offset)
        except BaseException:
            os.close(self._file)
            raise
        self.offset = upload.offset
        self._committed = upload.offset

    def write(self, data: bytes) -> None:
        """Appends; Problem 413 past the announced size, OSError where the disk is full."""
        if self.offset + len(data) > self.upload.size:
            raise Problem(413, f"More bytes came than the {self.upload.size} that were announced.")
        view = memoryview(data)
        at = self.offset
        while view:
            written = os.pwrite(self._file, view, at)
            view, at = view[written:], at + written
        self.offset = at

    @property
    def uncommitted_bytes(self) -> int:
        return self.offset - self._committed

    def commit(self) -> None:
        """From here on the bytes count as received."""
        os.fdatasync(self._file)
        Upload.objects.filter(id=self.upload.id).update(offset=self.offset)
        self.upload.offset = self._committed = self.offset

    def close(self) -> None:
        """What was not committed never came; its room is given back."""
        if self._file >= 0:
            os.ftruncate(self._file, self._committed)
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """The upload is over: neither row nor file stay. The lock goes last."""
        Upload.objects.filter(id=self.upload.id).delete()
        self.path.unlink(missing_ok=True)
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem(
                423, "Another request is writing to this upload. Wait for it, then ask for the offset.", code="locked"
            ) from None
        # Whoever held the lock before may have ended the upload and removed the file that we hold now.
        if not self._is_still_there():
            raise Problem(404)

    def _is_still_there(self) -> bool:
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            return False
        return named.st_ino == os.fstat(self._file).st_ino
