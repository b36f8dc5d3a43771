"""The determinants: what a task writes down about each nondeterministic choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeGuard

CALLBACKS = (
    "watermark",
    "timestamp-extractor",
    "periodic-watermark-extractor",
    "punctuated-watermark-extractor",
    "idle",
    "latency",
)
"""The callback types of a timer by their number; number 6 is `internal:<name>`."""

INTERNAL_CALLBACK = len(CALLBACKS)
INTERNAL_PREFIX = "internal:"
CHECKPOINT_TYPES = ("checkpoint", "savepoint")
JAVA_STREAM_MAGIC = b"\xac\xed\x00\x05"
SIZED_PAYLOAD_MAGIC = b"CL"


@dataclass(frozen=True, slots=True)
class Order:
    """The next buffer came from this input channel."""

    channel: int
    kind: ClassVar[str] = "order"
    TAG: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The wall clock read this."""

    value: int
    kind: ClassVar[str] = "timestamp"
    TAG: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Rng:
    """The random generator gave, or was seeded with, this."""

    value: int
    kind: ClassVar[str] = "rng"
    TAG: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Serializable:
    """An external call's result. `payload` begins with its own magic: a Java stream, or `CL` with a length."""

    payload: bytes
    kind: ClassVar[str] = "serializable"
    TAG: ClassVar[int] = 3

    @classmethod
    def of(cls, content_type: int, content: bytes) -> Serializable:
        """A payload in the `CL` layout: 0 bytes, 1 JSON, 2 text, 3 a call."""
        return cls(SIZED_PAYLOAD_MAGIC + bytes([content_type]) + len(content).to_bytes(4, "big") + content)

    @property
    def content_type(self) -> int | None:
        """The `CL` content type; None for a Java stream."""
        return self.payload[2] if self.payload.startswith(SIZED_PAYLOAD_MAGIC) else None

    @property
    def content(self) -> bytes:
        """What the `CL` layout wraps; a Java stream as it is."""
        return self.payload[7:] if self.payload.startswith(SIZED_PAYLOAD_MAGIC) else self.payload


@dataclass(frozen=True, slots=True)
class TimerTrigger:
    """A timer fired before the element of this record count. `callback` is a name of CALLBACKS or `internal:<name>`."""

    record_count: int
    timestamp: int
    callback: str
    kind: ClassVar[str] = "timer-trigger"
    TAG: ClassVar[int] = 4


@dataclass(frozen=True, slots=True)
class SourceCheckpoint:
    """A source took a checkpoint at this record count. `storage_ref` None and empty are not the same."""

    record_count: int
    checkpoint: int
    timestamp: int
    checkpoint_type: str = "checkpoint"
    storage_ref: bytes | None = None
    kind: ClassVar[str] = "source-checkpoint"
    TAG: ClassVar[int] = 5


@dataclass(frozen=True, slots=True)
class IgnoreCheckpoint:
    """The task was told to ignore this checkpoint, at this record count."""

    record_count: int
    checkpoint: int
    kind: ClassVar[str] = "ignore-checkpoint"
    TAG: ClassVar[int] = 6


@dataclass(frozen=True, slots=True)
class BufferBuilt:
    """The output thread cut a buffer of this size."""

    buffer_bytes: int
    kind: ClassVar[str] = "buffer-built"
    TAG: ClassVar[int] = 7


@dataclass(frozen=True, slots=True)
class Take:
    """A run of records taken from one input."""

    channel: int
    first_offset: int
    records: int
    kind: ClassVar[str] = "take"
    TAG: ClassVar[int] = 16


Determinant = (
    Order | Timestamp | Rng | Serializable | TimerTrigger | SourceCheckpoint | IgnoreCheckpoint | BufferBuilt | Take
)
Async = TimerTrigger | SourceCheckpoint | IgnoreCheckpoint
_ASYNC = frozenset((TimerTrigger, SourceCheckpoint, IgnoreCheckpoint))

KINDS: tuple[type[Determinant], ...] = (
    Order,
    Timestamp,
    Rng,
    Serializable,
    TimerTrigger,
    SourceCheckpoint,
    IgnoreCheckpoint,
    BufferBuilt,
    Take,
)

KIND_OF_TAG: dict[int, str] = {one.TAG: one.kind for one in KINDS}
"""The name of a determinant's kind, by the first of its bytes."""


def is_async(determinant: Determinant) -> TypeGuard[Async]:
    """Whether it is pinned by its record count, rather than by what the task does next."""
    return type(determinant) in _ASYNC
