"""What causality reads of a recording; a bundle satisfies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame
from replay.model import Graph, Manifest, Thread


class Recording(Protocol):
    """A recording, member by member. Attempts and epochs are those that have members."""

    @property
    def manifest(self) -> Manifest:
        """`job.json`."""

    @property
    def graph(self) -> Graph:
        """The manifest's tasks and channels."""

    def attempts(self, task: str) -> Iterable[int]:
        """The attempts of a task that left anything, ascending."""

    def epochs(self, task: str, attempt: int, folder: str) -> Iterable[int]:
        """The epochs of `main`, `out-<k>`, `sent-<k>`, `received-<i>`, …, ascending."""

    def log_bytes(self, task: str, attempt: int, thread: Thread, epoch: int) -> bytes:
        """A `.det` member; nothing where there is none."""

    def buffers(self, task: str, attempt: int, k: int) -> Iterator[BufferFrame]:
        """The buffers cut on an output, by epoch and in their order."""

    def sendings(self, task: str, attempt: int, k: int) -> Iterator[SendingFrame]:
        """The sendings on an output, by epoch and in their order."""

    def receipts(self, task: str, attempt: int, i: int) -> Iterator[ReceiptFrame]:
        """The receipts of an input, by epoch and in their order."""

    def world(self, task: str, attempt: int) -> Iterator[SendingFrame]:
        """The determinants that a task left with the outside world, by epoch and in their order."""

    def events(self) -> Iterator[Mapping[str, Any]]:
        """`events.ndjson`, in order."""
