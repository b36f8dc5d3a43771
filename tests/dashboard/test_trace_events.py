"""A recording as a Chrome trace: every sending is there, slices lie within one another, arrows have both ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dashboard.queries import trace_events as module
from dashboard.queries.failures import job_failures
from dashboard.queries.trace_events import TraceEvent, trace_events
from ingest.lake.readers import Lake
from replay.bundle.frames import read_receipts, read_sendings
from replay.bundle.reader import Bundle, open_bundle
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed

SEEDS = range(1, 5)


@contextmanager
def recorded(seed: int, folder: Path) -> Iterator[tuple[Bundle, Lake]]:
    pack = packed(seed, folder)
    ingested_here(pack, folder / "data")
    with open_bundle(pack) as bundle:
        yield bundle, Lake(folder / "data")


def told(bundle: Bundle, lake: Lake) -> list[TraceEvent]:
    failures = job_failures(lake, job="j_1")
    return list(trace_events(lake, job="j_1", manifest=bundle.manifest, failures=failures))


def members_of(bundle: Bundle, folder: str, suffix: str) -> list[tuple[str, int, bytes]]:
    """The task and the attempt that the member's name says, and its bytes."""
    named = [(name.split("/"), name) for name in bundle.members.names()]
    return [
        (parts[1], int(parts[2]), bundle.members.read(name))
        for parts, name in named
        if len(parts) == 5 and parts[3].startswith(f"{folder}-") and name.endswith(suffix)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trace_of_a_random_world_is_whole(seed: int, tmp_path: Path) -> None:
    with recorded(seed, tmp_path) as (bundle, lake):
        events = told(bundle, lake)
        every_sending_is_told_once_and_every_take_at_the_other_end(bundle, events, f"seed {seed}")
        slices_of_a_thread_lie_within_one_another(events, f"seed {seed}")
        types = Counter(one["type"] for one in bundle.events())
    told_as = Counter(one.get("cat", one["ph"]) for one in events)
    assert told_as["i"] == types["task-failed"] and ("recovery" in told_as) == ("recovery-state" in types), (
        f"seed {seed}"
    )
    assert {"task", "epoch", "checkpoint", "buffer"} <= set(told_as), f"seed {seed}"


def every_sending_is_told_once_and_every_take_at_the_other_end(
    bundle: Bundle, events: list[TraceEvent], why: str
) -> None:
    sent = Counter(
        (task, attempt, frame.seq, frame.sending)
        for task, attempt, data in members_of(bundle, "sent", ".dlt")
        for _, frame in read_sendings(data)
    )
    shown = [one["args"] for one in events if one.get("cat") == "buffer" and "sending" in one["args"]]
    keys = [(one["channel"].partition(">")[0], one["attempt"], one["seq"], one["sending"]) for one in shown]
    assert Counter(keys) == sent, why
    receipts = [frame for *_, data in members_of(bundle, "received", ".rcv") for _, frame in read_receipts(data)]
    ends = Counter(one["bind_id"] for one in events if one.get("flow_in"))
    begins = Counter(one["bind_id"] for one in events if one.get("flow_out"))
    assert ends == begins and set(ends.values()) == {1}, why
    assert len(ends) == sum(frame.taken_us >= 0 for frame in receipts), why


def slices_of_a_thread_lie_within_one_another(events: list[TraceEvent], why: str) -> None:
    by_thread: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for one in events:
        if one["ph"] == "X":
            assert one["dur"] >= 0, f"{why}: {one}"
            by_thread[one["pid"], one["tid"]].append((one["ts"], one["ts"] + one["dur"]))
    assert set(by_thread) <= {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    for thread, slices in by_thread.items():
        open_until: list[int] = []
        for begin, end in sorted(slices, key=lambda one: (one[0], -one[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1], f"{why}: {thread} at {begin}"
            open_until.append(end)


def test_what_is_read_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(2, tmp_path) as (bundle, lake):
        whole = told(bundle, lake)
        for at_once in (1, 2, 7):
            monkeypatch.setattr(module, "SENDINGS_AT_ONCE", at_once)
            assert told(bundle, lake) == whole


def test_a_repeated_key_is_told_as_often_as_it_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also across the end of a piece; a repeat is evidence."""
    rows = [(0, 1, 0, n) for n in range(5)] + [(0, 2, 0, 9)]

    class Repeating:
        def rows(self, sql: str, params: dict[str, Any], *, job: str) -> list[tuple[int, ...]]:
            from_key = tuple(params[name] for name in ("attempt", "seq", "sending"))
            return [row for row in rows if row[:3] >= from_key][params["skip"] :][: params["limit"]]

    for at_once in (1, 2, 3, 5, 6, 7):
        monkeypatch.setattr(module, "SENDINGS_AT_ONCE", at_once)
        assert list(module._sendings(Repeating(), "j_1", "a.0>b.0")) == rows, at_once  # type: ignore[arg-type]
