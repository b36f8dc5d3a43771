"""How much had arrived on an input when its channel was lost or came back, as events tell, held against receipts."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.recorded.story import Event
from replay.model import TaskId

_Input = tuple[str, int, str]
"""(task, attempt, channel)."""

_ANY = 1 << 63


def check_received(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first event that tells of more than had arrived, or than was asked for."""
    if source.manifest.clock.kind == "virtual":
        _Received(source).run()


@dataclass(slots=True)
class _Received:
    """`asked`: who may have been sent anything: all who began with all others, and those who asked since."""

    source: RecordingSource
    asked: set[_Input] = field(default_factory=set)
    back: dict[int, Event] = field(default_factory=dict)
    arrivals: dict[_Input, list[tuple[int, int]]] = field(default_factory=dict)

    def run(self) -> None:
        for event in self.source.events():
            kind = event.get("type")
            if kind == "attempt-started":
                self._start(event)
            elif kind == "replay-requested":
                self._check_skipped(event)
                self.asked.add(_input(event))
            elif kind in ("channel-lost", "channel-reconnected") and _counts(event):
                self.back[event["n"]] = event
                self._check(event["n"], event)

    def _start(self, event: Event) -> None:
        task, attempt = event.get("task"), event.get("attempt")
        if isinstance(attempt, int) and task in self.source.graph and (attempt == 0 or "rollback" in event):
            self.asked |= {(str(task), attempt, one) for one in self.source.graph.task(str(task)).inputs}

    def _check(self, number: int, event: Event) -> None:
        received, t_us = event["received"], event["t_us"]
        if not received:
            return
        if event.get("side") == "output":
            self._differs(number, event, "at an output nothing is received")
        if _input(event) not in self.asked:
            self._differs(number, event, "nobody is sent anything before he asks for it (replay-requested)")
        arrivals = self._arrivals(_input(event))
        upto = bisect_right(arrivals, (t_us, _ANY))
        if arrivals and received > upto:
            self._differs(number, event, f"its receipts tell of {upto} that had arrived by {t_us} us")

    def _check_skipped(self, event: Event) -> None:
        """What is asked for leaves out what had arrived, of that epoch and later ones; or nothing, where all comes
        otherwise."""
        of, skip, epoch = event.get("re"), event.get("skip"), event.get("epoch")
        cause = self.back.get(of) if isinstance(of, int) else None
        if cause is None or not isinstance(skip, int) or not isinstance(epoch, int):
            return
        if skip not in (0, cause["received"]):
            self._differs(
                event["n"],
                cause,
                f"and replay-requested leaves out {skip}, where all that arrived is left out, or none",
            )
        arrivals = self._arrivals(_input(event))
        if not arrivals or self.source.manifest.protocol.in_storage:
            return  # there what follows from lost choices is given up, as if it had never arrived
        least = sum(one >= epoch for t_us, one in arrivals if t_us < cause["t_us"])
        most = sum(one >= epoch for t_us, one in arrivals if t_us <= cause["t_us"])
        if not least <= cause["received"] <= most:
            self._differs(
                cause["n"], cause, f"its receipts tell of {least} that had arrived by then, of epoch {epoch} or later"
            )

    def _arrivals(self, one: _Input) -> list[tuple[int, int]]:
        """(when, of which epoch) buffers arrived on the input, in time; none where the recording has no receipts."""
        if one not in self.arrivals:
            task, attempt, channel = one
            inputs = self.source.graph.task(task).inputs if task in self.source.graph else ()
            i = inputs.index(channel) if channel in inputs else None
            receipts = () if i is None else placed_receipts(self.source, TaskId(task), attempt, i)
            self.arrivals[one] = sorted(
                (receipt.received_us, int(path.rpartition("/")[2].removesuffix(".rcv")))
                for path, _, receipt in receipts
            )
        return self.arrivals[one]

    def _differs(self, number: int, event: Event, why: str) -> NoReturn:
        raise DivergenceFound(
            f"Event {number}: {event.get('type')} (event {event.get('n')}) says that {event.get('received')} buffers "
            f"of {event.get('channel')} had been received, but {why}.",
            member="events.ndjson",
            event=number,
            other_member=self._receipts(_input(event)),
            channel=event.get("channel"),
        )

    def _receipts(self, one: _Input) -> str | None:
        """The last member of those that arrived on the input."""
        task, attempt, channel = one
        inputs = self.source.graph.task(task).inputs if task in self.source.graph else ()
        if channel not in inputs:
            return None
        folder = f"received-{inputs.index(channel)}"
        epochs = [*self.source.epochs(TaskId(task), attempt, folder)]
        return member_name(task, attempt, folder, epochs[-1]) if epochs else None


def _counts(event: Event) -> bool:
    return all(isinstance(event.get(name), int) for name in ("n", "t_us", "received"))


def _input(event: Event) -> _Input:
    attempt = event.get("attempt")
    return str(event.get("at")), attempt if isinstance(attempt, int) else -1, str(event.get("channel"))
