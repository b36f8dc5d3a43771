"""Runs a job's own function along an attempt's recording, to a verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, cast

from clonoscope import services
from clonoscope.calls import Call
from clonoscope.errors import Diverged, EndOfRecording, RecordedFault
from clonoscope.interception import intercepting
from clonoscope.json_values import to_json
from clonoscope.onsite.answers import Answers
from clonoscope.onsite.application import Application, load
from clonoscope.onsite.beside import Beside
from clonoscope.onsite.border import Border, Halted
from clonoscope.onsite.held import Held, Place
from clonoscope.onsite.messages import Message
from clonoscope.onsite.outputs import Outputs, raised_at, verdict_of
from clonoscope.onsite.records import Fed, Feed, Reader
from clonoscope.onsite.refusals import closed
from clonoscope.onsite.stand_in import StandInTask, standing_in
from clonoscope.onsite.stopping import Left, Prompt, place_meant
from clonoscope.onsite.telling import Telling
from clonoscope.onsite.verdicts import broken_off, ended, parted
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing, Outcome
from replay.debugger.ports import NoSteps, StepSink
from replay.errors import printable
from replay.model import json_bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """What is replayed, and how. `at`: the record to stop before; `debugger`: open one there, or where it diverges."""

    app: str
    reader: Reader | None = None
    at: str | None = None
    debugger: bool = False
    only: tuple[str, ...] = ()


class Stopped(BaseException):
    """Before the record that was asked for."""


class Failed(BaseException):
    """As the attempt did."""


@dataclass(slots=True)
class Execution:
    """One replay. `stopped`: the record before which it did; `failed`: what the function raised; `broken_off`: whether
    it came to where the recording breaks off. `states` is how many were compared."""

    held: Held
    asked: Asked
    sink: StepSink = field(default_factory=NoSteps)
    stopped: Place | None = None
    failed: str | None = None
    broken_off: bool = False
    records: int = 0
    asked_for: int = 0
    states: int = 0
    fed: Fed | None = None
    answers: Answers = field(init=False)
    outputs: Outputs = field(init=False)
    border: Border = field(init=False)
    telling: Telling = field(init=False)
    beside: Beside = field(default_factory=Beside)
    feed: Feed = field(init=False)
    application: Application = field(init=False)
    _at: tuple[int, Place] | None = None
    _prompt: Prompt | None = None
    _found: DivergenceFound | None = None
    _beyond: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        held = self.held
        self.answers = cast(Answers, Answers.of(held.bundle, held.task, held.attempt))
        self.outputs = Outputs(held)
        self.border = Border(held, self)
        self.telling = Telling(held, self.sink)
        self.feed = Feed(held, self.asked.reader)
        if self.asked.at is not None:
            self._at = place_meant(self.asked.at, list(self._all_places()))
        if self.asked.debugger:
            self._prompt = Prompt(self.answers)

    def _all_places(self) -> Iterator[tuple[int, Place]]:
        for epoch in self.held.epochs:
            for run in self.answers.runs(epoch):
                yield from ((epoch, place) for place in self.answers.places(self.held, run))

    def _is_wanted(self, fed: Fed) -> bool:
        return self._at is not None and (self.answers.position[0], fed.place) == self._at

    # --- to a verdict ---

    def run(self) -> Outcome:
        """Raises `ReplayError` where the function can't be loaded, and whatever the interpreter ends with."""
        try:
            with self._at_work():
                self._begin()
                for epoch in self.held.epochs:
                    self._run_epoch(epoch)
        except Failed:
            pass
        except Stopped:
            return broken_off(self, f"Stopped before record {self.stopped}, as was asked")
        except Left:
            return broken_off(self, "Left at the debugger's prompt")
        except (DivergenceFound, Missing, Diverged, Halted) as raised:
            found = self._found or raised.found if isinstance(raised, Halted) else raised
            if self._prompt is not None and found is not self._found:
                self._prompt.looking_back(raised)
            return parted(self, found if self.answers.refused is None else self.answers.refused)
        return ended(self)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """With interception where the recording was made so, and the network closed."""
        with ExitStack() as stack:
            task = stack.enter_context(standing_in(self.held.task, self._given, self.feed.doubt))
            task.border = self.border
            stack.enter_context(closed(self.answers.refuse, self.beside))
            hooks = len(services.epoch_hooks)
            self.application = self._loaded(task)
            stack.callback(self.application.close)
            if self.answers.is_intercepted and len(services.epoch_hooks) == hooks:
                stack.enter_context(intercepting(*self.asked.only))
            self.answers.took, self.answers.writes = self._took, self._wrote
            yield

    def _loaded(self, task: StandInTask) -> Application:
        return Application(self.asked.app, load(self.asked.app), task)

    def _begin(self) -> None:
        first = self.held.epochs[0]
        state = self.held.state(first) if self.application.has_state else None
        if self.application.has_state and state is None and first:
            raise Missing(
                f"{self.application.name} begins with a state, and the recording holds none of checkpoint {first}, "
                "from which this attempt began: record it with task.state, or keep more epochs.",
                checkpoint=first,
            )
        if state is not None:
            self.application.call("restore", state)
        self.telling.begin(self.application, state)
        if state is not None and type(self.sink) is not NoSteps:
            self.telling.state(self.application.call("snapshot"))

    def _run_epoch(self, epoch: int) -> None:
        places = [place for run in self.answers.runs(epoch) for place in self.answers.places(self.held, run)]
        self.feed.begin(epoch, places)
        self.outputs.begin(epoch)
        self.border.begin(epoch)
        self.telling.epoch(epoch)
        try:
            with self.answers.epoch(epoch):
                self._guarded(lambda: self.application.call("begin_epoch", epoch))
                self._give_all(epoch) if self.application.takes_all else self._give_each(epoch)
                self._guarded(lambda: self.application.call("end_epoch", epoch))
                self._look_back()
        except EndOfRecording:
            if epoch in self.held.ended or epoch != self.held.epochs[-1] or self.held.raised is not None:
                raise
            self.answers.refused = None
            self.broken_off = True
        self._end()
        if epoch in self.held.ended:
            self._compare_state(epoch + 1)

    def _end(self) -> None:
        """Nothing that was given in the epoch may be left."""
        self.outputs.end()
        self.border.end()

    def _coming(self) -> Iterator[Fed]:
        """Record by record, as they were taken; after each what it came to is looked at."""
        while places := self.answers.take_run(self.held):
            for place in places:
                self.fed = self.feed.next(place)
                self.telling.record(self.fed)
                self.records += 1
                yield self.fed
                self._look_back()

    def _give_each(self, epoch: int) -> None:
        for fed in self._coming():
            try:
                self._give(fed, epoch)
            finally:
                if type(self.sink) is not NoSteps:
                    self.telling.state(self.application.call("snapshot"))
        if self.fed is not None:
            self.answers.must_be_used_up(f"the function, done with record {self.fed.place},")

    def _give(self, fed: Fed, epoch: int) -> None:
        def give() -> None:
            self._drain(self._as_taken(fed), epoch)

        prompt = self._prompt
        if not self._is_wanted(fed):
            self._guarded(give)
        elif prompt is None:
            raise self._stop(fed)
        else:
            self._at = None
            self._guarded(lambda: prompt.stepping_into(give))

    def _give_all(self, epoch: int) -> None:
        def records() -> Iterator[Any]:
            for fed in self._coming():
                if self._is_wanted(fed):
                    if self._prompt is None:
                        raise self._stop(fed)
                    self._at = None
                    self._prompt.set_trace(sys._getframe(1))
                yield self._as_taken(fed)

        self._guarded(lambda: self._drain(records(), epoch))

    def _as_taken(self, fed: Fed) -> Any:
        return Message(fed.place, fed.record) if self.application.takes_messages else fed.record

    def _stop(self, fed: Fed) -> Stopped:
        self.stopped = fed.place
        return Stopped()

    def _drain(self, record: Any, epoch: int) -> None:
        """Calls the function, and holds what it gives against the recording."""
        made = self.application.given(record, epoch)
        for one in made:
            self._given(one, None, getattr(made, "gi_frame", None))

    def _given(self, record: Any, id: str | None, frame: FrameType | None) -> None:  # noqa: A002
        """Into the job's frames nothing is raised from here, where it might be caught: `_look_back` raises."""
        if self._found is not None:
            return
        where = "" if self.fed is None else str(self.fed.place)
        try:
            is_held = self.outputs.give(record, id, where, frame)
        except DivergenceFound as found:
            self._found = found
            if self._prompt is not None:
                self._prompt.looking_at(frame)
            return
        if not is_held and self._beyond is None:
            self._beyond = self.answers.position
        self.telling.output(record, is_held=is_held)

    # --- what is told of what passes between an engine and the function ---

    @property
    def record_place(self) -> str:
        """Of the record in hand."""
        return "" if self.fed is None else str(self.fed.place)

    @property
    def outputs_given(self) -> int:
        """Over the attempt."""
        return self.outputs.given

    def result(self, shown: Any, *, is_held: bool) -> None:
        """The function gave something to its engine."""
        if not is_held and self._beyond is None:
            self._beyond = self.answers.position
        self.telling.output(shown, is_held=is_held)

    def differs(self, found: DivergenceFound, frame: FrameType | None) -> None:
        """It gave something else than the recording has."""
        self._found = self._found or found
        if self._prompt is not None:
            self._prompt.looking_at(frame)

    def ends(self, found: EndOfRecording) -> None:
        """As where the log of answers ends."""
        self.answers.refused = self.answers.refused or found

    def _wrote(self, call: Call, frame: FrameType) -> None:
        if not self.answers.at_prompt:
            self.border.wrote(call, frame)

    def _took(self, epoch: int, number: int, determinant: Any, site: Any) -> None:
        self.asked_for += site is not None
        self.telling.took(epoch, number, determinant, site)

    def _guarded(self, action: Callable[[], Any]) -> None:
        """What the function raises ends the attempt: as it was recorded, or otherwise."""
        try:
            action()
        except Exception as fault:
            self._look_back()
            self.failed = self._failed_of(fault)
            if not self._is_as_recorded():
                raise self._raised(fault) from fault
            self._end()
            raise Failed from fault

    def _look_back(self) -> None:
        """What was found meanwhile, also where the job caught it and went on."""
        if self._prompt is not None and self._prompt.has_left:
            raise Left
        if self.answers.refused is not None:
            raise self.answers.refused
        if self._found is not None:
            raise self._found
        if self._beyond is not None and self._beyond != self.answers.position:
            raise DivergenceFound("An output was given that the recording does not hold, and the recording goes on.")

    def _failed_of(self, fault: Exception) -> str:
        """As the recording names it, also where a replay may not make that very exception."""
        if isinstance(fault, RecordedFault):
            name = str(self.held.raised).partition(": ")[0]
            if self.held.raised == f"{name}: {fault.message}" and fault.type.endswith(f".{name}"):
                return str(self.held.raised)
        return f"{type(fault).__qualname__}: {fault}"

    def _is_as_recorded(self) -> bool:
        """Raised where the recording ends, by the same, or where it does not say by what."""
        if not self.answers.at_the_end or self.held.failed is None:
            return False
        return self.held.raised is None or self.held.raised == self.failed

    def _raised(self, fault: Exception) -> DivergenceFound:
        where = "" if self.fed is None else f" at record {self.fed.place}"
        goes = "goes on" if not self.answers.at_the_end or self.held.raised is None else ""
        return DivergenceFound(
            f"The function raises {printable(str(self.failed))}{where}, and the recording "
            f"{goes or f'ends with {printable(str(self.held.raised))}'}.",
            asked=self.failed,
            logged=self.held.raised if not goes else None,
            line=raised_at(fault),
        )

    def _compare_state(self, checkpoint: int) -> None:
        """At the end of an epoch, where both have one."""
        made = self.application.call("snapshot")
        self.telling.snapshot(checkpoint, made)
        logged = self.held.bundle.state(self.held.task, self.held.attempt, checkpoint)
        if made is None or logged is None:
            return
        found = verdict_of(logged.get("operator"), made)
        self.states += found == "same"
        self.outputs.unverified += found == "redacted"
        if found == "other":
            raise DivergenceFound(
                f"The state at checkpoint {checkpoint} is another than the recording holds.",
                member=member_name(self.held.task, self.held.attempt, "state", checkpoint),
                asked=json_bytes(to_json(made)).decode(),
                logged=json_bytes(logged.get("operator")).decode(),
            )
