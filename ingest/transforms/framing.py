"""Walks the record framing of a channel's byte stream: how many records end in each buffer."""

from __future__ import annotations

from replay.errors import CorruptMember

LENGTH_BYTES = 4


class RecordWalk:
    """Fed the payloads of one channel and attempt in order. Records span buffers, but never an event."""

    def __init__(self) -> None:
        self._missing_bytes = 0
        self._length = b""

    @property
    def between_records(self) -> bool:
        return not self._missing_bytes and not self._length

    def restart(self) -> None:
        """Forgets a record that was begun: what follows begins a new one."""
        self._missing_bytes, self._length = 0, b""

    @property
    def stands(self) -> tuple[int, bytes]:
        """What `go_on` takes: how many bytes of a record are missing, and what there is of a length."""
        return self._missing_bytes, self._length

    def go_on(self, missing_bytes: int, length: bytes) -> None:
        """From where another walk stood."""
        self._missing_bytes, self._length = missing_bytes, length

    def ended_in(self, payload: bytes) -> int:
        """Feeds a buffer's payload; returns how many records end in it. Raises `CorruptMember` without a place."""
        ended, position, end = 0, 0, len(payload)
        while position < end:
            if self._missing_bytes:
                step = min(self._missing_bytes, end - position)
                self._missing_bytes -= step
                position += step
            else:
                step = min(LENGTH_BYTES - len(self._length), end - position)
                self._length += payload[position : position + step]
                position += step
                if len(self._length) < LENGTH_BYTES:
                    break
                self._missing_bytes = int.from_bytes(self._length, "big", signed=True)
                self._length = b""
                if self._missing_bytes <= 0:
                    raise CorruptMember(f"a record in the buffer claims {self._missing_bytes} bytes")
            ended += not self._missing_bytes
        return ended
