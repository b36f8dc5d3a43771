"""What the names of evidence name, taken apart for links and put into words for people; see `claims` for their form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from replay.errors import printable

_FORMS = {
    kind: re.compile(form, re.DOTALL)
    for kind, form in {
        "event": r"(?P<number>\d+)",
        "det": r"(?P<task>.+)/(?P<attempt>\d+)/(?P<thread>[^/]+)/(?P<epoch>\d+)#(?P<number>\d+)",
        "log": r"(?P<task>.+)/(?P<attempt>\d+)/(?P<thread>[^/]+)/(?P<epoch>\d+)@(?P<number>\d+)",
        "buffer": r"(?P<channel>.+)/(?P<attempt>\d+)#(?P<number>\d+)",
        "sending": r"(?P<channel>.+)/(?P<attempt>\d+)#(?P<number>\d+)/(?P<sending>\d+)",
        "receipt": r"(?P<channel>.+)/(?P<attempt>\d+)#(?P<number>\d+)/(?P<sending>\d+)",
        "source": r"(?P<task>.+)/(?P<attempt>\d+)#(?P<number>\d+)",
        "sink": r"(?P<task>.+)/(?P<attempt>\d+)/(?P<epoch>\d+)#(?P<number>\d+)",
        "state": r"(?P<task>.+)/(?P<attempt>\d+)/(?P<number>\d+)",
        "outside": r"(?P<task>.+)#(?P<number>\d+)",
    }.items()
}
_NUMBERS = ("attempt", "epoch", "number", "sending")
MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of a recording. `task` is of what lies outside its name; a field that a kind lacks is empty or None.

    `number`: which event, determinant, buffer, record, line, checkpoint or row; of a log the offset.
    """

    kind: str
    task: str = ""
    channel: str = ""
    thread: str = ""
    attempt: int | None = None
    epoch: int | None = None
    number: int | None = None
    sending: int | None = None

    @property
    def words(self) -> str:
        """As a person reads it."""
        who, n = printable(self.task or self.channel), self.number
        of = f"{who}, attempt {self.attempt}"
        match self.kind:
            case "event":
                return f"event {n:,}"
            case "det":
                return f"determinant {n:,} of {of}, {printable(self.thread)}, epoch {self.epoch}"
            case "log":
                return f"log of {of}, {printable(self.thread)}, epoch {self.epoch}, from byte {n:,}"
            case "buffer":
                return f"buffer {n:,} of {of}"
            case "sending" | "receipt":
                return f"{self.kind} {self.sending} of buffer {n:,} of {of}"
            case "source":
                return f"source record {n:,} of {of}"
            case "sink":
                return f"output {n:,} of {of}, epoch {self.epoch}"
            case "state":
                return f"snapshot {n} of {of}"
        return f"row {n:,} of {who}"


def evidence(name: str) -> Evidence | None:
    """None where it has none of the known forms, and stands for itself."""
    kind, _, rest = name.partition(":")
    found = _FORMS[kind].fullmatch(rest) if kind in _FORMS else None
    if found is None:
        return None
    fields = found.groupdict()
    if any(len(fields.get(one, "")) > MOST_DIGITS for one in _NUMBERS):
        return None
    number = {one: int(fields[one]) if one in fields else None for one in _NUMBERS}
    task, channel, thread = (fields.get(one, "") for one in ("task", "channel", "thread"))
    return Evidence(
        kind, task, channel, thread, number["attempt"], number["epoch"], number["number"], number["sending"]
    )


def in_words(name: str) -> str:
    """Of a name in none of the known forms, the name."""
    found = evidence(name)
    return printable(name) if found is None else found.words
