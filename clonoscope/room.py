"""What a task's log asks of the recording that it belongs to: which attempt it is, and room to write into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clonoscope.segments import Segment

if TYPE_CHECKING:
    from clonoscope.segmented_log import SegmentedLog


class Claim(NamedTuple):
    """An attempt that is this log's: its number and folder, the segment to begin with, records taken before."""

    attempt: int
    folder: Path
    segment: int = 0
    taken: int = 0


class Room(Protocol):
    """Who says where segments go, and whether there is room for one more."""

    @property
    def process(self) -> str:
        """The process that records."""

    def segment(self, path: Path, at_least_bytes: int) -> Segment:
        """A segment; raises `OSError` where the job would have to wait, or the bound is reached."""

    def claim(self, log: SegmentedLog) -> Claim:
        """The next attempt of the log's task, or the one that it may go on with; raises `OSError`."""

    def kept(self, value: Any, name: str = "value") -> Any:
        """A value as it may leave: redacted, where it must be."""

    def message(self, text: str) -> Any:
        """What an exception says, as it may leave."""

    def source(self, site: dict[str, Any]) -> dict[str, Any]:
        """A place in the source, as it may leave."""

    def filled(self, log: SegmentedLog, segment: Segment) -> None:
        """A segment is sealed, or given up."""

    def rests(self, log: SegmentedLog) -> None:
        """An epoch of a log that is handed on is over."""

    def at_fault(self, why: str) -> None:
        """Something could not be written down; said once, and never raised."""
