"""The audit of a recording: its sections, asked one after the other, and the one report that they make.

A section that can't read what it needs says so in its own place, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, WrongSetting, check, printable
from replay.guarantees.claims import Section
from replay.guarantees.coverage import coverage
from replay.guarantees.cuts import consistent_cuts
from replay.guarantees.expecting import (
    DELIVERY,
    EXACTLY,
    OUTSIDE,
    PROCESSING,
    QUESTIONS,
    RECOVERY,
    UNDECIDED,
    Expectation,
    expectation,
)
from replay.guarantees.formal import formal
from replay.guarantees.in_one_sentence import together, verdict_sentence
from replay.guarantees.ledger import delivery, ledger, processing
from replay.guarantees.recoverability import recoverability
from replay.guarantees.recovery_time import recovery_time
from replay.guarantees.recovery_types import recovery_types

VERSION = 4
"""Counts up where sections come, or may decide otherwise: what an earlier one said is to be asked again."""


@dataclass(frozen=True, slots=True)
class Part:
    """A section that can be asked for. `reads` says what it costs: what it goes through of the recording."""

    title: str
    reads: str
    make: Callable[[RecordingSource], Section]


PARTS: dict[str, Part] = {
    PROCESSING: Part("Processing", "events, receipts, buffers; logs are executed again", processing),
    DELIVERY: Part("Delivery", "the same, and sinks", delivery),
    "ledger": Part("Buffers", "buffers, sendings and receipts", ledger),
    "recoverability": Part("Recoverability", "events, receipts, buffers, deltas and logs, once", recoverability),
    RECOVERY: Part(
        "Recovery types", "what the attempts after each failure did, against what was before", recovery_types
    ),
    "cuts": Part("Consistent cuts", "all frames, once", consistent_cuts),
    "formal": Part("Formal model", "events, logs, buffers and what was taken, with operators executed", formal),
    "coverage": Part("Coverage", "every attempt, executed again as far as a budget of bytes goes", coverage),
    "recovery-time": Part("Recovery time", "events and snapshots", recovery_time),
}
"""All sections, by name, in the order of the report."""


class Progress(Protocol):
    """Told before each section: its name, how many are done, and of how many."""

    def __call__(self, name: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit says. `recording` tells what was audited."""

    recording: dict[str, Any]
    sections: tuple[Section, ...]
    expected: Expectation | None = None
    left_out: tuple[str, ...] = field(default=())
    """Sections that were not asked for."""

    def section(self, name: str) -> Section | None:
        """None where it was not asked for."""
        return next((one for one in self.sections if one.name == name), None)

    @property
    def verdicts(self) -> dict[str, str | None]:
        """Of processing and of delivery; None where that was not asked for. What the outside holds decides delivery:
        where it was looked at and does not tell, no word of the job makes delivery good."""
        found = {question: one.verdict if (one := self.section(question)) else None for question in QUESTIONS}
        outside = self.section(OUTSIDE)
        if outside is not None and (self.outside_decides or found[DELIVERY] in (None, EXACTLY)):
            found[DELIVERY] = outside.verdict
        return found

    @property
    def outside_decides(self) -> bool:
        """Whether the outside was looked at, and told."""
        outside = self.section(OUTSIDE)
        return outside is not None and outside.verdict != UNDECIDED

    @property
    def outside_is_silent(self) -> bool:
        """Whether the outside was looked at, and did not tell."""
        return self.section(OUTSIDE) is not None and not self.outside_decides

    @property
    def unmet(self) -> list[str]:
        """What does not meet the expectation. Without one, which of both questions is not answered well; where neither
        was asked, which sections say that something is not good."""
        if self.expected is not None:
            recovery = self.section(RECOVERY)
            told = self.verdicts | {RECOVERY: recovery.verdict if recovery else None}
            return self.expected.unmet(told | ({DELIVERY: UNDECIDED} if self.outside_is_silent else {}))
        asked = [one for one in self.sections if one.name in (*QUESTIONS, OUTSIDE)]
        if not asked:
            return [one.name for one in self.sections if one.good is False]
        return [one.name for one in asked if not one.good and not (one.name == DELIVERY and self.outside_decides)]

    @property
    def good(self) -> bool:
        """Whether nobody need look at it."""
        return not self.unmet

    def to_json(self) -> dict[str, Any]:
        """The verdict first, then what proves it, then what can't be decided."""
        verdicts = self.verdicts
        return {
            "verdict": together(verdicts.values()),
            "sentence": verdict_sentence(verdicts, list(self._for_the_sentence())),
            **verdicts,
            "good": self.good,
            "expected": None if self.expected is None else str(self.expected),
            "unmet": self.unmet,
            "version": VERSION,
            "recording": self.recording,
            "sections": [one.to_json() for one in self.sections],
            "undecided": list(self._undecided()),
            "left_out": list(self.left_out),
        }

    def _for_the_sentence(self) -> Iterable[Section]:
        """Examples are taken from what decided."""
        for section in self.sections:
            if section.name != DELIVERY or not self.outside_decides:
                is_it = section.name == OUTSIDE and self.outside_decides
                yield replace(section, name=DELIVERY) if is_it else section

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Report:
        """What `to_json` made."""
        expected = None if told["expected"] is None else expectation(told["expected"])
        sections = tuple(Section.from_json(one) for one in told["sections"])
        return cls(told["recording"], sections, expected, tuple(told["left_out"]))

    def narrowed(self, only: Sequence[str] | None, expect: str | None, beside: Sequence[Section] = ()) -> Report:
        """The same, of the sections that are asked for and of what was asked besides, held against what is expected."""
        names, expected = checked(only, expect, [one.name for one in beside])
        made = {one.name: one for one in (*self.sections, *beside)}
        return Report(
            self.recording,
            tuple(made[name] for name in names if name in made),
            expected,
            tuple(name for name in PARTS if name not in names),
        )

    def _undecided(self) -> Iterable[dict[str, str]]:
        for section in self.sections:
            for lack in section.lacks:
                yield {
                    "section": section.name,
                    "about": lack.about,
                    "sentence": lack.sentence,
                    "wants": lack.wants,
                }


