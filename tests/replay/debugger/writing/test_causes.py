"""Causes in random worlds: each is there, comes before what it causes, and is in the recording as it is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

import pytest

from replay.bundle.frames import SendingFrame
from replay.bundle.reader import Bundle
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.log.deltas import decode_extents
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, alone, bundle_of, world_of

DETERMINANT = re.compile(r"det:([\w.-]+)/(\d+)/(main|out-\d+)/(\d+)#(\d+)")
DELTA = re.compile(r"delta:([\w.>-]+)#(\d+)/([\w.-]+)/(main|out-\d+)")


class Recorded:
    """What a cause may name, looked up in the recording."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.events = {event["n"] for event in bundle.events()}
        self.offsets = lru_cache(maxsize=None)(self._offsets)
        self.carried = lru_cache(maxsize=None)(self._carried)

    def has(self, cause: str) -> bool:
        if cause.startswith("event:"):
            return int(cause[6:]) in self.events
        if found := DETERMINANT.fullmatch(cause):
            return int(found[5]) in range(len(self.offsets(found[1], int(found[2]), found[3], int(found[4]))))
        delta = DELTA.fullmatch(cause)
        return delta is not None and (int(delta[2]), delta[3], delta[4]) in self.carried(delta[1])

    def _offsets(self, task: str, attempt: int, thread: str, epoch: int) -> list[int]:
        return [offset for offset, _, _ in self.bundle.determinants(task, attempt, thread, epoch)]

    def _carried(self, name: str) -> set[tuple[int, str, str]]:
        """(buffer, task, thread) of every delta that was sent on a channel."""
        bundle = self.bundle
        layout, sender = bundle.manifest.protocol.delta_layout, name.partition(">")[0]
        return {
            (frame.seq, extent.log.task, extent.log.thread)
            for attempt in bundle.attempts(sender)
            for frame in self._sendings(name, sender, attempt)
            if frame.delta
            for extent in decode_extents(frame.delta, bundle.ids, layout, path="", at=0)
        }

    def _sendings(self, name: str, sender: str, attempt: int) -> Iterator[SendingFrame]:
        """To the world outside too, which is no task."""
        if name.endswith(">world"):
            return self.bundle.world(sender, attempt)
        return self.bundle.sendings(sender, attempt, self.bundle.graph.channel(name).k)


def check_causes(bundle: Bundle, kept: Kept, where: str) -> Counter[str]:
    """How many steps of each kind led back to the recording; all of them do."""
    recorded = Recorded(bundle)
    causes = {step: [cause for _, cause in of] for step, of in groupby(kept.causes, key=lambda one: one[0])}
    led_back: set[int] = set()
    for row in kept.rows:
        told = causes.get(row.step, [])
        steps = [int(cause[5:]) for cause in told if cause.startswith("step:")]
        others = [cause for cause in told if not cause.startswith("step:")]
        assert all(step < row.step for step in steps), f"{row} {where}"
        assert all(recorded.has(cause) for cause in others), f"{row} {others} {where}"
        assert len(told) == len(set(told)), f"{row} {told} {where}"
        if others or led_back.intersection(steps):
            led_back.add(row.step)
        else:
            raise AssertionError(f"{row} {told} {where}")
        if row.kind in ("take-determinant", "fire-async"):
            task, attempt, thread, epoch, seq = DETERMINANT.fullmatch(others[0]).groups()  # type: ignore[union-attr]
            assert (task, thread, thread) == (row.task, row.actor, row.log), where
            assert recorded.offsets(task, int(attempt), thread, int(epoch))[int(seq)] == row.log_offset, where
    return Counter(row.kind for row in kept.rows)


def test_every_step_of_a_random_world_leads_back_to_the_recording() -> None:
    kinds: Counter[str] = Counter()
    for seed in (*range(800, 816), 20445, 20556):  # in the last two, an attempt ends before any of its states
        world, members = world_of(seed)
        bundle = bundle_of(members)
        for failure in sorted(Story.read(bundle.events()).failures)[:3]:
            kept = Kept()
            alone(bundle, failure, sink=kept)
            kinds += check_causes(bundle, kept, f"failure {failure} {world.reproduce_with}")
    seen = {"take-buffer", "deliver-record", "append", "write-record", "hold-back", "snapshot", "fire-async", "request"}
    assert seen <= set(kinds) and kinds["send-buffer"] > 0, kinds


@pytest.mark.parametrize(("task", "attempt"), [("source.0", 0), ("map-1.0", 1), ("map-2.0", 0), ("sink.0", 0)])
def test_so_does_every_step_of_an_attempt_from_its_own_log(task: str, attempt: int) -> None:
    bundle = bundle_of(one_failure())
    kept = Kept()
    replay(bundle, task=task, attempt=attempt, sink=kept)
    assert check_causes(bundle, kept, task)["finish"] == 1
