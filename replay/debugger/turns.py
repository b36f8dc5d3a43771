"""What is done a little at a time, so that several replays can take turns."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")

Turns = Generator[None, None, _Result]
"""Yields before each thing that it does, and returns what all of it came to."""


def at_once(turns: Turns[_Result]) -> _Result:
    """All of it, without anybody in between."""
    while True:
        try:
            next(turns)
        except StopIteration as end:
            result: _Result = end.value
            return result
