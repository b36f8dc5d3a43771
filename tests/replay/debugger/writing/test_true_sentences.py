"""What steps say and name as their causes, worked out a second time from the recording and the steps before."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import lru_cache

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.ports import StepRow
from replay.debugger.recorded.story import Story, extents_of
from replay.debugger.replay import replay
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, alone, bundle_of, world_of

SEEDS = (*range(860, 884), 1014)  # in the last one a task relays the answers for another one, and merges its own
READS = ("timestamp", "rng", "serializable")
MOST_READS = 16
MOST_NAMED = 8
ENDED = re.compile(r"[.?!] (?=\S)")


@lru_cache(maxsize=32)
def replayed(seed: int) -> list[tuple[str, Bundle, Kept]]:
    """The first recoveries of a random world, each by itself."""
    world, members = world_of(seed)
    bundle = bundle_of(members)
    found = []
    for failure in sorted(Story.read(bundle.events()).failures)[:3]:
        kept = Kept()
        alone(bundle, failure, sink=kept)
        found.append((f"failure {failure} {world.reproduce_with}", bundle, kept))
    return found


def steps_before(kept: Kept) -> dict[int, list[StepRow]]:
    """By step, the steps that it names as causes."""
    found: dict[int, list[StepRow]] = defaultdict(list)
    for step, cause in kept.causes:
        if cause.startswith("step:"):
            found[step].append(kept.rows[int(cause[5:])])
    return found


def is_one_sentence(text: str) -> bool:
    plain = re.sub(r"'(?:[^'\\]|\\.)*'", "key", text)
    return text.endswith(".") and not ENDED.search(plain) and text[0].isalnum()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_is_told_in_one_sentence(seed: int) -> None:
    for where, _, kept in replayed(seed):
        for row in kept.rows:
            assert is_one_sentence(row.text), f"{row.text} {where}"


@pytest.mark.parametrize("sink", ["plain", "transactional", "idempotent", "determinant"])
@pytest.mark.parametrize("kill", ["source.0@120", "map-1.0@120", "sink.0@120", "map-1.0@120+map-2.0@120"])
def test_so_is_every_step_whatever_fails_and_however_the_sinks_write(kill: str, sink: str) -> None:
    bundle = bundle_of(failing(kill, sink=sink))
    kept = Kept()
    assert replay(bundle, failure=0, sink=kept).exit_status == 0
    assert all(is_one_sentence(row.text) for row in kept.rows)
    writes = [row.text for row in kept.rows if row.kind == "write-record" and row.channel is None]
    given = {
        "plain": "the outside world is given it.", "transactional": "it stands in the open transaction.",
        "idempotent": "it is gathered in the sink's own log.", "determinant": "with its determinants.",
    }[sink]  # fmt: skip
    assert all(text.endswith((given, "so it is held back.")) for text in writes)
    assert bool(writes) == kill.startswith("sink")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_buffer_is_caused_by_what_stands_in_it(seed: int) -> None:
    """Of every channel, by where the bytes of each write begin and end in its stream."""
    for where, bundle, kept in replayed(seed):
        before, ends, cut_upto = steps_before(kept), defaultdict(int), defaultdict(int)
        parts: dict[str, list[tuple[int, int, int]]] = defaultdict(list)

        def add(channel: str, size: int, step: int) -> None:
            parts[channel].append((ends[channel], ends[channel] + size, step))  # noqa: B023
            ends[channel] += size  # noqa: B023

        for row in kept.rows:
            if row.kind == "write-record" and row.channel is not None:
                add(row.channel, row.bytes or 0, row.step)
            elif row.kind == "snapshot":
                checkpoint = int(re.findall(r"checkpoint (\d+)", row.text)[0])
                for output in bundle.graph.task(row.task).outputs:
                    add(output.channel, len(f'{{"barrier":{checkpoint}}}'), row.step)
            elif row.kind == "cut-buffer":
                channel = str(row.channel)
                begin, end = cut_upto[channel], cut_upto[channel] + (row.bytes or 0)
                cut_upto[channel] = end
                wanted = [step for first, last, step in parts[channel] if first < end and last > begin]
                named = [one.step for one in before[row.step] if one.kind in ("write-record", "snapshot")]
                assert sorted(named) == wanted != [], f"{row} {where}"
                rest = [one for one in before[row.step] if one.step not in named]
                assert [one.kind for one in rest] == ["take-determinant"], f"{row} {where}"
                assert (rest[0].log, rest[0].log_offset) == (row.log, row.log_offset), f"{row} {where}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_record_is_caused_by_what_it_was_made_of(seed: int) -> None:
    """What the operator was given, and what it has read of the clock, of chance and of the outside since."""
    for where, _, kept in replayed(seed):
        before, kind_of = steps_before(kept), {step: kind for step, _, kind, _, _ in kept.determinants}
        for row in kept.rows:
            if row.kind == "write-record":
                given = [one for one in before[row.step] if kind_of.get(one.step) not in READS]
                assert len(given) == 1 and given[0].task == row.task, f"{row} {where}"
                read = [
                    one.step
                    for one in kept.rows[given[0].step : row.step]
                    if kind_of.get(one.step) in READS and given[0] in before[one.step]
                ]
                named = sorted(one.step for one in before[row.step] if one is not given[0])
                assert named == read[-MOST_READS:], f"{row} {where}"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read_is_asked_for_by_what_the_operator_was_given_in_that_epoch(seed: int) -> None:
    for where, _, kept in replayed(seed):
        before, kind_of = steps_before(kept), {step: kind for step, _, kind, _, _ in kept.determinants}
        snapshots = [row.step for row in kept.rows if row.kind == "snapshot"]
        for step in (step for step, kind in kind_of.items() if kind in READS):
            asked = [one for one in before[step] if one.kind not in ("merge", "answer", "restore")]
            assert len(asked) <= 1, f"{kept.rows[step]} {where}"
            for one in asked:
                assert one.kind in ("deliver-record", "fire-async", "snapshot") and one.task == kept.rows[step].task
                assert not any(one.step < at < step for at in snapshots), f"{kept.rows[step]} {one} {where}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_snapshot_is_caused_by_its_barriers_or_by_its_trigger(seed: int) -> None:
    for where, bundle, kept in replayed(seed):
        before, kind_of = steps_before(kept), {step: (kind, value) for step, _, kind, value, _ in kept.determinants}
        for row in (row for row in kept.rows if row.kind == "snapshot"):
            checkpoint = int(re.findall(r"checkpoint (\d+)", row.text)[0])
            inputs = bundle.graph.task(row.task).inputs
            if inputs:
                barrier = f'({{"barrier":{checkpoint}}})'
                assert sorted(str(one.channel) for one in before[row.step]) == sorted(inputs), f"{row} {where}"
                assert all(barrier in one.text for one in before[row.step]), f"{row} {where}"
            else:
                assert [kind_of[one.step] for one in before[row.step]] == [("source-checkpoint", checkpoint)], where


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_merge_says_is_what_the_answers_say(seed: int) -> None:
    for where, bundle, kept in replayed(seed):
        events = {f"event:{event['n']}": event for event in bundle.events()}
        before = steps_before(kept)
        told: dict[int, dict[tuple[str, int], int]] = {}
        for step, cause in kept.causes:
            if kept.rows[step].kind == "answer" and events.get(cause, {}).get("type") == "determinants-received":
                told[step] = {(log, epoch): upto for _, log, epoch, upto in extents_of(events[cause]) if upto}
        for row in (row for row in kept.rows if row.kind == "merge"):
            answers = [told[one.step] for one in before[row.step]]
            longest = {log: max(one.get(log, 0) for one in answers) for one in answers for log in one}
            assert row.bytes == sum(longest.values()), f"{row} {where}"
            check_words_of_merge(row, answers, longest, where)
        for step, _, _, _, _ in kept.determinants:
            row, named = kept.rows[step], before[step]
            brought = [one for one in named if one.kind == "answer"]
            if any(one.kind == "merge" for one in named):
                assert len(brought) == 1, f"{row} {where}"
                answers = [told[one.step] for merge in named if merge.kind == "merge" for one in before[merge.step]]
                log = str(row.log), int(re.findall(r": determinant [\d,]+ of epoch (\d+)\.", row.text)[0])
                upto = told[brought[0].step][log]
                assert (row.log_offset or 0) < upto == max(one.get(log, 0) for one in answers), f"{row} {where}"


def check_words_of_merge(
    row: StepRow, answers: list[dict[tuple[str, int], int]], longest: dict[tuple[str, int], int], where: str
) -> None:
    if not longest or len(longest) > MOST_NAMED:
        assert (f"{len(longest) - MOST_NAMED + 1} more logs" if longest else "byte of the lost logs") in row.text, where
        return
    for (thread, epoch), upto in longest.items():
        named = "the main log" if thread == "main" else f"the log of {thread}"
        shorter = [upto - one[thread, epoch] for one in answers if 0 < one.get((thread, epoch), 0) < upto]
        size = lambda number: f"{number:,} byte{'' if number == 1 else 's'}"  # noqa: E731
        less = f" (another copy holds {size(min(shorter))} less)" if shorter else ""
        said = re.findall(rf"'s {size(upto)} of {named} of epoch {epoch}(?!\d)( \([^)]*\))?", row.text)
        assert said == [less], f"{row} {json.dumps(less)} {where}"
