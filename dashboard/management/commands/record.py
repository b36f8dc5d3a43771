"""`record JOB --out PATH`: runs a sample job in virtual time and writes its recording; needs no data folder."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard.management.base import Command as Base
from dashboard.management.base import Outcome, WrongUse
from dashboard.management.progress import Bar
from dashboard.management.recorded import recorded_words
from replay import live
from replay.errors import WrongSetting
from replay.jobs.catalogue import JOBS
from replay.jobs.option_fields import flag_of, option_of
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

CLEANING_S = 20
"""How long a recording whose parent died may take to remove what is half written."""


class Command(Base):
    help = "Records a sample job, with the failures asked for. The same command line gives the same bundle."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB", nargs="?", help="a job that --list names")
        parser.add_argument("--out", metavar="PATH", type=Path, help="container by suffix; none is a folder")
        parser.add_argument("--list", action="store_true", help="name the jobs that can be recorded")
        for one in fields(RecordOptions):
            option = option_of(one)
            if option is not None:
                parser.add_argument(
                    flag_of(one), dest=one.name, metavar=option.metavar, help=option.what, **option.arguments
                )
        parser.add_argument("--end-with-parent", action="store_true", help=argparse.SUPPRESS)

    def run(self, **options: Any) -> Outcome:
        if options["list"]:
            listed = {"jobs": list(JOBS), "descriptions": {one.name: one.description for one in JOBS.values()}}
            return Outcome("\n".join(f"{one.name}: {one.description}" for one in JOBS.values()), listed)
        if not options["job"] or options["out"] is None:
            raise WrongUse("Say which JOB to record and where with --out PATH; --list names the jobs.")
        _end_cleanly()
        if options["end_with_parent"]:
            threading.Thread(target=_end_with_parent, daemon=True).start()
        live.collect_garbage_rarely()
        try:
            with Bar("records") as bar:
                summary = record(
                    _options(options), options["out"], bar, protocols=PROTOCOLS, recorded_at=live.recorded_at()
                )
        except WrongSetting as error:
            raise WrongUse(str(error)) from error
        return Outcome(recorded_words(summary), summary)


def _options(given: dict[str, Any]) -> RecordOptions:
    """What was not given keeps its default."""
    chosen = [(one, option_of(one), given[one.name]) for one in fields(RecordOptions) if option_of(one)]
    values = {
        one.name: option.value(flag_of(one), value) for one, option, value in chosen if option and value is not None
    }
    return RecordOptions(job=given["job"], **values)


def _end_cleanly() -> None:
    """SIGTERM ends a recording as Ctrl-C does: what is half written is removed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock this thread would hold when the process ends well.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(CLEANING_S)
    os._exit(1)
