"""One session of Spark for all tests of a run that ask: functions of every form, and orders that tell of people."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clonoscope.command import main
from tests.clonoscope.adapted import gaps
from tests.clonoscope.engines import JOBS
from tests.clonoscope.spark_jobs import SparkJob
from tests.clonoscope.test_privacy import KEY
from tests.clonoscope.test_spark import DAEMON
from tests.once import made_once

CUSTOMERS = [f"Zoë Łucja {number:09}" for number in range(8)]
RECORDINGS = ("by_daemon", "by_file", "by_bytes")
# Spark gives a worker ten seconds to start, which can't be set: a busy machine may need more.
STARTED_LATE = "Python worker failed to connect back"
MOST_TIMES = 3


def folder_of_forms(factory: pytest.TempPathFactory) -> Path:
    """Two batches; in the second of each query something fails, and is executed once more."""
    return made_once(factory, "forms", _in_time)


def _in_time(folder: Path) -> None:
    for left in reversed(range(MOST_TIMES)):
        try:
            return _run(folder)
        except AssertionError as failed:
            if not left or STARTED_LATE not in str(failed):
                raise
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return None


def _run(folder: Path) -> None:
    people = folder / "people"
    put(
        folder / "in",
        lambda n: {"shard": n % 2, "cents": f"{n}.50", "at": f"2026-11-0{n + 1}", "tags": ["a"] * (n % 3)},
    )
    put(people / "in", lambda n: {"customer": CUSTOMERS[n]})
    (people / "events").mkdir()
    (people / "key").write_bytes(KEY)
    variables = {"NAME": "by_daemon", "DIR": people / "recordings", "PAYLOAD": "full", "ALLOW": "order,id"}
    variables |= {"KEY_FILE": people / "key"}
    settings = [DAEMON, *(f"spark.executorEnv.CLONOSCOPE_{name}={value}" for name, value in variables.items())]
    settings += ["spark.eventLog.enabled=true", "spark.eventLog.compress=false"]
    settings.append(f"spark.eventLog.dir=file://{people / 'events'}")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FORMS", str(folder))
        SparkJob(JOBS / "spark_forms.py", *settings, logs=people).succeed()
    assert (folder / "failed").exists() and (people / "failed").exists()
    assert gaps(folder / "recordings" / "forms") == []
    recorded = {"forms": folder} | dict.fromkeys(RECORDINGS, people)
    for name, where in recorded.items():
        assert main(["dump", str(where / "recordings" / name), "--out", str(where / f"{name}.zip")]) == 0


def put(folder: Path, order: Callable[[int], dict[str, Any]]) -> None:
    """Eight orders in two files, which are a batch each."""
    folder.mkdir(parents=True)
    for batch in range(2):
        lines = [{"order": n} | order(n) for n in range(4 * batch, 4 * batch + 4)]
        path = folder / f"{batch}.json"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (1_000_000 + batch, 1_000_000 + batch))
