"""How failures are asked for: `TASK@MS`, several in one blow joined by `+`, and `TASK:STATE`."""

from __future__ import annotations

import re

from replay.jobs.option_fields import WrongOption
from replay.recovery import STATE_NAMES

_KILL = re.compile(r"(?P<task>[^@+:\s]+)@(?P<at_ms>[0-9]+(\.[0-9]+)?)")
LONGEST_MS = 86_400_000
"""A day: until the last kill no task finishes, so that much virtual time is run through."""


def parse_kill(text: str) -> tuple[tuple[str, float], ...]:
    """`TASK@MS`, or several in one blow joined by `+`: (task, milliseconds) each."""
    found = [_KILL.fullmatch(one.strip()) for one in text.split("+")]
    if not all(found):
        raise WrongOption(
            f"--kill is {text!r}", remedy="Write TASK@MS, as map-1.0@2500, or several in one blow: A@MS+B@MS"
        )
    kills = tuple((one["task"], float(one["at_ms"])) for one in found if one)
    if any(at_ms > LONGEST_MS for _, at_ms in kills):
        raise WrongOption(f"--kill is {text!r}", remedy=f"Its time must lie between 0 and {LONGEST_MS} ms, a day")
    return kills


def parse_suspect(text: str) -> tuple[str, float]:
    """`TASK@MS`: the task, and from when on its heartbeats are held up."""
    found = _KILL.fullmatch(text.strip())
    if found is None or float(found["at_ms"]) > LONGEST_MS:
        raise WrongOption(f"--suspect is {text!r}", remedy=f"Write TASK@MS, as map-1.0@2500, up to {LONGEST_MS} ms")
    return found["task"], float(found["at_ms"])


def parse_kill_in(text: str) -> tuple[str, str]:
    """`TASK:STATE`."""
    task, colon, state = text.partition(":")
    if not colon or not task or state not in STATE_NAMES:
        raise WrongOption(f"--kill-in is {text!r}", remedy=f"Write TASK:STATE with one of {', '.join(STATE_NAMES)}")
    return task, state
