"""Events that answer one another must say the same; states follow one another; an answer is as long as a log can be."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any, NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story, extents_of
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all
from replay.model import Thread
from replay.recovery.states import STATE_NAMES

_SAME: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "determinants-request-received": ("determinants-requested", ("of", "channel", "epoch")),
    "determinants-received": ("determinants-returned", ("of", "channel", "to", "result", "logs")),
    "replay-request-received": ("replay-requested", ("channel", "epoch", "skip")),
    "state-restored": ("restore-started", ("task", "checkpoint", "attempt")),
}
"""Type of an event: the type of the event that it is the other end of, and what the two have in common."""

_FOLLOWS = dict(pairwise(STATE_NAMES))
"""Each state of a recovery has one that comes after it."""


def check_events(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first event that contradicts another one, or the logs that it tells of."""
    _Events(source, story).run()


class _Events:
    def __init__(self, source: RecordingSource, story: Story):
        self.source = source
        self.story = story
        self.states: dict[tuple[str, str], str] = {}
        self.ends: dict[tuple[str, Thread, int], set[int]] = {}

    def run(self) -> None:
        for number, event in sorted(self.story.by_number.items()):
            kind = str(event.get("type"))
            if kind in _SAME and isinstance(event.get("re"), int):
                self._check_same(number, kind, event)
            if kind == "recovery-state":
                self._check_state(number, event)
                self._check_runs(number, event)
            elif kind in ("channel-lost", "channel-reconnected"):
                self._check_side(number, kind, event)
            elif kind == "restore-started":
                self._check_restored(number, event)
            elif kind == "determinants-requested" and event.get("of") == event.get("at"):
                self._check_asked(number, event)
            elif kind == "determinants-returned":
                self._check_lengths(number, event)

    def _check_same(self, number: int, kind: str, event: Event) -> None:
        cause_kind, fields = _SAME[kind]
        cause = self.story.by_number.get(event["re"], {})
        if cause.get("type") != cause_kind:
            self._differs(
                number,
                f"{kind} names event {event['re']} as its cause, which is not a {cause_kind} but a {cause.get('type')}",
                cause=event["re"],
            )
        for name in fields:
            if event.get(name) != cause.get(name):
                self._differs(
                    number,
                    f"{kind} has the {name} {event.get(name)}, but event {event['re']} ({cause_kind}), which it is the "
                    f"other end of, has {cause.get(name)}",
                    cause=event["re"],
                    asked=cause.get(name),
                    logged=event.get(name),
                )

    def _check_state(self, number: int, event: Event) -> None:
        key = str(event.get("at", event.get("task"))), str(event.get("attempt"))
        before, begins = self.states.get(key, "Standby"), event.get("from")
        if begins != before:
            self._differs(
                number,
                f"recovery-state of {key[0]}, attempt {key[1]}, goes from {begins} to {event.get('to')}, but the state "
                f"before was {before}: a recovery-state event between is missing, or one of the two was changed",
                asked=before,
                logged=begins,
            )
        follows = _FOLLOWS.get(before)
        if event.get("to") != follows:
            self._differs(
                number,
                f"recovery-state of {key[0]}, attempt {key[1]}, goes from {before} to {event.get('to')}, where "
                f"{follows or 'no other'} follows",
                asked=follows,
                logged=event.get("to"),
            )
        self.states[key] = str(event.get("to"))

    def _check_runs(self, number: int, event: Event) -> None:
        """Who has no main log to follow runs at once."""
        task, attempt = str(event.get("at", event.get("task"))), event.get("attempt")
        if event.get("to") != "Replaying" or not isinstance(attempt, int):
            return
        if self.source.manifest.clock.kind != "virtual" or not self._has_no_main(task, attempt):
            return
        after = self.story.by_number.get(number + 1, {})
        if (after.get("type"), after.get("re"), after.get("to")) != ("recovery-state", number, "Running"):
            self._differs(
                number + 1,
                f"recovery-state of {task}, attempt {attempt}, to Running must stand here, as by event "
                f"{number} it replays, and it has no main log to follow; here is {after.get('type', 'nothing')}"
                + (f" to {after['to']}" if after.get("type") == "recovery-state" else ""),
                cause=number,
            )

    def _has_no_main(self, task: str, attempt: int) -> bool:
        """Nothing is logged, or the answers say that there was none; that one is missing is found elsewhere."""
        returned = self.story.returned_to(task, attempt)
        if not self.source.manifest.protocol.logs:
            return not any(returned.values())  # that anything came back is what contradicts the protocol
        return bool(returned) and not any(upto for (thread, _), upto in returned.items() if thread == "main")

    def _check_side(self, number: int, kind: str, event: Event) -> None:
        ends = str(event.get("channel")).split(">")
        task = event.get("at")
        side = {(True, False): "output", (False, True): "input"}.get((task == ends[0], task == ends[-1]))
        if len(ends) == 2 and event.get("side") != side:
            where = f"on the side {event.get('side')}, but {task} is at its {side}" if side else f"at {task}"
            self._differs(number, f"{kind} tells of {event.get('channel')} {where}")

    def _check_restored(self, number: int, event: Event) -> None:
        """What an attempt loads once it executes is the checkpoint that it began from."""
        start = self._start_of(event)
        if start is not None and number > start["n"]:
            self._check_begins(number, event, start, "checkpoint", "restore-started loads checkpoint {}")

    def _check_asked(self, number: int, event: Event) -> None:
        """What a recovery asks for of its own log begins with the epoch behind the checkpoint that it began from."""
        start = self._start_of(event)
        if start is not None:
            says = "determinants-requested asks for determinants of its own log from epoch {} on"
            self._check_begins(number, event, start, "epoch", says)

    def _start_of(self, event: Event) -> Event | None:
        task, attempt = event.get("at", event.get("task")), event.get("attempt")
        return self.story.starts.get((str(task), attempt if isinstance(attempt, int) else -1))

    def _check_begins(self, number: int, event: Event, start: Event, name: str, says: str) -> None:
        asked, logged = start.get("checkpoint"), event.get(name)
        if logged != asked:
            self._differs(
                number,
                f"{says.format(logged)}, but event {start['n']} says that attempt {start.get('attempt')} of "
                f"{start.get('task')} began from checkpoint {asked}",
                cause=start["n"],
                asked=asked,
                logged=logged,
            )

    def _check_lengths(self, number: int, event: Event) -> None:
        """An extent ends where a determinant of some attempt's log ends."""
        for task, thread, epoch, upto in extents_of(event):
            ends = self._ends(task, thread, epoch)
            if ends and upto not in ends:
                self._differs(
                    number,
                    f"determinants-returned tells of {upto} bytes of {task}/{thread}, epoch {epoch}, but no "
                    f"determinant of any attempt's log ends there",
                    thread=thread,
                    epoch=epoch,
                    log_offset=upto,
                )

    def _ends(self, task: str, thread: Thread, epoch: int) -> set[int]:
        key = task, thread, epoch
        if key not in self.ends:
            self.ends[key] = set()
            logs = [self.source.log_bytes(task, one, thread, epoch) for one in self.source.attempts(task)]
            try:
                for log in filter(None, logs):
                    self.ends[key] |= {0, *accumulate(length for _, length, _ in decode_all(log))}
            except CorruptDeterminant:
                self.ends[key] = set()  # found out where that log is looked at
        return self.ends[key]

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
