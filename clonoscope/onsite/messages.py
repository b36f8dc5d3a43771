"""Stand-ins for a client of Kafka: a message as a consumer would give it, and a producer whose messages are outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from clonoscope.json_values import json_in
from clonoscope.onsite.held import Place
from replay.errors import ReplayError

_CREATE_TIME = 1


class Message:
    """As `confluent_kafka.Message`, of a record `[key, timestamp, value]` or of a message's value."""

    def __init__(self, place: Place, record: Any):
        self._place = place
        is_record = isinstance(record, list) and len(record) == 3
        given: tuple[Any, int, Any] = tuple(record) if is_record else (None, 0, record)
        self._key, self._at, self._value = given

    def key(self) -> bytes | None:
        """Its bytes."""
        return _bytes(self._key, self._place)

    def value(self) -> bytes | None:
        """Its bytes."""
        return _bytes(self._value, self._place)

    def timestamp(self) -> tuple[int, int]:
        """(kind, milliseconds)"""
        return _CREATE_TIME, self._at

    def topic(self) -> str:
        """Where it was taken from."""
        return self._place.topic

    def partition(self) -> int:
        """Where it was taken from."""
        return self._place.partition

    def offset(self) -> int:
        """Where it was taken from."""
        return self._place.offset

    def headers(self) -> None:
        """They are not recorded."""
        raise ReplayError(
            f"the headers of message {self._place} are not recorded", remedy="Put what matters of them into the value"
        )

    def error(self) -> None:
        """There is none."""

    def __len__(self) -> int:
        return len(self.value() or b"")


class Producer:
    """As `confluent_kafka.Producer`, as far as a function needs it: nothing leaves."""

    def __init__(self, given: Callable[[Any, str | None, FrameType], None]):
        self._given = given

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
        callback: Any = None,
    ) -> None:
        """Is held against what was recorded, as the adapter records it: text that is JSON as what it says."""
        self._given([readable(key), timestamp, readable(value)], None, sys._getframe(1))

    def poll(self, timeout: float = -1) -> int:
        """Nothing is on its way."""
        return 0

    def flush(self, timeout: float = -1) -> int:
        """Nothing is on its way."""
        return 0

    def __len__(self) -> int:
        return 0


def _bytes(value: Any, place: Place) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise ReplayError(f"message {place} is recorded as {type(value).__qualname__}, and not as text or bytes")


def readable(value: Any) -> Any:
    """As the recorder writes it into a bundle."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return value
    return json_in(value)
