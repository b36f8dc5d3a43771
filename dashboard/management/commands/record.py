"""`record JOB --out PATH`: runs a sample job in virtual time and writes its recording; needs no data folder."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard.management.base import Command as Base
from dashboard.management.base import Outcome, WrongUse
from replay import live
from replay.jobs.options import RecordOptions, WrongOption, parse_sharing_depth
from replay.jobs.record import JOBS, record
from replay.protocols import PROTOCOLS

NUMBERS = ("seed", "events", "parallelism", "depth", "checkpoint_interval_ms", "standby")
WORDS = ("spill", "sink", "time", "on_lost", "protocol", "delta_layout")


class Command(Base):
    help = "Records a sample job, with the failures asked for. The same command line gives the same bundle."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB", nargs="?", help="a job that --list names")
        parser.add_argument("--out", metavar="PATH", type=Path, help="container by suffix; none is a folder")
        parser.add_argument("--list", action="store_true", help="name the jobs that can be recorded")
        default = RecordOptions()
        for name in NUMBERS:
            parser.add_argument(_option(name), type=int, metavar="N", default=getattr(default, name))
        for name in WORDS:
            parser.add_argument(_option(name), metavar="WORD", default=getattr(default, name))
        parser.add_argument("--sharing-depth", metavar="0|1|…|full", default="full")
        parser.add_argument("--kill", action="append", default=[], metavar="TASK@MS[+TASK@MS]", help="repeatable")
        parser.add_argument("--kill-in", action="append", default=[], metavar="TASK:STATE", help="repeatable")
        parser.add_argument("--end-with-parent", action="store_true", help=argparse.SUPPRESS)

    def run(self, **options: Any) -> Outcome:
        if options["list"]:
            return Outcome("\n".join(f"{name}: {what}" for name, what in JOBS.items()), {"jobs": list(JOBS)})
        if not options["job"] or options["out"] is None:
            raise WrongUse("Say which JOB to record and where with --out PATH; --list names the jobs.")
        if options["end_with_parent"]:
            threading.Thread(target=_end_with_parent, daemon=True).start()
        _end_cleanly()
        try:
            summary = record(_options(options), options["out"], protocols=PROTOCOLS, recorded_at=live.recorded_at())
        except WrongOption as error:
            raise WrongUse(str(error)) from error
        return Outcome(_text(summary), summary)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _options(given: dict[str, Any]) -> RecordOptions:
    return RecordOptions(
        job=given["job"],
        sharing_depth=parse_sharing_depth(given["sharing_depth"]),
        kills=tuple(given["kill"]),
        kills_in=tuple(given["kill_in"]),
        **{name: given[name] for name in (*NUMBERS, *WORDS)},
    )


def _text(summary: dict[str, Any]) -> str:
    failures = summary.get("failures", [])
    told = f"Recorded {summary['job']} into {summary['out']}: {summary['records']} records, {len(failures)} failures."
    never = summary.get("kills_not_made", [])
    return told + (f" Not killed, since never in that state: {', '.join(never)}." if never else "")


def _end_cleanly() -> None:
    """SIGTERM ends a recording as Ctrl-C does: what is half written is removed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock this thread would hold when the process ends well.
    while os.read(0, 1):
        pass
    os._exit(1)
