"""What a fork is answered where its log does not apply: by the recording as far as it goes, else by what is made up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from replay.debugger.recorded.logs import Logs
from replay.log.codec import decode_all
from replay.log.determinants import (
    Determinant,
    IgnoreCheckpoint,
    Rng,
    Serializable,
    SourceCheckpoint,
    TimerTrigger,
    Timestamp,
)
from replay.model import MAIN
from replay.services import Divergence, ExternalFault
from replay.services.cursor import Cursor
from replay.services.external import call_fields

D = TypeVar("D", bound=Determinant)

Async = TimerTrigger | SourceCheckpoint | IgnoreCheckpoint


class ForkWorld:
    """Stands beside the choices of a fork, and is its wall.

    `kept`: what was logged and does not apply in its place is still given out, kind by kind, in its order: so that as
    little as possible is other than in the parent. Else what was lost is lost, and the world chooses by `seed`.
    """

    def __init__(self, *, kept: bool, seed: int, tell: Callable[[str], None]):
        self.kept = kept
        self.left_at: Divergence | None = None
        self.made_up: Counter[str] = Counter()
        self.given_out: Counter[str] = Counter()
        self.clock_ms = 0
        self._tell = tell
        self._draw = Random(f"fork {seed}")
        self._times: deque[Timestamp] = deque()
        self._numbers: deque[Rng] = deque()
        self._calls: dict[str, deque[Serializable]] = {}
        self._last_calls: dict[str, Serializable] = {}
        self.asyncs: dict[int, deque[Async]] = {}

    # --- leaving the log ---

    def left(self, found: Divergence, cursor: Cursor | None, logs: Logs) -> None:
        """The log does not apply any more: what is left of it is kept to be given out."""
        if self.left_at is None:
            self.left_at = found
            self._tell(
                f"From here on the log no longer applies: it holds {found.logged}, where {found.asked} is asked for. "
                f"What follows is a new execution. It is given what was logged, kind by kind, as far as that goes."
            )
        if cursor is not None:
            for epoch in cursor.epochs:
                data = logs.get(MAIN, {}).get(epoch, b"")
                self._keep(epoch, data[cursor.offset(epoch) :])

    def lose(self, cursor: Cursor | None, logs: Logs) -> None:
        """What is left nobody has; but the world outside would still give its answers, and checkpoints would come."""
        for epoch in () if cursor is None else cursor.epochs:
            data = logs.get(MAIN, {}).get(epoch, b"")
            for _, _, one in decode_all(data[cursor.offset(epoch) :] if cursor is not None else b""):
                if isinstance(one, Serializable):
                    self._call(one)
                elif isinstance(one, SourceCheckpoint | IgnoreCheckpoint):
                    self.asyncs.setdefault(epoch, deque()).append(one)

    def draws(self, seed: int) -> None:
        """From here on what is chosen is drawn."""
        self.kept = False
        self._draw = Random(f"fork {seed}")

    def _keep(self, epoch: int, data: bytes) -> None:
        for _, _, one in decode_all(data):
            match one:
                case Timestamp():
                    self._times.append(one)
                case Rng():
                    self._numbers.append(one)
                case Serializable():
                    self._call(one)
                case TimerTrigger() | SourceCheckpoint() | IgnoreCheckpoint():
                    self.asyncs.setdefault(epoch, deque()).append(one)

    def _call(self, one: Serializable) -> None:
        fields = call_fields(one) or {}
        self._calls.setdefault(str(fields.get("name")), deque()).append(one)

    # --- what choices are given, beside the log ---

    def gives(self, kind: type[D], unlike: Callable[[D], str | None] | None) -> D | None:
        """The next that was logged of this kind, if it can be the answer; None where there is none."""
        waiting: Any = {Timestamp: self._times, Rng: self._numbers}.get(kind)
        if kind is Serializable:
            waiting = next((one for one in self._calls.values() if one and unlike and unlike(one[0]) is None), None)  # type: ignore[arg-type]
        while waiting:
            one: D = waiting.popleft()
            if unlike is None or unlike(one) is None:
                self.given_out[kind.kind] += 1
                if isinstance(one, Timestamp):
                    self.clock_ms = max(self.clock_ms, one.value)
                return one
        return None

    def took(self, determinant: Determinant) -> None:
        """A determinant of the log was followed: the last answer of a call is what the world is known to say."""
        if isinstance(determinant, Serializable):
            self._last_calls[str((call_fields(determinant) or {}).get("name"))] = determinant
        elif isinstance(determinant, Timestamp):
            self.clock_ms = max(self.clock_ms, determinant.value)

    # --- the wall: what nobody knows ---

    def now_ms(self) -> int:
        """The time of what was taken last, or later."""
        self.made_up["timestamp"] += 1
        if not self.kept:
            self.clock_ms += self._draw.randrange(2)
        return self.clock_ms

    def random_int32(self) -> int:
        """Drawn."""
        self.made_up["rng"] += 1
        return self._draw.randrange(-(1 << 31), 1 << 31)

    def external(self, call: str, request: Any, effect: str) -> Any:
        """What the world said last to this call; it was never asked this."""
        self.made_up["serializable"] += 1
        fields = call_fields(self._last_calls[call]) if call in self._last_calls else None
        if fields is None or "value" not in fields:
            raise ExternalFault("NotRecorded", f"what {call} would have answered is in no recording")
        return fields["value"]

    def pick(self, ready: Sequence[int], recorded: Callable[[Sequence[int]], int]) -> int:
        """Which input comes next: as was recorded, or by chance."""
        return recorded(ready) if self.kept else ready[self._draw.randrange(len(ready))]
