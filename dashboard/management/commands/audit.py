"""`audit JOB`: what a stored job or a bundle at a path guarantees, with proof; the exit status is the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import auditing, payloads, replaying
from dashboard.management.base import GOOD, NOT_GOOD, Failure, Outcome, WrongUse
from dashboard.management.base import Command as Base
from dashboard.models import Job
from dashboard.opening import open_folder
from replay.debugger.ports import RecordingSource
from replay.errors import WrongSetting, printable
from replay.guarantees.audit import Part
from replay.guarantees.claims import Section
from replay.guarantees.expecting import OUTSIDE
from replay.guarantees.outside import TITLE, How, outside
from replay.guarantees.recoverability.failing import NAME as FAILING
from replay.guarantees.recoverability.failing import failing_of, failing_section
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recovery_time import recovery_time
from replay.guarantees.reporting.documents import write

RECOVERY_TIME = "recovery-time"
MOST_TARGET_MS = 1e12
DOCUMENTS = {"junit": "JUnit XML", "html": "a page that stands alone", "markdown": "Markdown, for a post-mortem"}


class Command(Base):
    help = "Audits JOB (an id or a bundle's path): was everything processed and delivered once, and what proves it?"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB", help="a job's id, or a bundle's path")
        parser.add_argument(
            "--expect",
            metavar="GUARANTEE",
            help="end with status 3 unless this is proven: exactly-once, at-least-once, at-most-once, of one question "
            "as delivery=exactly-once, or precise",
        )
        parser.add_argument(
            "--only", metavar="SECTION", action="append", default=[], help="ask for this section alone; repeatable"
        )
        for name, what in DOCUMENTS.items():
            parser.add_argument(f"--{name}", metavar="F", type=Path, help=f"write the report as {what}")
        parser.add_argument(
            "--failing",
            metavar="SET",
            help="whom it would have orphaned, had join.0,map.1@2000 failed at that ms; host:host-1@2000 of hosts",
        )
        parser.add_argument(
            "--target-ms", metavar="MS", type=float, help="which checkpoint interval keeps recoveries to so long"
        )
        parser.add_argument("--outside", metavar="URL", help="look at what the sink really holds, as sqlite:F?table=T")
        parser.add_argument("--key", metavar="K", help="of its rows: the column or path that names a source's record")
        parser.add_argument("--source-key", metavar="K", help="of the sources' records: the same; default the key")
        parser.add_argument("--sources", metavar="URL", help="a dump of what references of the recording stand for")
        parser.add_argument("--per-record", metavar="N", help="rows of a record: 1, the default, 3, 0-1, 1- or any")
        parser.add_argument("--part", metavar="K", help="of its rows: what tells those of one record apart")
        parser.add_argument(
            "--source", metavar="VERTEX", action="append", default=[], help="whose records count; repeatable"
        )

    def run(self, **options: Any) -> Outcome:
        _check_files(options)
        try:
            wanted = auditing.Wanted(tuple(options["only"]), options["expect"], _beside(options))
            wanted.check()
            report = self._report(options["job"], wanted)
        except WrongSetting as wrong:
            raise WrongUse(str(wrong)) from None
        for name in DOCUMENTS:
            if options[name] is not None:
                write(options[name], report, name)
        return Outcome(auditing.in_lines(options["job"], report), report, GOOD if report["good"] else NOT_GOOD)

    def _report(self, target: str, wanted: auditing.Wanted) -> dict[str, Any]:
        if not replaying.is_job_id(target):
            if not target or not Path(target).exists():
                raise Failure(f"{printable(target) or 'An empty name'} is neither a job's id nor a path that exists.")
            return auditing.audit_path(Path(target), wanted)
        open_folder()
        job = Job.objects.filter(id=target).first()
        if job is None:
            raise Failure(f"There is no job {target} in this data folder; a path is forced by ./{target}.")
        payloads.note_command(job.id, "audit")
        return auditing.audit_job(job, wanted, self.stderr.write)


def _check_files(options: dict[str, Any]) -> None:
    """Before anything is asked: an audit may take long, and its documents are written in the end."""
    for name in DOCUMENTS:
        path = options[name]
        if path is not None and (not path.name or path.is_dir()):
            raise WrongUse(f"--{name}: {printable(str(path))} is a folder. Name a file.")
        if path is not None and not path.parent.is_dir():
            raise WrongUse(f"--{name}: there is no folder {printable(str(path.parent))}. Make it first.")


def _beside(options: dict[str, Any]) -> dict[str, Part]:
    """What is asked besides: a set of failures, a time to recover in, what the outside holds."""
    found: dict[str, Part] = {}
    if options["failing"] is not None:
        found[FAILING] = _failing(options["failing"])
    if options["target_ms"] is not None:
        found[RECOVERY_TIME] = _recovery_time(options["target_ms"])
    return found | _outside(options)


def _failing(text: str) -> Part:
    failing = failing_of(text)
    return Part(
        "What if these fail", "the same as recoverability", lambda s: failing_section(BundleCausality(s), failing)
    )


def _recovery_time(target_ms: float) -> Part:
    if not 0 < target_ms < MOST_TARGET_MS:
        raise WrongUse("--target-ms is a number of milliseconds above 0.")
    return Part("Recovery time", "events and snapshots", lambda s: recovery_time(s, target_ms))


def _outside(options: dict[str, Any]) -> dict[str, Part]:
    """Where somebody says where it is."""
    fields = ("key", "source_key", "per_record", "part")
    if options["outside"] is None:
        if any(options[name] is not None for name in (*fields, "sources")) or options["source"]:
            raise WrongUse("--key, --source-key, --sources, --per-record, --part and --source need --outside.")
        return {}
    from ingest.lake.outside import open_outside

    how = How.parse(**{name: options[name] for name in fields}, source=tuple(options["source"]))
    rows = open_outside(options["outside"])
    topics = None if options["sources"] is None else open_outside(options["sources"])

    def looked_at(source: RecordingSource) -> Section:
        return outside(source, rows, how, topics)

    return {OUTSIDE: Part(TITLE, "records of sources, and what the sink holds", looked_at)}
