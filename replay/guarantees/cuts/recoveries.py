"""Every failure of a recording: the line that checkpoints alone would have allowed, beside what was really restored.

A task that is brought back alone has not sent yet what others took from it. That is no fault where it is then rebuilt
as it was; where something else comes of it, those who took the first stand on what nobody ever sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.guarantees.cuts.cut import Orphan
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.lines import Snapshots, numbers_tell, snapshots_before
from replay.model import TaskId

MOST_LEFT = 20


@dataclass(slots=True)
class Recovery:
    """Of one failure. `line` None: numbers don't tell; `back_us`: how far in time each task would have gone back."""

    failure: int
    event: int
    task: TaskId
    t_us: int
    attempt: int | None = None
    restored: dict[TaskId, int] = field(default_factory=dict)
    rolled_back: bool = False
    line: dict[TaskId, int | None] | None = None
    back_us: dict[TaskId, int] = field(default_factory=dict)
    passed: dict[TaskId, int] = field(default_factory=dict)
    rebuilt: int = 0
    given_up: int = 0
    open: int = 0
    left: int = 0
    left_shown: list[Orphan] = field(default_factory=list)
    sent_again: int = 0

    @property
    def orphans(self) -> int:
        """What survivors had taken that the restored state had not sent."""
        return self.rebuilt + self.given_up + self.open + self.left

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.attempt is None:
            return "not recovered"
        if self.left:
            return "orphans left"
        if self.open:
            return "undecided"
        return "rolled back" if self.rolled_back else "rebuilt" if self.rebuilt else "consistent"

    def to_json(self) -> dict[str, Any]:
        """As among the numbers of a section."""
        return {
            "failure": self.failure,
            "task": self.task,
            "t_us": self.t_us,
            "verdict": self.verdict,
            "rolled_back": self.rolled_back,
            "restored": self.restored,
            "line": self.line,
            "back_us": self.back_us,
            "passed": self.passed,
            "orphans": self.orphans,
            "rebuilt": self.rebuilt,
            "left": self.left,
            "open": self.open,
            "sent_again": self.sent_again,
        }


def recoveries(cuts: Cuts) -> list[Recovery]:
    """Of every failure, by its number."""
    found = []
    for number, event in sorted(cuts.histories.story.failures.items()):
        task = event.get("task")
        if isinstance(task, str) and task in cuts.source.graph and type(event.get("attempt")) is int:
            one = Recovery(number, event["n"], TaskId(task), event["t_us"])
            _follow(cuts, one, event["attempt"])
            found.append(one)
    return found


def _follow(cuts: Cuts, one: Recovery, failed: int) -> None:
    story = cuts.histories.story
    for (task, _), started in story.starts.items():
        rollback = story.by_number.get(started.get("rollback", -1), {})
        if one.failure in (started.get("failure"), rollback.get("failure")) and task in cuts.source.graph:
            one.restored[TaskId(task)] = started.get("checkpoint", 0)
    following = [n for n in cuts.histories.attempts(one.task) if n > failed and (one.task, n) in story.starts]
    one.attempt = min(following, default=None)
    _draw_line(cuts, one)
    if one.attempt is not None:
        one.rolled_back = story.was_rolled_back_to(one.task, one.attempt)
        if not one.rolled_back:
            _sort_orphans(cuts, one, one.attempt)


def _draw_line(cuts: Cuts, one: Recovery) -> None:
    """Who is down at that moment has its snapshots, the others also what they have."""
    if not numbers_tell(cuts):
        return
    cut = cuts.at(one.t_us)
    down = [task for task, stand in cut.stands.items() if cuts.histories.ended_us(task, stand.attempt) <= one.t_us]
    known = snapshots_before(cuts, cut)
    start = known.pattern.current(down)
    line = known.pattern.recovery_line(start)
    one.line = known.named(line)
    one.passed = {TaskId(task): n for task, n in known.pattern.passed(start, line).items() if n}
    for task, at in line.items():
        if at <= known.pattern.last[task]:
            one.back_us[TaskId(task)] = max(0, one.t_us - _taken_us(cuts, known, TaskId(task), at))


def _taken_us(cuts: Cuts, known: Snapshots, task: TaskId, at: int) -> int:
    if not at:
        return cuts.histories.begin(task, min(cuts.histories.attempts(task), default=0)).started_us
    snapshot = known.of_task[task][at - 1]
    return cuts.histories.acknowledged.get((task, snapshot.attempt, snapshot.checkpoint), 0)


def _sort_orphans(cuts: Cuts, one: Recovery, attempt: int) -> None:
    begin = cuts.at_the_beginning(one.task, attempt)
    t_us = cuts.histories.begin(one.task, attempt).started_us
    for channel in cuts.histories.outputs(one.task):
        receiver = cuts.stand(channel.target, t_us)
        for orphan in cuts.orphans_between(channel, begin, receiver):
            _sort(cuts, one, attempt, orphan)
    for channel in cuts.histories.inputs(one.task):
        sender = cuts.stand(channel.source, t_us)
        one.sent_again += sum(part.count for part in cuts.sent_again(channel, sender, begin))


def _sort(cuts: Cuts, one: Recovery, attempt: int, orphan: Orphan) -> None:
    """What became of it: the first later attempt that sent that number says so, if its receiver still had it then."""
    sent = next(_sendings(cuts, orphan, attempt), None)
    if not _still_there(cuts, orphan, cuts.end_us if sent is None else sent[0]):
        one.given_up += 1
    elif sent is None:
        one.open += 1
    elif sent[1]:
        one.rebuilt += 1
    else:
        one.left += 1
        if len(one.left_shown) < MOST_LEFT:
            one.left_shown.append(orphan)


def _sendings(cuts: Cuts, orphan: Orphan, attempt: int) -> Iterator[tuple[int, bool]]:
    """(when, whether it is the same) of each later attempt that sent that number."""
    channel = cuts.source.graph.channel(orphan.channel)
    before = cuts.traffic.cut(channel, orphan.attempt).content(orphan.seq)
    for one in cuts.histories.attempts(channel.source):
        cutting = cuts.traffic.cut(channel, one)
        at = cutting.place(orphan.seq) if one >= attempt and before is not None else None
        if at is not None:
            yield cutting.cut_us[at], cutting.content(orphan.seq) == before


def _still_there(cuts: Cuts, orphan: Orphan, t_us: int) -> bool:
    """Whether what the receiver was at that time, or began again as if it had failed by then, has taken it."""
    channel = cuts.source.graph.channel(orphan.channel)
    stand = cuts.stand(channel.target, t_us)
    if cuts.histories.ended_us(channel.target, stand.attempt) <= t_us:
        later = min((n for n in cuts.histories.attempts(channel.target) if n > stand.attempt), default=None)
        if later is None:
            return False
        stand = cuts.at_the_beginning(channel.target, later)
    taking = cuts.traffic.taken(channel, orphan.receiver_attempt)
    return any(
        attempt == orphan.receiver_attempt and count and taking.taken_us[count - 1] >= orphan.taken_us
        for attempt, count in cuts.taken_parts(channel, stand)
    )
