"""Stopping before a record, and the debugger there: at its prompt nothing is taken from the recording."""

from __future__ import annotations

import bdb
import pdb  # noqa: T100 - a debugger is what this is about
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from clonoscope.errors import WrongUse
from clonoscope.onsite.answers import Answers
from clonoscope.onsite.held import Place
from clonoscope.onsite.refusals import opened

_AT = re.compile(
    r"(?:(?:(?P<topic>.*)\[(?P<partition>\d{1,18})\]|(?P<plain>\d{1,18}))@)?(?P<offset>\d{1,18})"
    r"(?:#(?P<epoch>\d{1,18}))?",
    re.DOTALL,
)
_ENGINE = ("clonoscope", "replay")


def place_meant(text: str, taken: list[tuple[int, Place]]) -> tuple[int, Place]:
    """Which record of an epoch `--at` means: `topic[partition]@offset`, or the offset alone.
    Behind `#` stands the epoch, where offsets count anew in each."""
    named = _AT.fullmatch(text)
    if named is None:
        raise WrongUse(f"--at is {text!r}", remedy="It is a record's place, as orders[3]@1207, or its offset")
    partition = named["partition"] or named["plain"]
    wanted = [
        (epoch, one)
        for epoch, one in taken
        if one.offset == int(named["offset"])
        and (partition is None or (one.partition == int(partition) and one.topic == (named["topic"] or "")))
        and (named["epoch"] is None or epoch == int(named["epoch"]))
    ]
    known = list(dict.fromkeys(wanted))
    if not known:
        those = f"from {taken[0][1]} to {taken[-1][1]}" if taken else "none"
        raise WrongUse(f"--at {text}: the attempt took no such record", remedy=f"It took {len(taken)}, {those}")
    if len(known) > 1:
        in_epochs = len({place for _, place in known}) < len(known)
        names = [f"{place}#{epoch}" if in_epochs else str(place) for epoch, place in known]
        raise WrongUse(f"--at {text} is one of several records", remedy=f"Name one: {', '.join(names[:10])}")
    return known[0]


class Prompt(pdb.Pdb):
    """As `pdb`, for the job's code alone."""

    def __init__(self, answers: Answers) -> None:
        super().__init__(skip=_ENGINE)
        self.prompt = "(clonoscope) "
        self.has_left = False
        self._answers = answers

    def interaction(self, frame: FrameType | None, traceback: TracebackType | None) -> None:
        """What a person asks here is not the job's, and the network is theirs."""
        self._answers.at_prompt = True
        try:
            with opened():
                super().interaction(frame, traceback)
        finally:
            self._answers.at_prompt = False

    def is_skipped_module(self, module_name: str) -> bool:
        """All but the job's own, and the packages that it uses."""
        return _is_engines(module_name)

    def set_quit(self) -> None:
        """The job may catch what ends it then: it is remembered."""
        self.has_left = True
        super().set_quit()

    def stepping_into(self, action: Callable[[], None]) -> None:
        """Stands at the first line of the job's that is reached."""
        try:
            self.runcall(action)
        except bdb.BdbQuit:
            pass  # as `has_left` says
        finally:
            sys.settrace(None)

    def looking_back(self, raised: BaseException) -> None:
        """At the job's line that led to what was raised, if there is one."""
        shown = _jobs_part(raised.__traceback__)
        if shown is not None:
            self.reset()
            self.interaction(None, shown)

    def looking_at(self, frame: FrameType | None) -> None:
        """At a frame that is at work."""
        if frame is not None:
            self.reset()
            self.interaction(frame, None)


@contextmanager
def unseen() -> Iterator[None]:
    """Within, the debugger looks away: this is the replay's own work, though libraries do it that the job uses too."""
    traced = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(traced)


def _jobs_part(traceback: TracebackType | None) -> TracebackType | None:
    """Without the engine's own frames around and behind the job's."""
    links = []
    while traceback is not None:
        links.append(traceback)
        traceback = traceback.tb_next
    while links and is_engines(links[-1].tb_frame):
        links.pop()
    while links and is_engines(links[0].tb_frame):
        links.pop(0)
    made: TracebackType | None = None
    for one in reversed(links):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def is_engines(frame: FrameType) -> bool:
    """Whether a frame is the replay's own, or the standard library's, and not the job's."""
    return _is_engines(str(frame.f_globals.get("__name__", "")))


def _is_engines(module: str | None) -> bool:
    top = str(module).partition(".")[0]
    return top in _ENGINE or (top in sys.stdlib_module_names and top != "__main__")


class Left(BaseException):
    """The person at the debugger has seen enough. No `Exception`, as the job would catch that."""
