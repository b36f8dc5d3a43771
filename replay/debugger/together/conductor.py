"""Whose turn it is: interleaves the replays of several tasks in the order that the recording proves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from replay.debugger.outcome import Outcome
from replay.debugger.together.ahead import Ahead
from replay.debugger.together.exchange import Attempt, Exchange
from replay.debugger.turns import Turns
from replay.debugger.writing.steps import StepWriter


class Part(Protocol):
    """One task's replay."""

    steps: StepWriter

    @property
    def attempt(self) -> Attempt:
        """The task and its attempt."""

    def ahead(self) -> Ahead:
        """What it would do next."""

    def turns(self) -> Turns[Outcome]:
        """All that it does."""

    def leaves(self) -> dict[str, str] | None:
        """The operator's state at its end; None where nothing was executed."""


@dataclass(slots=True)
class _Seat:
    part: Part
    turns: Turns[Outcome]
    ahead: Ahead
    steps: int = 0


@dataclass(slots=True)
class Conductor:
    """Lets the earliest thing be done whose own causes are done. Where nothing but the clocks of different hosts, or no
    clock at all, tells which came first, the step is marked.

    `virtual`: all of the recording's times are of one clock.
    """

    exchange: Exchange
    virtual: bool
    steps: int = 0
    _seats: list[_Seat] = field(default_factory=list)
    _later: deque[_Seat] = field(default_factory=deque)
    _last: tuple[_Seat, Ahead, int] | None = None

    def conduct(self, parts: Sequence[Part]) -> Iterator[tuple[Part, Outcome, int]]:
        """Each part, what it came to, and how many of the steps are its own, as they end."""
        seats = [_Seat(part, part.turns(), part.ahead()) for part in parts]
        self._later = deque(sorted(seats, key=lambda seat: seat.ahead.t_us))
        while self._later or self._seats:
            seat = self._next()
            if (outcome := self._turn(seat)) is not None:
                self._seats.remove(seat)
                self.exchange.ended(seat.part.attempt, seat.part.leaves())
                yield seat.part, outcome, seat.steps

    def _next(self) -> _Seat:
        first = min((seat.ahead.t_us for seat in self._seats), default=None)
        while self._later and (first is None or self._later[0].ahead.t_us <= first):
            self._seats.append(self._later.popleft())
            first = self._seats[-1].ahead.t_us if first is None else first
        free = [seat for seat in self._seats if not self._waits(seat)]
        # All wait for one another only where what was recorded of them does not go together: by their times, then.
        return min(free or self._seats, key=lambda seat: seat.ahead.place)

    def _waits(self, seat: _Seat) -> bool:
        task, attempt = seat.part.attempt
        if any(one == task and n < attempt for one, n in self.exchange.attempts):
            return True  # one attempt of a task after the other
        event, buffer = seat.ahead.event, seat.ahead.buffer
        if event is not None:
            return self.exchange.waits_for_event(event)
        return buffer is not None and self.exchange.waits_for_buffer(*buffer)

    def _turn(self, seat: _Seat) -> Outcome | None:
        """The outcome at the end of its last one."""
        steps, ahead, begin = seat.part.steps, seat.ahead, self.steps
        steps.count = begin
        outcome = None
        if self._last is not None and self._last[0] is not seat and not self._is_behind(ahead):
            steps.open_after = self._last[2]
        try:
            next(seat.turns)
        except StopIteration as end:
            outcome = end.value
        steps.open_after = None
        if steps.count > begin:
            self.steps = steps.count
            seat.steps += steps.count - begin
            self._last = seat, ahead, steps.count - 1
        if outcome is None:
            seat.ahead = seat.part.ahead()
        return outcome

    def _is_behind(self, ahead: Ahead) -> bool:
        """Whether the recording proves that the last step came before what is next."""
        if self._last is None:
            return True
        _, before, step = self._last
        if ahead.event is not None and self.exchange.caused(ahead.event) == (f"step:{step}",):
            return True
        if ahead.buffer is not None and self.exchange.sent.get(ahead.buffer) == step:
            return True
        if not self.virtual or not before.exact:
            return False
        if before.t_us < ahead.t_us:
            return True
        return before.number is not None and ahead.number is not None and before.number < ahead.number
