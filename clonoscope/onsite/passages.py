"""What passed between an engine and a function, taken apart by rows or by calls, each with its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]
OF_ALL = ("begin", "shape")
"""What is said of all that passes."""
_OF_ROWS = ("rows", "writer")


def is_of_rows(border: Sequence[Line]) -> bool:
    """Whether each of its results is of one record."""
    return _form(border) in _OF_ROWS


def is_of_calls(border: Sequence[Line]) -> bool:
    """Whether it tells of calls."""
    return _form(border) == "calls" and any(line.get("is") == "call" for line in border)


def _form(border: Sequence[Line]) -> Any:
    """None where lines can't be told apart."""
    return border[0].get("form") if border and not any(line.get("is") == "mixed" for line in border) else None


def by_rows(border: Sequence[Line]) -> Iterator[list[Line]]:
    """What passed before the first row, then for each row, then behind the last."""
    if not is_of_rows(border):
        return
    passed = [line for line in border if line.get("is") not in OF_ALL]
    opened = next((at for at, line in enumerate(passed, 1) if line.get("is") == "opened"), 0)
    yield passed[:opened]
    of_row: list[Line] = []
    for line in passed[opened:]:
        of_row.append(line)
        if line.get("is") == "give":
            yield of_row
            of_row = []
    yield of_row


def by_calls(border: Sequence[Line]) -> list[tuple[list[Line], int]]:
    """Call by call, and how many records each took."""
    found: list[tuple[list[Line], int]] = []
    for line in border:
        if line.get("is") == "call":
            found.append(([], 0))
        if found:
            lines, records = found[-1]
            found[-1] = ([*lines, line], records + _records_in(line))
    return found


def _records_in(line: Line) -> int:
    match line:
        case {"is": "call", "row": True} | {"is": "pull", "record": _}:
            return 1
        case {"is": "call"}:
            return sum(map(_rows, (*line.get("arguments", ()), *line.get("keywords", {}).values())))
        case {"is": "pull"}:
            return sum(map(_rows, line.get("parts", (line.get("argument", {}),))))
        case {"is": "ask"}:
            return int(line.get("list", line.get("one", 0))) + _rows(line)
    return 0


def _rows(told: Line) -> int:
    """Columns of one batch share theirs."""
    return int(told.get("rows", 0)) if told.get("column", 0) == 0 else 0
