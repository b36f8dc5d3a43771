"""Definitions 5 to 8 on what a recording's consumers were given: by the run that was, else by searching all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.formal.modelled_task import NotModelled
from replay.guarantees.formal.obtaining import Obtained, along_the_recorded_run
from replay.guarantees.formal.outputs import Output
from replay.guarantees.formal.recorded_job import RecordedJob, model_of
from replay.guarantees.formal.searching import Search


@dataclass(slots=True)
class Definitions:
    """`decided`: by the definition's number; 6 stands for 5 too. `wants`: what is missing where nothing is."""

    decided: dict[str, Obtained] = field(default_factory=dict)
    why: str = ""
    wants: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether definition 6 does."""
        return self.decided["6"].holds if "6" in self.decided else None

    @property
    def how(self) -> str:
        """How that was decided."""
        return self.decided["6"].how if "6" in self.decided else ""

    @property
    def against(self) -> Output | None:
        """The first output that refutes it."""
        return self.decided["6"].against if "6" in self.decided else None

    def to_json(self) -> dict[str, Any]:
        """As among the numbers of a section."""
        return {
            "decided": {
                name: {
                    "holds": one.holds,
                    "how": one.how,
                    "tried": one.tried,
                    "against": None if one.against is None else one.against.evidence,
                }
                for name, one in self.decided.items()
            },
            "why_not": self.why,
        }


def definitions(source: RecordingSource) -> Definitions:
    """Where what is needed is missing, nothing is decided and that is named."""
    found = Definitions()
    try:
        job = model_of(source)
        if not job.given:
            raise NotModelled("no output is recorded", "sink/*.ndjson")
        found.decided["6"] = along_the_recorded_run(job)
        if not found.holds:
            _search(source, job, found)
    except NotModelled as fault:
        found.decided.clear()
        found.why, found.wants = fault.why, fault.wants
    except DivergenceFound as fault_found:
        found.why, found.wants = fault_found.sentence, "the member that is named"
    except ReplayError as fault:
        found.why, found.wants = str(fault), printable(fault.path or "a member")
    return found


def _search(source: RecordingSource, job: RecordedJob, found: Definitions) -> None:
    """What is not all recorded refutes nothing: what is missing might have given it."""
    whole = _is_whole(source)
    found.decided["6"] = _careful(Search(job).run(), whole=whole)
    if not found.holds:
        found.decided["7"] = _careful(Search(job, loses=True).run(), whole=whole)
        found.decided["8"] = _careful(Search(job, repeats=True).run(), whole=whole)


def _careful(one: Obtained, *, whole: bool) -> Obtained:
    if one.holds is False and not whole:
        return Obtained(None, "not all is recorded, or several clocks tell the order", one.tried, one.against)
    return one


def _is_whole(source: RecordingSource) -> bool:
    manifest = source.manifest
    if not manifest.complete or manifest.clock.kind != "virtual" or manifest.protocol.observed:
        return False
    return not any(event.get("type") == "gap" for event in source.events())
