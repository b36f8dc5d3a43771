"""An output channel's byte stream: the main thread writes records to it, the output thread cuts buffers off it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from replay.errors import check
from replay.model import json_bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A buffer as it left the stream. `barrier`: the checkpoint whose barrier it is, if it is one."""

    seq: int
    payload: bytes
    is_event: bool
    epoch: int
    barrier: int | None = None


class _Stretch:
    """Bytes of one epoch that may be cut anywhere, or one event that may only be cut whole."""

    __slots__ = ("barrier", "data", "epoch", "is_event", "start")

    def __init__(self, epoch: int, data: bytearray, is_event: bool = False, barrier: int | None = None):
        self.epoch = epoch
        self.data = data
        self.start = 0
        self.is_event = is_event
        self.barrier = barrier

    def __len__(self) -> int:
        return len(self.data) - self.start


class OutputWriter:
    """Filled at one end by records and events, cut at the other into buffers with ascending sequence numbers."""

    __slots__ = ("_stretches", "_tail", "epoch", "next_seq", "queued_bytes")

    def __init__(self, *, epoch: int = 0, next_seq: int = 0):
        self.epoch = epoch
        self.next_seq = next_seq
        self.queued_bytes = 0
        self._stretches: deque[_Stretch] = deque()
        # What the last stretch holds, as long as records may be added to it.
        self._tail: bytearray | None = None

    def write(self, data: bytes) -> None:
        """Adds bytes of a record."""
        tail = self._tail
        if tail is None:
            tail = self._tail = bytearray()
            self._stretches.append(_Stretch(self.epoch, tail))
        tail += data
        self.queued_bytes += len(data)

    def write_barrier(self, checkpoint: int) -> None:
        """Ends the epoch: the barrier is its last buffer; what follows belongs to the epoch of that checkpoint."""
        self.write_event({"barrier": checkpoint}, barrier=checkpoint)
        self.epoch = checkpoint

    def write_event(self, event: dict[str, object], *, barrier: int | None = None) -> None:
        """Adds an event, a buffer of its own."""
        data = bytearray(json_bytes(event))
        self._tail = None
        self._stretches.append(_Stretch(self.epoch, data, is_event=True, barrier=barrier))
        self.queued_bytes += len(data)

    @property
    def available_bytes(self) -> int:
        """The size of the largest buffer that can be cut now; 0 where nothing is there."""
        return len(self._stretches[0]) if self._stretches else 0

    @property
    def head_is_event(self) -> bool:
        """Whether what is cut next is an event."""
        return bool(self._stretches) and self._stretches[0].is_event

    @property
    def head_epoch(self) -> int:
        """The epoch of what is cut next, or of what will be written next where there is nothing."""
        return self._stretches[0].epoch if self._stretches else self.epoch

    @property
    def head_is_closed(self) -> bool:
        """Whether nothing can be added any more to what is cut next."""
        return len(self._stretches) > 1 or self.head_is_event

    def ahead(self, size: int) -> bytes:
        """The next bytes of what is cut next, left where they are."""
        if not self._stretches:
            return b""
        head = self._stretches[0]
        return bytes(head.data[head.start : head.start + size])

    def can_cut(self, size: int) -> bool:
        """Whether a buffer of exactly this size can be cut now; False also where it never will be."""
        head = self._stretches[0] if self._stretches else None
        return head is not None and (len(head) == size if head.is_event else len(head) >= size)

    def cut(self, size: int) -> Cut:
        """Takes exactly `size` bytes off the front: of the records' bytes, or the one whole event."""
        check(self.can_cut(size), f"no buffer of {size} bytes can be cut")
        head = self._stretches[0]
        payload = bytes(head.data[head.start : head.start + size])
        head.start += size
        if not len(head):
            self._stretches.popleft()
            if head.data is self._tail:
                self._tail = None
        elif head.start > 1 << 16:
            del head.data[: head.start]
            head.start = 0
        self.queued_bytes -= size
        cut = Cut(self.next_seq, payload, head.is_event, head.epoch, head.barrier)
        self.next_seq += 1
        return cut
