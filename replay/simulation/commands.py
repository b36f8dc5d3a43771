"""Random command lines of `record`: every job, protocol, sink and policy, with failures of all kinds."""

from __future__ import annotations

from random import Random
from typing import Any

from replay.jobs.catalogue import JOBS, job_named
from replay.jobs.idle_options import idle_options
from replay.jobs.option_fields import WrongOption
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.recovery import STATE_NAMES

_WINDOWS: dict[str, dict[str, int]] = {
    "windowed": {"window_ms": 100, "slide_ms": 50},
    "nexmark-q5": {"window_ms": 60, "slide_ms": 30},
    "nexmark-q7": {"window_ms": 60},
    "nexmark-q8": {"window_ms": 60},
    "nexmark-q11": {"window_ms": 20},
    "nexmark-q12": {"window_ms": 60},
}
_PROTOCOLS = ("clonos", "clonos", "clonos", "clonos", "none", "pessimistic", "optimistic", "coordinated")


def random_options(seed: int) -> RecordOptions:
    """The command line of that seed; jobs take turns, so that a hundred seeds in a row have met them all."""
    draw = Random(f"command {seed}")
    name = list(JOBS)[seed % len(JOBS)]
    drawn: dict[str, Any] = {
        "job": name,
        "seed": draw.randrange(1 << 20),
        "events": draw.choice((60, 150, 250, 400)),
        "parallelism": draw.choice((1, 2, 2, 3)),
        "checkpoint_interval_ms": draw.choice((20, 40, 80, 400)),
        "buffer_bytes": draw.choice((128, 512, 2048)),
        "flush_ms": draw.choice((1.0, 5.0, 20.0)),
        **_WINDOWS.get(name, {}),
        **_of_protocol(draw),
        **_of_costs(draw),
        **_of_job(draw, name),
    }
    return _struck(draw, drawn)


def _of_protocol(draw: Random) -> dict[str, Any]:
    """What the protocol has a use for."""
    protocol = draw.choice(_PROTOCOLS)
    drawn: dict[str, Any] = {"protocol": protocol, "sink": draw.choice(("plain", "transactional", "idempotent"))}
    if protocol in ("clonos", "none"):
        drawn["standby"] = draw.choice((0, 1, 1, 2))
    if protocol != "clonos":
        return drawn
    return drawn | {
        "sink": draw.choice(("plain", "transactional", "idempotent", "determinant")),
        "sharing_depth": draw.choice((None, None, None, 1, 2, 0)),
        "on_lost": draw.choice(("rollback", "rollback", "continue")),
        "delta_layout": draw.choice(("flat", "grouping")),
        "spill": draw.choice(("memory", "eager", "availability", "oldest")),
    }


def _of_costs(draw: Random) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "record_cost_us": draw.choice((10, 40, 400)),
        "rtt_ms": draw.choice((0.05, 0.5, 8.0)),
        "snapshots": draw.choice(("full", "full", "incremental")),
        "back_off": draw.choice((0.0, 1.0, 3.0)),
        "heartbeat_ms": 20,
        "heartbeat_timeout_ms": draw.choice((40, 100)),
    }
    if draw.random() < 0.3:
        drawn |= {"hosts": draw.choice((20, 40)), "slots": draw.choice((2, 3, 6))}
    return drawn


def _of_job(draw: Random, name: str) -> dict[str, Any]:
    """What means something to this job."""
    sample = job_named(name)
    drawn: dict[str, Any] = {"time": draw.choice((None, *sample.times))}
    if draw.random() < 0.3:
        drawn["depth"] = sample.depth + draw.randrange(3)
    if "random" in sample.takes:
        drawn["random"] = draw.choice(("call", "seed"))
    if "clock_period_ms" in sample.takes:
        drawn["clock_period_ms"] = draw.choice((0, 0, 10))
    if "stream" in sample.takes:
        drawn["stream"] = draw.choice(("mixed", "keyed", "non-keyed"))
    return drawn


def _struck(draw: Random, drawn: dict[str, Any]) -> RecordOptions:
    """With one to four failures: alone, in one blow, by host, in the midst of a recovery, and false suspicions."""
    options = _allowed(drawn)
    tasks = [one.id for one in run_of(options, PROTOCOLS).manifest.tasks]
    kills, kills_in, suspects = [], [], []
    # Most fall while records are still coming; the rate is 2,000 a second.
    lasts_ms = drawn["events"] / 2
    for n in range(draw.choice((1, 2, 2, 3, 4))):
        task, at_ms = draw.choice(tasks), round(draw.uniform(2, 1.5 * lasts_ms), 1)
        kind = draw.choice(("kill", "kill", "kill", "blow", "state", "host", "suspect")) if n else "kill"
        if kind == "kill":
            kills.append(f"{task}@{at_ms}")
        elif kind == "blow" and len(tasks) > 1:
            struck = draw.sample(tasks, min(len(tasks), draw.choice((2, 2, 3))))
            kills.append("+".join(f"{one}@{at_ms}" for one in struck))
        elif kind == "state":
            kills_in.append(f"{task}:{draw.choice([one for one in STATE_NAMES if one != 'Standby'])}")
        elif kind == "host" and "hosts" in drawn:
            kills.append(f"host-{draw.randrange(4)}@{at_ms}")
        elif kind == "suspect":
            suspects.append(f"{task}@{at_ms}")
    return _allowed({**drawn, "kills": tuple(kills), "kills_in": tuple(kills_in), "suspects": tuple(suspects)})


def _allowed(drawn: dict[str, Any]) -> RecordOptions:
    """Without what does not go together with the rest: a draw too many is left out, and never a whole command."""
    for left_out in ((), ("hosts", "slots"), ("kills_in",), ("suspects",), ("hosts", "slots", "kills_in", "suspects")):
        kept = {name: value for name, value in drawn.items() if name not in left_out}
        options = _without_idle(kept)
        try:
            run_of(options, PROTOCOLS)
        except WrongOption:
            continue
        return options
    return RecordOptions(**drawn)


def _without_idle(drawn: dict[str, Any]) -> RecordOptions:
    """Without what would change nothing beside the rest."""
    options = RecordOptions(**drawn)
    idle = {name for name, _ in idle_options(options, job_named(options.job), PROTOCOLS[options.protocol]())}
    return RecordOptions(**{name: value for name, value in drawn.items() if name not in idle})
