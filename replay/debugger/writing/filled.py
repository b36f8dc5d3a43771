"""Which steps wrote the bytes that wait in an output's stream, so that a buffer tells what is in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Filled:
    """The bytes of one output, by the step that wrote them; the first that came are the first that are cut."""

    __slots__ = ("_end", "_ends", "_steps")

    def __init__(self) -> None:
        self._end = 0
        self._ends: list[int] = []
        self._steps: list[int] = []

    def wrote(self, step: int, size: int) -> None:
        """A step added so many bytes."""
        self._end += size
        self._ends.append(self._end)
        self._steps.append(step)

    def cut(self, size: int, *, left: int) -> list[int]:
        """The steps that wrote what a buffer of this size holds; so many bytes are left behind it."""
        end = self._end - left
        first, last = bisect_right(self._ends, end - size), bisect_left(self._ends, end)
        found = self._steps[first : last + 1]
        gone = bisect_right(self._ends, end)
        del self._ends[:gone], self._steps[:gone]
        return found
