"""Windows and joins: what they give is what a batch gives, however often they are put away and taken up again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import ReplayError
from replay.model import Record, json_bytes
from replay.runtime.body.watermarks import END_OF_TIME
from replay.runtime.operators import Context, Lineage, Operator, Timer
from replay.runtime.operators.joins import StreamingJoin
from replay.runtime.operators.panes import Sliding, Window, assigner_of
from replay.runtime.operators.windows import WindowOperator


class Together(WindowOperator):
    def add(self, held: Any, record: Record, context: Context) -> Any:
        return [*held, record.value["n"]]

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        yield Record(key, window.last_ms, {"held": sorted(held), "window": list(window)}, lineage)


class Pairs(StreamingJoin):
    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
        return [left["n"], right["n"]]


class Task:
    """A context with the timers of a task; time is what the test says."""

    def __init__(self, make: type[Operator], options: dict[str, Any]):
        self.task, self.options, self.origin = "window.0", options, ""
        self.watermark_ms: int | None = None
        self.now = 0
        self.clock: Any = self
        self.random: Any = None
        self.emitted: list[Record] = []
        self.timers: list[Timer] = []
        self._make = make
        self.operator = self._new()

    def _new(self) -> Operator:
        operator = self._make()
        operator.open(self)
        return operator

    def now_ms(self) -> int:
        return self.now

    def set_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        timer = Timer(at_ms, name, key, namespace, time)
        if timer not in self.timers:
            self.timers.append(timer)

    def cancel_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        timer = Timer(at_ms, name, key, namespace, time)
        if timer in self.timers:
            self.timers.remove(timer)

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        raise AssertionError("a window asks nobody")

    def emit(self, record: Record) -> None:
        self.emitted.append(record)

    def write(self, record: Record) -> None:
        raise AssertionError("a window is no sink")

    def put_away_and_take_up(self) -> None:
        state = json_bytes(self.operator.snapshot())
        self.operator = self._new()
        self.operator.restore(json.loads(state))
        assert json_bytes(self.operator.snapshot()) == state

    def record(self, at_ms: int, key: str, n: int, origin: str = "") -> None:
        self.origin = origin
        self.operator.on_record(Record(key, at_ms, {"n": n}, (("source.0", n),)), self)

    def watermark(self, at_ms: int) -> None:
        self.watermark_ms = at_ms
        self._fire("event", at_ms)
        self.operator.on_watermark(at_ms, self)

    def wall(self, at_ms: int) -> None:
        self._fire("processing", at_ms)
        self.now = at_ms

    def _fire(self, time: str, upto_ms: int) -> None:
        while due := [one for one in self.timers if one.time == time and one.at_ms <= upto_ms]:
            timer = min(due, key=lambda one: one.at_ms)
            self.timers.remove(timer)
            self.operator.on_timer(timer, self)

    @property
    def results(self) -> list[Any]:
        return sorted((one.key, one.value["window"], one.value["held"], one.lineage) for one in self.emitted)


def batch(records: list[tuple[int, str, int]], assigner: Any) -> list[Any]:
    held = defaultdict(list)
    for at_ms, key, n in records:
        for window in assigner.of(at_ms):
            held[key, window].append(n)
    return sorted(
        (key, list(window), sorted(ns), tuple(("source.0", n) for n in sorted(ns)))
        for (key, window), ns in held.items()
    )


def sessions(records: list[tuple[int, str, int]], gap_ms: int) -> list[Any]:
    found = []
    for key in {key for _, key, _ in records}:
        times = sorted((at_ms, n) for at_ms, k, n in records if k == key)
        session: list[tuple[int, int]] = []
        for at_ms, n in times:
            if session and at_ms > session[-1][0] + gap_ms:
                found.append((key, session))
                session = []
            session.append((at_ms, n))
        found.append((key, session))
    return sorted(
        (
            key,
            [of[0][0], of[-1][0] + gap_ms],
            sorted(n for _, n in of),
            tuple(("source.0", n) for n in sorted(n for _, n in of)),
        )
        for key, of in found
    )


STREAM = st.lists(st.tuples(st.integers(0, 400), st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40)
"""Time, key, and whether the operator is put away and taken up again before it."""

SHAPES = st.sampled_from(
    [{"size_ms": 50}, {"size_ms": 100, "slide_ms": 30}, {"size_ms": 10, "slide_ms": 25}, {"gap_ms": 20}]
)


def run(stream: list[tuple[int, str, bool]], options: dict[str, Any], *, behind_ms: int) -> Task:
    task, furthest_ms = Task(Together, options), 0
    for n, (at_ms, key, again) in enumerate(stream):
        if again:
            task.put_away_and_take_up()
        task.record(at_ms, key, n)
        furthest_ms = max(furthest_ms, at_ms)
        task.watermark(furthest_ms - behind_ms - 1)
    task.watermark(END_OF_TIME)
    return task


@given(STREAM, SHAPES)
def test_in_event_time_windows_hold_what_a_batch_puts_into_them(
    stream: list[tuple[int, str, bool]], shape: dict[str, int]
) -> None:
    task = run(stream, {**shape, "time": "event"}, behind_ms=400)
    records = [(at_ms, key, n) for n, (at_ms, key, _) in enumerate(stream)]
    wanted = sessions(records, shape["gap_ms"]) if "gap_ms" in shape else batch(records, assigner_of(shape))
    assert task.results == wanted
    assert not task.timers
    dropped = sum(not list(assigner_of(shape).of(at_ms)) for at_ms, _, _ in records)
    assert task.operator.snapshot() == {"windows": [], "late": dropped, "over_ms": None}


@given(STREAM)
def test_what_comes_after_its_window_is_over_is_dropped_and_counted(stream: list[tuple[int, str, bool]]) -> None:
    task = run(stream, {"size_ms": 50, "time": "event"}, behind_ms=0)
    held = [n for _, _, ns, _ in task.results for n in ns]
    late, furthest_ms = [], -1
    for n, (at_ms, _, _) in enumerate(stream):
        if at_ms // 50 * 50 + 49 <= furthest_ms - 1:
            late.append(n)
        furthest_ms = max(furthest_ms, at_ms)
    assert sorted(held) == [n for n in range(len(stream)) if n not in late]
    assert task.operator.snapshot()["late"] == len(late)
    assert len({(key, tuple(window)) for key, window, _, _ in task.results}) == len(task.results)


@given(STREAM, SHAPES.filter(lambda shape: shape.get("slide_ms", 0) <= shape.get("size_ms", 99)))
def test_by_the_wall_clock_every_record_is_in_all_windows_of_its_time_and_no_window_ends_twice(
    stream: list[tuple[int, str, bool]], shape: dict[str, int]
) -> None:
    task, now = Task(Together, {**shape, "time": "processing"}), 2
    records = []
    for n, (later_ms, key, again) in enumerate(stream):
        if again:
            task.put_away_and_take_up()
        now += later_ms // 8
        task.wall(now)
        task.now = now - later_ms % 3  # the clock that is read may be behind the one that fires
        over_ms = task.operator.snapshot()["over_ms"]
        records.append((max(task.now, over_ms or 0), key, n))
        task.record(0, key, n)
    task.watermark(END_OF_TIME)
    wanted = sessions(records, shape["gap_ms"]) if "gap_ms" in shape else batch(records, assigner_of(shape))
    if "gap_ms" not in shape:
        assert task.results == wanted
    assert sorted(n for _, _, ns, _ in task.results for n in ns) == sorted(n for _, _, ns, _ in wanted for n in ns)
    assert not task.timers


@given(st.lists(st.tuples(st.sampled_from(["left", "right"]), st.sampled_from("ab"), st.booleans()), max_size=30))
def test_a_streaming_join_gives_every_pair_once_whichever_comes_first(stream: list[tuple[str, str, bool]]) -> None:
    task = Task(Pairs, {"left": "left", "right": "right"})
    for n, (origin, key, again) in enumerate(stream):
        if again:
            task.put_away_and_take_up()
        task.record(n, key, n, origin)
    sides = {
        side: [(key, n) for n, (origin, key, _) in enumerate(stream) if origin == side] for side in ("left", "right")
    }
    wanted = sorted([a, b] for key, a in sides["left"] for other, b in sides["right"] if key == other)
    assert sorted(one.value for one in task.emitted) == wanted
    assert all(one.lineage == tuple(("source.0", n) for n in sorted(one.value)) for one in task.emitted)


def test_what_waited_too_long_for_its_left_is_forgotten() -> None:
    task = Task(Pairs, {"left": "left", "right": "right", "waits_ms": 100})
    task.record(0, "a", 1, "right")
    task.record(60, "a", 2, "right")
    task.watermark(100)
    task.record(110, "a", 3, "left")
    assert [one.value for one in task.emitted] == [[3, 2]]
    assert task.operator.snapshot()["expired"] == 1


def test_a_record_from_elsewhere_is_no_side_of_a_join() -> None:
    with pytest.raises(ReplayError, match="joins left and right, and has a record of 'bids'"):
        Task(Pairs, {"left": "left", "right": "right"}).record(0, "a", 1, "bids")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"size_ms": 0}, "a window's size_ms is 0"),
        ({"size_ms": 10, "slide_ms": "5"}, "a window's slide_ms is '5'"),
        ({}, "a window's size_ms is None"),
        ({"size_ms": 1001, "slide_ms": 1}, "Let a record lie in at most 1000 windows"),
        ({"size_ms": 10, "time": "lunar"}, "a window's time is 'lunar'"),
    ],
)
def test_options_that_make_no_window_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ReplayError) as refused:
        Task(Together, options)
    assert says in str(refused.value)


def test_sliding_windows_are_those_with_the_time_in_them() -> None:
    for size_ms, slide_ms in ((10, 10), (10, 3), (7, 5), (3, 10)):
        for at_ms in range(50):
            found = list(Sliding(size_ms, slide_ms).of(at_ms))
            starts = range(-100 * slide_ms, at_ms + 1, slide_ms)
            assert found == [Window(one, one + size_ms) for one in starts if one <= at_ms < one + size_ms]
