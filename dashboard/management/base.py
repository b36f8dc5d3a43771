"""What every command of this project shares: --data, --json, exit statuses, and errors as one sentence."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from dashboard.accounts import NoSuchUser
from dashboard.environment import SettingError
from dashboard.folder import FolderInUse
from dashboard.jobs import OverQuota, Refused, StoreFull
from ingest.launch import IngestError
from replay.errors import ReplayError

GOOD, ERROR, USAGE, NOT_GOOD = 0, 1, 2, 3


class Failure(Exception):
    """The command cannot do it; the sentence says why."""


OPERATING = (
    Failure, ReplayError, IngestError, Refused, OverQuota, StoreFull, FolderInUse, NoSuchUser, SettingError,
    DatabaseError, OSError,
)  # fmt: skip


class WrongUse(Failure):
    """The options cannot be meant so; the sentence says which."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command has to say, for people and for programs."""

    text: str
    fields: dict[str, Any] = field(default_factory=dict)
    status: int = GOOD


class Command(BaseCommand, ABC):
    # Checks load every page's code; `manage.py check` runs them, and so do the tests.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="end standard output with one JSON object on one line")
        parser.add_argument("--data", metavar="DIR", help="the data folder (default: CLONOSCOPE_DATA, or var/)")
        self.add_options(parser)

    def add_options(self, parser: CommandParser) -> None:
        """The command's own."""

    @abstractmethod
    def run(self, **options: Any) -> Outcome:
        """Does what the command is for."""

    def handle(self, *args: Any, **options: Any) -> None:
        if options["data"] and Path(options["data"]).resolve() != settings.DATA:
            raise CommandError("--data must be known before settings are read; run this through manage.py.")
        try:
            outcome = self.run(**options)
        except OPERATING as error:
            self.stderr.write(_sayable(f"{self._name()}: {error}"))
            outcome = Outcome("", {"error": str(error)}, USAGE if isinstance(error, WrongUse) else ERROR)
        except KeyboardInterrupt:
            self.stderr.write(f"{self._name()}: interrupted")
            outcome = Outcome("", {"error": "interrupted"}, ERROR)
        if outcome.text:
            self.stdout.write(_sayable(outcome.text))
        if options["json"]:
            self.stdout.write(_sayable(json.dumps(outcome.fields, ensure_ascii=False, separators=(",", ":"))))
        self.stdout.flush()
        if outcome.status != GOOD:
            sys.exit(outcome.status)

    def _name(self) -> str:
        return type(self).__module__.rpartition(".")[2].replace("_", "-")


def _sayable(text: str) -> str:
    """A name that is no UTF-8 can't be written as it is; in JSON too, what stands for it is an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
