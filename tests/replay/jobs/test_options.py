"""The command line written into a recording gives its options again, and the same bundle on any machine."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from dashboard.management.commands.record import Command, _options
from replay.jobs.catalogue import JOBS as SAMPLE_JOBS
from replay.jobs.catalogue import job_named
from replay.jobs.option_fields import Number, Texts, Word, flag_of, option_of
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = [
    one
    for one in fields(RecordOptions)
    if (option := option_of(one)) and (not isinstance(option, Word) or len(option.now) > 1)
]
"""Of which there is more than one value."""

JOBS = ("windowed", "nexmark-q5", "nexmark-q8", "nexmark-q11", "random-load-balance", "enrich")
PRINT = """
import hashlib, sys
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers
members = MemoryMembers()
run = run_of(RecordOptions(job=sys.argv[1], seed=9, events=700, checkpoint_interval_ms=90, parallelism=3,
                           kills=("source.1@150", "sink.0@260")), PROTOCOLS)
Engine(run, members).run()
for name, data in sorted(members.members.items()):
    print(name, hashlib.sha256(data).hexdigest())
"""


def another(name: str, option: Any, default: Any) -> Any:
    """A value that is allowed, and not the default."""
    if isinstance(option, Texts):
        return {
            "kills": ("map-1.0@5", "sink.0@7.5+map-1.0@8"),
            "kills_in": ("sink.0:Replaying",),
            "suspects": ("sink.0@7.5",),
        }[name]
    if isinstance(option, Word):
        return next(one for one in option.now if one != default)
    assert isinstance(option, Number)
    return option.high if default == option.low else option.low


def parsed(command: str) -> RecordOptions:
    parser = argparse.ArgumentParser()
    Command().add_options(parser)
    name, *rest = shlex.split(command)
    assert name == "record"
    return _options(vars(parser.parse_args(rest)))


@pytest.mark.parametrize("one", OPTIONS, ids=flag_of)
def test_every_option_is_written_down_so_that_it_can_be_given_again(one: Any) -> None:
    options = replace(RecordOptions(job="word-count"), **{one.name: another(one.name, option_of(one), one.default)})
    assert options != RecordOptions(job="word-count")
    assert parsed(options.command()) == options


def test_the_load_sets_the_rate_by_what_a_record_costs() -> None:
    steady = RecordOptions(job="nexmark-q1", events=4000, rate_shape="steady", held_back_ms=0)
    options = replace(steady, load=25, record_cost_us=100, parallelism=4)
    partition = next(iter(run_of(options, PROTOCOLS).partitions.values()))
    assert partition.there_at(100_000) == pytest.approx(250, abs=2)  # a quarter of 10,000 a second


@pytest.mark.parametrize("job", SAMPLE_JOBS)
@pytest.mark.parametrize("asked", [{"rate_per_s": 1200.0}, {"load": 3.0, "record_cost_us": 50}], ids=["rate", "load"])
def test_the_partitions_of_every_job_share_the_rate(job: str, asked: dict[str, Any]) -> None:
    """After a second as many records are there as were asked for, however many tasks read them."""
    takes = job_named(job).takes
    steady = {name: value for name, value in {"rate_shape": "steady", "held_back_ms": 0}.items() if name in takes}
    for parallelism in (1, 2, 5):
        options = RecordOptions(job=job, events=6000, parallelism=parallelism, **steady, **asked)
        per_s = 1200.0 if "load" not in asked else 600.0 * parallelism
        partitions = run_of(options, PROTOCOLS).partitions.values()
        assert len(partitions) == parallelism
        assert sum(one.there_at(1_000_000) for one in partitions) == pytest.approx(per_s, abs=2 * parallelism)


@pytest.mark.parametrize("job", JOBS)
def test_the_order_of_sets_and_of_dictionaries_shows_in_no_bundle(job: str) -> None:
    told = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PRINT, job]
        told.append(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout)
    assert told[0] == told[1] and len(told[0].splitlines()) > 50
