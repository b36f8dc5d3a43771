"""Requests that are passed on downstream, as events tell of them: once they came, and answered with the last answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.model import ChannelId, TaskId
from replay.recovery import Setting


def check_relays(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first attempt that answers for others though it awaits more or was not asked, or
    never does."""
    # Of one that still grows an answer may be what comes next.
    if source.manifest.clock.kind != "virtual" or not source.manifest.complete:
        return
    for (task, attempt), events in story.of_attempt.items():
        if task in source.graph:
            _Relays(story, Setting.of(source.graph, TaskId(task)), attempt).run(events)


@dataclass(slots=True)
class _Open:
    """Of one failed task: who asked, by input, and who has answered, by output."""

    askers: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Relays:
    story: Story
    setting: Setting
    attempt: int
    open: dict[str, _Open] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)

    def run(self, events: list[Event]) -> None:
        for event in events:
            kind, of, channel = event.get("type"), event.get("of"), str(event.get("channel"))
            if kind == "channel-lost":
                self._lose(channel, str(event.get("side")))
            elif kind == "escalated" and self.setting.on_lost != "continue":
                return  # until all is rolled back it hears what comes still, and does nothing about it
            elif of == self.setting.task or not isinstance(of, str) or not isinstance(event.get("n"), int):
                continue
            elif kind == "determinants-request-received":
                self.asked.add((of, channel))
                self._ask(event, of, channel)
            elif kind == "determinants-requested":
                if all(of != one for one, _ in self.asked):
                    self._never_asked(event, f"passes a request for the logs of {of} on", channel)
            elif kind == "determinants-received" and of in self.open:
                self._take(event, of, channel)
            elif kind == "determinants-returned":
                if (of, channel) not in self.asked:
                    self._never_asked(event, f"answers for the logs of {of} over {channel}", channel)
                self._answer(event, of)

    def _lose(self, channel: str, side: str) -> None:
        """With the other end is gone what it had asked or answered."""
        for relay in self.open.values():
            (relay.askers if side == "input" else relay.answered).discard(channel)

    def _ask(self, event: Event, of: str, channel: str) -> None:
        """Who holds all himself answers at once, whoever else may be asked for another."""
        if any(self._returned_at(event, 1)):
            if of in self.open:
                self.open[of].askers.discard(channel)
        else:
            self.open.setdefault(of, _Open()).askers.add(channel)

    def _take(self, event: Event, of: str, channel: str) -> None:
        relay = self.open[of]
        relay.answered.add(channel)
        if self._awaited(relay):
            return
        del self.open[of]
        asked = [one for one in self.setting.inputs if one in relay.askers]
        for one, answer in zip(asked, self._returned_at(event, len(asked)), strict=True):
            if answer.get("channel") != one:
                self._never_answered(event, of, one)

    def _answer(self, event: Event, of: str) -> None:
        relay = self.open.get(of)
        if relay is None:
            return
        for one in self._awaited(relay):
            self._differs(
                event.get("n"),
                f"determinants-returned says that {self._who} answers for the logs of {of}, which it passes on, but no "
                f"determinants-received by {one} says that what it asked for there came",
                one,
            )

    def _awaited(self, relay: _Open) -> list[ChannelId]:
        return [one for one in self.setting.asked if one not in relay.answered]

    def _returned_at(self, event: Event, count: int) -> Iterator[Mapping[str, object]]:
        """The events behind this one, as far as they are answers that follow from it."""
        for number in range(event["n"] + 1, event["n"] + 1 + count):
            after = self.story.by_number.get(number, {})
            answers = after.get("type") == "determinants-returned" and after.get("re") == event["n"]
            yield after if answers else {}

    def _never_answered(self, event: Event, of: str, channel: str) -> NoReturn:
        self._differs(
            event["n"] + 1,
            f"determinants-returned by {self._who} over {channel} must stand here, as event {event['n']} "
            f"(determinants-received) brings the last of the answers for the logs of {of} that it asked for there",
            channel,
        )

    def _never_asked(self, event: Event, what: str, channel: str) -> NoReturn:
        why = f"{event.get('type')} says that {self._who} {what}, but no determinants-request-received before"
        self._differs(event.get("n"), f"{why} says that it was asked for them", channel)

    @property
    def _who(self) -> str:
        return f"{self.setting.task}, attempt {self.attempt},"

    def _differs(self, number: object, why: str, channel: str) -> NoReturn:
        raise DivergenceFound(
            f"Event {number}: {why}.", member="events.ndjson", event=number, channel=channel, task=self.setting.task
        )
