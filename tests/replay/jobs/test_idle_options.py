"""An option that would change nothing is refused with the reason; one that is taken changes something."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from replay.jobs.catalogue import JOBS, job_named
from replay.jobs.option_fields import Number, Option, Word, WrongOption, option_of
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers

FIELDS = {one.name: one for one in fields(RecordOptions)}
SHAPING = ("watermark_ms", "watermark_records", "clock_period_ms", "random", "state_access")
FEW: dict[str, Any] = {
    "seed": 3, "events": 500, "rate_per_s": 3000.0, "depth": 4, "checkpoint_interval_ms": 60, "buffer_bytes": 256,
    "kills": ("map-1.0@95+map-2.0@95", "sink.0@130+map-1.1@131"),
}  # fmt: skip

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"protocol": "none"}, "sharing_depth", "--protocol none shares no determinants"),
    ({"protocol": "pessimistic"}, "sink", "--protocol pessimistic leaves the outside world no determinants"),
    ({"protocol": "optimistic"}, "on_lost", "under --protocol optimistic no lost choice binds"),
    ({"protocol": "coordinated"}, "on_lost", "under --protocol coordinated no lost choice binds"),
    ({}, "on_lost", "with all determinants shared no choice"),
    *(({"sharing_depth": 0}, one, "at --sharing-depth 0 no determinants are logged")
      for one in ("delta_layout", "determinant_pool_mib", "on_lost", "sink")),
    *(({"protocol": "none"}, one, "--protocol none logs no") for one in ("delta_layout", "determinant_pool_mib")),
    *(({"protocol": "coordinated"}, one, "keeps no buffers that were sent") for one in ("spill", "in_flight_pool")),
    ({"protocol": "coordinated"}, "standby", "--protocol coordinated deploys all tasks anew"),
    ({"protocol": "coordinated"}, "kills_in", "--protocol coordinated has no recovery states"),
    *(({}, one, "--spill memory writes nothing to disk") for one in ("spill_threshold", "prefetch", "disk_mib_s")),
    ({"spill": "eager"}, "spill_threshold", "--spill eager writes every buffer as it comes"),
    *(({"spill": one}, "spill_interval_ms", f"--spill {one} doesn't look at the pool")
      for one in ("memory", "eager", "oldest")),
    ({"load": 20.0}, "rate_per_s", "--load says already"),
    *(({"job": "nexmark-q1", "rate_shape": "steady"}, one, "--rate-shape steady neither rises nor falls")
      for one in ("rate_swing", "rate_period_ms")),
    *(({"job": "nexmark-q1", "rate_swing": 0.0}, one, "with --rate-swing 0 the rate neither")
      for one in ("rate_shape", "rate_period_ms")),
    ({"job": "nexmark-q1", "held_back_ms": 0}, "held_back_one_in", "with --held-back-ms 0 no event is held back"),
    ({"job": "nexmark-q8", "watermark_records": 5}, "watermark_ms", "--watermark-records says already"),
    *(({"job": "windowed", "time": "processing"}, one, "no task of windowed, as it is asked for, goes by it")
      for one in ("watermark_ms", "watermark_records")),
    ({"time": "event"}, "clock_period_ms", "no task of pass-through, as it is asked for, goes by it"),
    ({"depth": 2}, "state_access", "no task of pass-through, as it is asked for, goes by it"),
]  # fmt: skip


def others(name: str) -> list[Any]:
    """Values that are not the default: of a word all of them, else some that should show."""
    option: Option | None = option_of(FIELDS[name])
    default = FIELDS[name].default
    if name in ("kills_in", "in_flight_pool", "standby", "sharing_depth"):
        return {"kills_in": [("map-1.0:Running",)], "in_flight_pool": [8], "standby": [2], "sharing_depth": [1]}[name]
    if name in ("sink", "rate_shape"):
        return ["determinant" if name == "sink" else "square"]
    if isinstance(option, Word):
        return [one for one in option.now if one != default]
    assert isinstance(option, Number)
    return [option.low if option.low != default else option.high]


@pytest.mark.parametrize(("beside", "name", "why"), REFUSED, ids=lambda one: str(one)[:50])
def test_what_would_change_nothing_is_refused_with_its_reason(beside: dict[str, Any], name: str, why: str) -> None:
    run_of(RecordOptions(**beside), PROTOCOLS)
    for value in others(name):
        with pytest.raises(WrongOption) as caught:
            run_of(RecordOptions(**{**beside, name: value}), PROTOCOLS)
        assert why in str(caught.value) and ". Leave --" in str(caught.value)


@pytest.mark.parametrize("job", JOBS)
def test_an_option_of_a_job_that_is_taken_shows_in_its_graph(job: str) -> None:
    sample = job_named(job)
    taken = 0
    for time in sample.times:
        for name in sorted(sample.takes.intersection(SHAPING)):
            plain = RecordOptions(job=job, time=time)
            for value in others(name):
                options = replace(plain, **{name: value})
                try:
                    run = run_of(options, PROTOCOLS)
                except WrongOption as refusal:
                    assert "goes by it" in str(refusal)
                    assert sample.shape(options) == sample.shape(plain)
                else:
                    taken += 1
                    assert run.manifest.vertices != run_of(plain, PROTOCOLS).manifest.vertices
    assert taken or not sample.takes.intersection(SHAPING)


TAKEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"sharing_depth": 1}, one) for one in ({"on_lost": "continue"}, {"delta_layout": "grouping"})),
    *(({"protocol": one}, {"delta_layout": "grouping"}) for one in ("pessimistic", "optimistic")),
    *(({"protocol": one}, {"in_flight_pool": 40, "spill": "eager"}) for one in ("clonos", "pessimistic", "optimistic")),
    ({"spill": "eager", "in_flight_pool": 6}, {"prefetch": 0}),
    ({"spill": "eager", "in_flight_pool": 6}, {"disk_mib_s": 0.05}),
    ({"spill": "oldest", "in_flight_pool": 6}, {"spill_threshold": 0.8}),
    ({"spill": "availability", "in_flight_pool": 6}, {"spill_threshold": 0.8}),
    ({"spill": "availability", "in_flight_pool": 6}, {"spill_interval_ms": 3.0}),
    ({"protocol": "none"}, {"standby": 0}),
    ({}, {"sink": "determinant"}),
    ({"time": "ingestion", "kills": ()}, {"clock_period_ms": 7}),
]  # fmt: skip


@pytest.mark.parametrize(("beside", "given"), TAKEN, ids=lambda one: str(one)[:50])
def test_what_is_taken_changes_the_recording(beside: dict[str, Any], given: dict[str, Any]) -> None:
    assert recorded(**beside, **given) != recorded(**beside)


def recorded(**options: Any) -> dict[str, bytes]:
    members = MemoryMembers()
    Engine(run_of(RecordOptions(**{**FEW, **options}), PROTOCOLS), members).run()
    return {name: bytes(data) for name, data in members.members.items() if name != "job.json"}
