"""What every container offers: its members, front to back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol


class Readable(Protocol):
    """What a member's stream can do."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class Container(ABC):
    """Members in the order in which they come. Each stream is read before the next member is asked for."""

    kind: str

    @abstractmethod
    def members(self) -> Iterator[tuple[str, int, Readable]]:
        """Every file as (name, size, stream); raises `BundleError` at the first fault."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the file."""

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
