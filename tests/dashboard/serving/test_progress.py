"""The bar that long commands show on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dashboard.management import progress
from dashboard.management.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    at = {"s": 100.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: at["s"])
    return at


def test_a_long_run_shows_how_far_it_is_and_leaves_nothing_behind(clock: dict[str, Any]) -> None:
    terminal = Terminal()
    with Bar("records", terminal) as bar:
        assert bar is not None
        for done in range(0, 1000, 100):
            clock["s"] += 0.15
            bar(done, 1000)
    shown = terminal.getvalue()
    assert "900 of 1,000 records" not in shown.split("\r")[1]
    assert shown.count("\r") == 3
    assert shown.endswith("\r\x1b[K")


def test_what_is_over_at_once_shows_nothing(clock: dict[str, Any]) -> None:
    terminal = Terminal()
    with Bar("records", terminal) as bar:
        assert bar is not None
        bar(1, 2)
    assert terminal.getvalue() == ""


def test_where_nobody_looks_there_is_no_bar() -> None:
    with Bar("records", io.StringIO()) as bar:
        assert bar is None