class Audit:
    """An audit that goes on section by section, so that what was found stays where it must end before its end.

    `beside` is what is asked besides, by name; `instead` asks the same in another way. Raises `WrongSetting` where what
    is asked for can't be meant so.
    """

    def __init__(
        self,
        source: RecordingSource,
        only: Sequence[str] | None = None,
        expect: str | None = None,
        beside: Mapping[str, Part] | None = None,
        instead: Mapping[str, Part] | None = None,
    ):
        self._source = source
        self._names, self._expected = checked(only, expect, tuple(beside or ()))
        self._parts = PARTS | dict(beside or {}) | dict(instead or {})
        self._made: list[Section] = []

    def run(self, progress: Progress = lambda name, done, total: None) -> None:
        """All that is left to ask."""
        while len(self._made) < len(self._names):
            name = self._names[len(self._made)]
            progress(name, len(self._made), len(self._names))
            self._made.append(_made(self._source, name, self._parts[name]))

    def give_up(self, why: str, wants: str) -> None:
        """What was not answered can't be decided, for this reason."""
        for name in self._names[len(self._made) :]:
            self._made.append(_undecided(name, self._parts[name], "the audit ended before it", why, wants))

    def report(self) -> Report:
        """Of what was asked so far."""
        left_out = tuple(one for one in PARTS if one not in self._names)
        return Report(_recording(self._source), tuple(self._made), self._expected, left_out)


def audit(
    source: RecordingSource,
    only: Sequence[str] | None = None,
    expect: str | None = None,
    progress: Progress = lambda name, done, total: None,
    beside: Mapping[str, Part] | None = None,
) -> Report:
    """Asks all sections, or those named by `only`. Raises `WrongSetting` where what is asked for can't be meant so."""
    asked = Audit(source, only, expect, beside)
    asked.run(progress)
    return asked.report()


def checked(
    only: Sequence[str] | None, expect: str | None, beside: Sequence[str] = ()
) -> tuple[list[str], Expectation | None]:
    """The sections that are asked for, in the order of the report, and what is expected of them."""
    known = list(dict.fromkeys([*PARTS, *beside]))
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise WrongSetting(f"an audit has no section “{printable(unknown[0])}”", remedy=f"It has {', '.join(known)}")
    names = [name for name in known if not only or name in only or name in beside]
    if expect is None:
        return names, None
    found = expectation(expect)
    answers = {*names, DELIVERY} if OUTSIDE in names else set(names)
    missing = [question for question, _ in found.words if question not in answers]
    if missing:
        raise WrongSetting(f"{missing[0]} is expected to hold, and is left out", remedy="Ask for that section too")
    return names, found


def _made(source: RecordingSource, name: str, part: Part) -> Section:
    """A fault of the recording is what can't be decided; a fault of the program is none of the recording's."""
    try:
        section = part.make(source)
    except WrongSetting:
        raise
    except ReplayError as fault:
        wants = printable(fault.path) if fault.path else "a recording that can be read"
        return _undecided(name, part, "what this needs can't be read", str(fault), wants)
    check(section.name == name, f"the section {name} calls itself {section.name}")
    return section


def _undecided(name: str, part: Part, short: str, why: str, wants: str) -> Section:
    section = Section(name, part.title, UNDECIDED, f"Undecided: {short}.")
    section.lack("job", why, wants)
    return section


def _recording(source: RecordingSource) -> dict[str, Any]:
    manifest = source.manifest
    return {
        "job": printable(manifest.job.name),
        "recorder": printable(manifest.job.recorder),
        "recorded_at": printable(manifest.job.recorded_at),
        "protocol": printable(manifest.protocol.name),
        "tasks": len(manifest.tasks),
        "complete": manifest.complete,
    }
