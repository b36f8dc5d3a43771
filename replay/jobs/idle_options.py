"""Options of `record` that would change nothing beside the others: what is asked for is done or refused.

What goes wrong in a job is no option in this sense: how failures are met may be said where none happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from replay.jobs.option_fields import WrongOption, flag_of
from replay.jobs.options import RecordOptions
from replay.jobs.sample import SampleJob
from replay.runtime.protocol import FaultTolerance

_AS_IT_IS = {"sharing_depth": (0,), "standby": (0, 1)}
"""Besides the default, what may be said of an idle option, as it is recorded so."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Options that change nothing, and why; one with a value behind it, as `sink=determinant`, only at that value."""

    why: str
    options: tuple[str, ...]


def refuse_idle(options: RecordOptions, sample: SampleJob, protocol: FaultTolerance) -> None:
    """Refuses the first option that was given and would change nothing."""
    for name, why in idle_options(options, sample, protocol):
        flag, value = flag_of(RecordOptions.__dataclass_fields__[name]), getattr(options, name)
        shown = value[0] if isinstance(value, tuple) else value
        raise WrongOption(f"{flag} is {shown}, but {why}", remedy=f"Leave {flag} out")


def idle_options(options: RecordOptions, sample: SampleJob, protocol: FaultTolerance) -> Iterator[tuple[str, str]]:
    """The options that were given and would change nothing, with the reason."""
    defaults = {one.name: one.default for one in fields(options)}
    for idle in (*_of_protocol(options, protocol), *_of_spilling(options), *_of_input(options, sample)):
        for one in idle.options:
            name, _, only = one.partition("=")
            value = getattr(options, name)
            if value != defaults[name] and (not only or value == only) and value not in _AS_IT_IS.get(name, ()):
                yield name, idle.why


def _of_protocol(options: RecordOptions, protocol: FaultTolerance) -> Iterator[Idle]:
    name, depth = protocol.name, options.sharing_depth
    if not protocol.shares:
        yield Idle(f"--protocol {name} shares no determinants", ("sharing_depth",))
        yield Idle(f"--protocol {name} leaves the outside world no determinants", ("sink=determinant",))
        yield Idle(f"under --protocol {name} no lost choice binds a survivor that goes on", ("on_lost",))
    elif depth is None:
        yield Idle("with all determinants shared no choice that binds a survivor is ever lost", ("on_lost",))
    elif depth == 0:
        why = "at --sharing-depth 0 no determinants are logged"
        yield Idle(why, ("delta_layout", "determinant_pool_mib", "on_lost", "sink=determinant"))
    if not protocol.in_flight:
        yield Idle(f"--protocol {name} logs no determinants", ("delta_layout", "determinant_pool_mib"))
        yield Idle(f"--protocol {name} keeps no buffers that were sent", ("spill", "in_flight_pool"))
    if not protocol.standbys:
        yield Idle(f"--protocol {name} deploys all tasks anew", ("standby",))
        yield Idle(f"--protocol {name} has no recovery states", ("kills_in",))


def _of_spilling(options: RecordOptions) -> Iterator[Idle]:
    spill = options.spill
    if spill == "memory":
        yield Idle("--spill memory writes nothing to disk", ("spill_threshold", "prefetch", "disk_mib_s"))
    if spill == "eager":
        yield Idle("--spill eager writes every buffer as it comes", ("spill_threshold",))
    if spill != "availability":
        yield Idle(f"--spill {spill} doesn't look at the pool from time to time", ("spill_interval_ms",))


def _of_input(options: RecordOptions, sample: SampleJob) -> Iterator[Idle]:
    if options.load is not None:
        yield Idle("--load says already how many records come into being", ("rate_per_s",))
    if options.rate_shape == "steady":
        yield Idle("--rate-shape steady neither rises nor falls", ("rate_swing", "rate_period_ms"))
    elif not options.rate_swing:
        yield Idle("with --rate-swing 0 the rate neither rises nor falls", ("rate_shape", "rate_period_ms"))
    if not options.held_back_ms:
        yield Idle("with --held-back-ms 0 no event is held back", ("held_back_one_in",))
    if options.watermark_records:
        yield Idle("--watermark-records says already when watermarks come", ("watermark_ms",))
    shape = sample.shape(options)
    defaults: dict[str, Any] = {one.name: one.default for one in fields(options)}
    for name in ("watermark_ms", "watermark_records", "clock_period_ms", "random", "state_access"):
        if sample.shape(replace(options, **{name: defaults[name]})) == shape:
            yield Idle(f"no task of {sample.name}, as it is asked for, goes by it", (name,))
