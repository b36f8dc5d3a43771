"""Auditing from the command line: of a bundle's path in this process, of a stored job as ordinary work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard import audits, bundles, jobs
from dashboard.models import Job, Status
from dashboard.models.status import PENDING
from dashboard.work.watch import until_ended
from replay.bundle.reader import open_bundle
from replay.errors import printable
from replay.guarantees.audit import Part, Report, audit, checked
from replay.guarantees.claims import Section
from replay.guarantees.reporting.words import label

LINES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sections, and what is expected; where nothing is named, all sections. `beside` are those that a command
    alone may ask for."""

    only: tuple[str, ...] = ()
    expect: str | None = None
    beside: Mapping[str, Part] = field(default_factory=dict)

    def check(self) -> None:
        """Raises `WrongSetting`, before anything is read."""
        checked(self.only, self.expect, tuple(self.beside))


def audit_path(path: Path, wanted: Wanted) -> dict[str, Any]:
    """Reads nothing but the bundle and writes nothing."""
    with open_bundle(path) as bundle:
        return audit(bundle, wanted.only, wanted.expect, beside=wanted.beside).to_json()


def audit_job(job: Job, wanted: Wanted, say: Callable[[str], object]) -> dict[str, Any]:
    """As work, so that its page shows it; where this version audited it before, what that found."""
    jobs.reingest_if_older(job)
    if job.status in PENDING:
        until_ended(job, command=f"audit {job.id}", say=say)
    audit = audits.of(job)
    again = audit is None or audit.pending or audits.is_outdated(audit) or audit.behind
    told = None if again else audits.whole_report(audit)
    if told is None:
        audit = audit if audit is not None and audit.pending else audits.start(job.owner, job)
        until_ended(audit, command=f"audit {job.id}", say=say)
        if audit.status != Status.READY:
            raise jobs.Refused(f"The audit is {audit.status}. {audit.message}")
        told = audits.whole_report(audit)
    if told is None:
        raise jobs.Refused("The audit's report is gone already; ask again.")
    return Report.from_json(told).narrowed(wanted.only, wanted.expect, _beside(job, wanted)).to_json()


def _beside(job: Job, wanted: Wanted) -> tuple[Section, ...]:
    """What a command alone may ask for is asked here, and kept nowhere."""
    if not wanted.beside:
        return ()
    with bundles.bundle(job.id) as path, open_bundle(path) as bundle:
        return audit(bundle, list(wanted.beside), beside=wanted.beside).sections


def in_lines(target: str, report: dict[str, Any]) -> str:
    """As a terminal shows it: the verdict, a line for each section, and what would decide what is open."""
    return "\n".join(_lines(target, report))


def _lines(target: str, report: dict[str, Any]) -> Iterator[str]:
    yield f"{printable(target, len(target))}: {report['sentence']}"
    if report["expected"]:
        met = "met" if report["good"] else f"not met by {' and '.join(report['unmet'])}"
        yield f"Expected {report['expected']}: {met}."
    for section in report["sections"]:
        said, verdict = section["sentence"], section["verdict"]
        told = said if said.lower().startswith(verdict.lower()) else f"{verdict}. {said}"
        yield f"  {label(section)}: {told}"
        for claim in section["claims"][:LINES_SHOWN] if section["good"] is False else ():
            proof = f" [{claim['evidence'][0]}]" if claim["evidence"] else ""
            yield f"    {claim['about']}: {claim['sentence']}{proof}"
    for one in report["undecided"][:LINES_SHOWN]:
        yield f"  Not decided ({one['section']}): {one['sentence']} It would take: {one['wants']}."
    if len(report["undecided"]) > LINES_SHOWN:
        yield f"  {len(report['undecided']) - LINES_SHOWN:,} more could not be decided; the documents list them."
