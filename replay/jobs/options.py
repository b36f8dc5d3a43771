"""The options of `record`, checked as a whole: what this version can't do is refused, never left out in silence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from replay.errors import ReplayError
from replay.recovery import STATE_NAMES

_KILL = re.compile(r"(?P<task>[^@+:\s]+)@(?P<at_ms>[0-9]+(\.[0-9]+)?)")
_DEPTH = re.compile(r"[0-9]{1,6}")
MAX_PARALLELISM = 100
MAX_DEPTH = 32
LONGEST_MS = 86_400_000
"""A day: until the last kill no task finishes, so that much virtual time is run through."""


class WrongOption(ReplayError):
    """An option that can't be meant so, or that this version can't follow."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """As on the command line. `sharing_depth` None is full; `kills` are `TASK@MS` or several joined by `+`."""

    job: str = "pass-through"
    seed: int = 0
    events: int = 10_000
    parallelism: int = 2
    depth: int = 3
    checkpoint_interval_ms: int = 1000
    sharing_depth: int | None = None
    standby: int = 1
    spill: str = "memory"
    sink: str = "plain"
    time: str = "processing"
    kills: tuple[str, ...] = ()
    kills_in: tuple[str, ...] = ()
    on_lost: str = "rollback"
    protocol: str = "clonos"
    delta_layout: str = "flat"
    buffer_bytes: int = field(default=4096, metadata={"internal": True})
    rate_per_s: float = field(default=2000.0, metadata={"internal": True})

    def __post_init__(self) -> None:
        _within("--seed", self.seed, 0, (1 << 63) - 1)
        _within("--events", self.events, 1, 100_000_000)
        _within("--parallelism", self.parallelism, 1, MAX_PARALLELISM)
        _within("--depth", self.depth, 2, MAX_DEPTH)
        _within("--checkpoint-interval-ms", self.checkpoint_interval_ms, 10, LONGEST_MS)
        _within("--standby", self.standby, 0, 8)
        if self.sharing_depth is not None:
            _within("--sharing-depth", self.sharing_depth, 0, MAX_DEPTH)
        _one_of("--spill", self.spill, ("memory",), ("eager", "availability", "oldest"))
        _one_of("--sink", self.sink, ("plain",), ("transactional", "idempotent", "determinant"))
        _one_of("--time", self.time, ("processing",), ("ingestion", "event"))
        _one_of("--on-lost", self.on_lost, ("rollback",), ("continue",))
        _one_of("--protocol", self.protocol, ("clonos",), _OTHER_PROTOCOLS)
        _one_of("--delta-layout", self.delta_layout, ("flat",), ("grouping",))
        for kill in self.kills:
            parse_kill(kill)
        for kill in self.kills_in:
            parse_kill_in(kill)

    def command(self) -> str:
        """The command line that records the same again; without defaults, `--out`, `--data` and `--json`."""
        parts = ["record", self.job]
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "job" or value == one.default or one.metadata.get("internal"):
                continue
            name = _NAMES.get(one.name, "--" + one.name.replace("_", "-"))
            values = value if isinstance(value, tuple) else (value,)
            parts += [f"{name} {''.join(str(shown).split())}" for shown in values]
        return " ".join(parts)


_NAMES = {"kills": "--kill", "kills_in": "--kill-in"}
_OTHER_PROTOCOLS = (
    "none",
    "pessimistic",
    "optimistic",
    "coordinated",
    "unaligned",
    "uncoordinated",
    "induced",
    "tree-clocks",
    "warden",
    "drifting",
    "transactional",
    "micro-batch",
    "strong",
)


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise WrongOption(f"{name} is {value}", remedy=f"It must lie between {low} and {high}")


def _one_of(name: str, value: str, now: Iterable[str], later: Iterable[str]) -> None:
    if value in now:
        return
    if value in later:
        raise WrongOption(f"{name} {value} isn't built in yet", remedy=f"This version records {', '.join(now)}")
    raise WrongOption(f"{name} is {value!r}, which is unknown", remedy=f"It must be one of {', '.join(now)}")


def parse_sharing_depth(text: str) -> int | None:
    """`full` is None."""
    if text == "full":
        return None
    if not _DEPTH.fullmatch(text):
        raise WrongOption(f"--sharing-depth is {text!r}", remedy="It must be 0, 1, 2, … or full")
    return int(text)


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


def parse_kill_in(text: str) -> tuple[str, str]:
    """`TASK:STATE`."""
    task, colon, state = text.partition(":")
    if not colon or not task or state not in STATE_NAMES:
        raise WrongOption(f"--kill-in is {text!r}", remedy=f"Write TASK:STATE with one of {', '.join(STATE_NAMES)}")
    return task, state
