"""Code that does not know of the recorder: what it asks is recorded, answered again, and put back."""

import datetime
import os
import pickle
import random
import secrets
import sys
import time
import types
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import clonoscope
from clonoscope.replaying import Replay
from tests.clonoscope.recorded import calls_in, dumped, recording, values_of

JOB = """
import datetime as dt
import os, random, secrets, time, uuid
from datetime import date, datetime
from random import randint
from time import time as now

import numpy as np
import pandas as pd

FRAME = pd.DataFrame({"n": range(1000)})

def process():
    return [
        now(), time.time_ns(), time.monotonic(), time.perf_counter_ns(),
        datetime.now(), datetime.now(dt.UTC), dt.datetime.utcnow(), date.today(), dt.date.today(), datetime.today(),
        random.random(), randint(0, 10**9), random.sample(range(10**6), 3), random.gauss(0, 1),
        uuid.uuid4(), uuid.uuid1(), os.urandom(8), secrets.token_hex(8), secrets.randbelow(10**9),
        random.SystemRandom().random(),
        float(np.random.rand()), int(np.random.default_rng().integers(10**9)), np.random.permutation(50).tolist(),
        FRAME.sample(5)["n"].tolist(),
        float(np.random.RandomState().rand()), float(np.random.Generator(np.random.PCG64()).random()),
        random.seed(), random.random(), random.seed(7), random.random(), random.seed(None), random.random(),
        np.random.seed(), float(np.random.rand()),
    ]

def kinds():
    moment = datetime(2020, 1, 2, tzinfo=dt.UTC)
    return (
        isinstance(moment, datetime) and isinstance(moment, date) and isinstance(moment, dt.datetime),
        type(moment), datetime.fromisoformat("2020-01-02").year, datetime.max.year, date(2020, 1, 2),
    )

class Later(datetime):
    pass
"""


@pytest.fixture
def job() -> Iterator[types.ModuleType]:
    module = types.ModuleType("a_job_that_knows_nothing")
    sys.modules[module.__name__] = module
    exec(compile(JOB, "a_job_that_knows_nothing.py", "exec"), module.__dict__)  # noqa: S102 - a module of its own
    yield module
    del sys.modules[module.__name__]


def test_what_it_asks_is_recorded_and_comes_again(job: types.ModuleType, tmp_path: Path) -> None:
    with recording(tmp_path) as made, clonoscope.intercepting(job.__name__):
        given = []
        for epoch in range(2):
            with made.task("p").epoch(epoch):
                given.append([job.process() for _ in range(3)])
        bundle = made.dump(tmp_path / "out.zip")
    from replay.bundle.reader import open_bundle

    with open_bundle(bundle) as opened:
        replay = Replay.of(opened, "p.0", 0)
    random.seed(1)
    again = []
    with clonoscope.intercepting(job.__name__):
        for epoch in range(2):
            with replay.epoch(epoch):
                again.append([job.process() for _ in range(3)])
    assert again == given
    assert given[0] != given[1]


def test_times_are_now_and_of_the_kinds_that_they_were(job: types.ModuleType, tmp_path: Path) -> None:
    with recording(tmp_path) as made, clonoscope.intercepting(job.__name__), made.task("p").epoch(0):
        before = datetime.datetime.now(datetime.UTC)
        seconds, nanos, *_ = found = job.process()
        naive, aware, utc, day = found[4], found[5], found[6], found[7]
        after = datetime.datetime.now(datetime.UTC)
        of_kinds = job.kinds()
    assert before <= aware <= after and before.timestamp() <= seconds <= after.timestamp()
    assert before <= naive.astimezone() <= after and before <= utc.replace(tzinfo=datetime.UTC) <= after
    assert type(naive) is datetime.datetime and type(day) is datetime.date and isinstance(nanos, int)
    assert of_kinds == (True, datetime.datetime, 2020, 9999, datetime.date(2020, 1, 2))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


def test_only_the_packages_that_are_named_are_meant(job: types.ModuleType, tmp_path: Path) -> None:
    with recording(tmp_path) as made, clonoscope.intercepting("another"), made.task("p").epoch(0):
        job.process()
        assert values_of(made.folder, "p.0")[1:] == []  # the seed alone


def test_the_standard_library_is_left_alone(tmp_path: Path) -> None:
    import logging

    with recording(tmp_path) as made, clonoscope.intercepting(), made.task("p").epoch(0):
        logging.getLogger("a.job").error("told")
        recorded = time.time()
        with dumped(made, tmp_path / "out.zip") as bundle:
            calls = calls_in(bundle, "p.0", 0, 0)
    assert [call["call"] for call in calls] == ["seed", "time"] and calls[1]["value"] == recorded


def test_without_a_task_at_work_nothing_is_recorded(job: types.ModuleType, tmp_path: Path) -> None:
    with recording(tmp_path) as made, clonoscope.intercepting(job.__name__):
        job.process()
        assert not (made.folder / "tasks" / "outside.0").exists()


def test_everything_is_put_back(job: types.ModuleType) -> None:
    def all_of_it() -> list[Any]:
        holders = (time, os, uuid, random, secrets, datetime, numpy.random, job)
        return [value for holder in holders for value in vars(holder).values() if isinstance(value, Callable)]

    before = all_of_it()
    with clonoscope.intercepting():
        assert [id(one) for one in all_of_it()] != [id(one) for one in before]
    assert [id(one) for one in all_of_it()] == [id(one) for one in before]


def test_modules_that_are_imported_later_are_looked_at_when_an_epoch_begins(tmp_path: Path) -> None:
    name = "a_module_of_later"
    with recording(tmp_path) as made, clonoscope.intercepting():
        real = next(one for one in (time.time,))
        module = types.ModuleType(name)
        sys.modules[name] = module
        try:
            exec("from datetime import datetime\ndef day():\n    return datetime.now()", module.__dict__)  # noqa: S102
            with made.task("p").epoch(0):
                module.day()
                with dumped(made, tmp_path / "out.zip") as bundle:
                    assert [call["call"] for call in calls_in(bundle, "p.0", 0, 0)] == ["seed", "time_ns"]
        finally:
            del sys.modules[name]
    assert real is not time.time


def test_tasks_at_work_at_the_same_time_have_gaps(tmp_path: Path) -> None:
    with recording(tmp_path) as made, clonoscope.intercepting():
        first, second = made.task("p", 0), made.task("p", 1)
        with first.epoch(0):
            pass
        with second.epoch(0), first.epoch(1):
            random.random()
        with dumped(made, tmp_path / "out.zip") as bundle:
            gaps = [(one["task"], one["epoch"], one["why"][:23]) for one in bundle.events() if one["type"] == "gap"]
    assert sorted(gaps) == [("p.0", 1, "p.1 is at work at the s"), ("p.1", 0, "p.0 is at work at the s")]


def test_pandas_and_numpy_give_other_numbers_every_epoch(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"n": range(10_000)})
    with recording(tmp_path) as made, clonoscope.intercepting():
        given = []
        for epoch in range(3):
            with made.task("p").epoch(epoch):
                given.append((frame.sample(3)["n"].tolist(), float(numpy.random.rand())))
    assert len({str(one) for one in given}) == 3
