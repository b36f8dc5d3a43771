"""The attempt's answers, watched: each that is taken is told of, and whatever was refused is remembered."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from clonoscope.errors import Diverged, Refused
from clonoscope.onsite.held import Held, Place
from clonoscope.replaying import Replay
from clonoscope.sites import Site, site_at
from replay.errors import ReplayError
from replay.log.determinants import Determinant, Serializable, Take
from replay.services.external import call_fields

Took = Callable[[int, int, Determinant, Site | None], None]
"""(epoch, number in it, determinant, who asked)"""


class AtThePrompt(Exception):
    """A person at the debugger asked a service: what is recorded is the job's, and stays where it is."""


class Answers(Replay):
    """As `Replay`. `refused` is the first divergence, also where the job caught it and went on."""

    took: Took = staticmethod(lambda epoch, number, determinant, site: None)
    refused: Diverged | None = None
    at_prompt = False
    approximate = False
    """Whether an answer up to here is recorded otherwise than the job had it."""

    def runs(self, epoch: int) -> list[Take]:
        """The records of an epoch, run by run."""
        return [one for one in self._logs.get(epoch, ()) if isinstance(one, Take)]

    @property
    def position(self) -> tuple[int, int]:
        """(epoch, entries of it that were used)"""
        return self._epoch, self._at

    def must_be_used_up(self, place: str) -> None:
        """Nothing of the epoch in hand may be left."""
        if self._ahead() is not None:
            self._refuse("nothing more", place)

    @property
    def at_the_end(self) -> bool:
        """Whether nothing is left of the epoch in hand, nor of any later one."""
        return self._ahead() is None and not any(log for epoch, log in self._logs.items() if epoch > self._epoch)

    def take_run(self, held: Held) -> list[Place]:
        """The records that were taken next, all before anything else was asked."""
        run = self._ahead()
        if not isinstance(run, Take):
            return []
        self.took(self._epoch, self._at, run, None)
        self._at += 1
        return self.places(held, run)

    def places(self, held: Held, run: Take) -> list[Place]:
        """Where the records of a run come from."""
        if run.channel >= len(self._partitions):
            why = f"a record is taken from input {run.channel}, of which the manifest knows nothing"
            raise ReplayError(why, path=f"tasks/{held.task}/{held.attempt}/main/{self._epoch}.det")
        partition = self._partitions[run.channel]
        return [held.place(partition, run.first_offset + one) for one in range(run.records)]

    def refuse(self, asked: str, frame: FrameType) -> Refused:
        """For what a replay may not reach."""
        found = Refused(asked, site_at(frame).place, self._epoch, self._at)
        self.refused = self.refused or found
        return found

    def _next(self, name: str, asked: str, frame: FrameType) -> dict[str, Any]:
        if self.at_prompt:
            raise AtThePrompt(f"{asked} is the job's to ask: nothing is taken from the recording at the prompt")
        number, ahead = self._at, self._ahead()
        try:
            fields = super()._next(name, asked, frame)
        except Diverged as found:
            self.refused = self.refused or found
            raise
        self.approximate = self.approximate or fields.get("approximate") is True
        if ahead is not None:
            self.took(self._epoch, number, ahead, site_at(frame))
        return fields

    def _refuse(self, asked: str, place: str, lacking: str = "") -> NoReturn:
        try:
            super()._refuse(asked, place, lacking)
        except Diverged as found:
            self.refused = self.refused or found
            raise

    @property
    def is_intercepted(self) -> bool:
        """Whether the attempt was recorded with `intercept`: each of its epochs begins with a seed then."""
        calls = (call_fields(one) for log in self._logs.values() for one in log if isinstance(one, Serializable))
        return any(fields is not None and fields.get("call") == "seed" for fields in calls)
