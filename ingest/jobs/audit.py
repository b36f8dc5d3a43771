"""An audit in a child process: the request on standard input, progress and the verdicts on standard output; the report,
which may be large, goes into a file."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.jobs.answering import answer_telling
from ingest.jobs.lifeline import Command, Teller
from ingest.jobs.limits import LimitReached, limit_behind, use_reserve
from ingest.lake.readers import open_lake
from ingest.replay_limits import ReplayLimits
from replay.bundle.reader import open_bundle
from replay.debugger.ports import RecordingSource
from replay.guarantees.audit import PARTS, Audit, Part, Report
from replay.guarantees.claims import Section

NICE = 5
"""Pages and replays, which somebody waits for, come first."""
_WANTS = "a higher limit, or the command `audit` on the bundle, which has none"

log = logging.getLogger("ingest.audit")


def run(request: Command, tell: Teller) -> dict[str, Any]:
    """Writes the report; gives what is shown of it everywhere."""
    os.nice(NICE)
    with open_bundle(request["pack"]) as bundle:
        report = _as_far_as_it_goes(
            Audit(bundle, instead=_from_tables(request)), ReplayLimits(**request["limits"]), tell
        )
    told = report.to_json()
    Path(request["out"]).write_text(json.dumps(told, separators=(",", ":")), encoding="utf-8")
    return {name: told[name] for name in ("verdict", "processing", "delivery", "good", "version")}


def _from_tables(request: Command) -> dict[str, Part]:
    """Of a stored job: what its tables answer faster than its recording, which is asked where they can't be."""
    if "job" not in request:
        return {}
    plain = PARTS["recoverability"]

    def make(source: RecordingSource) -> Section:
        from ingest.lake.recoverability.of_lake import recoverability_of_stored  # compiled code, for these alone

        try:
            return recoverability_of_stored(source, open_lake(request["data"]).job(request["job"]))
        except IngestError as fault:
            log.warning("the tables of %s could not be asked: %s", request["job"], fault)
            return plain.make(source)

    return {"recoverability": replace(plain, make=make)}


def _as_far_as_it_goes(audit: Audit, limits: ReplayLimits, tell: Teller) -> Report:
    """What was decided before a limit was reached stands."""
    try:
        audit.run(lambda name, done, total: tell(name.replace("-", " "), done, total, "questions"))
    except (LimitReached, MemoryError, OSError) as fault:
        which = limit_behind(fault)
        if which is None:
            raise
        use_reserve()
        log.warning("the audit reached its limit of %s", which)
        audit.give_up(f"{limits.reached(which, 'The audit')}.", _WANTS)
    return audit.report()


def main() -> int:
    return answer_telling("the audit", run, remedy="The command audit on a bundle has no such limit.")


if __name__ == "__main__":
    sys.exit(main())
