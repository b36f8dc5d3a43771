"""Functions of a real Spark job, replayed where their code is and Spark's JVM is not: as they were, and changed."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.writing.words import counted
from tests.clonoscope.engines import JOBS, ROOT
from tests.clonoscope.replayed_here import minimised, replayed
from tests.clonoscope.spark_once import folder_of_forms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CODE = (JOBS / "spark_forms.py").read_text()


@dataclass(frozen=True)
class Form:
    """A kind of function: what is changed in it, and the line at which that shows."""

    task: str
    before: str
    after: str
    shows: str
    compared: str


FORMS = {
    "udf": Form("counts-by_row.0", 'Decimal("0.10")', 'Decimal("0.2")', "return f", "result"),
    "pandas_udf": Form("counts-by_column.0", "+ cents.astype", "+ 1 + cents.astype", "return ", "result"),
    "mapInPandas": Form("counts-by_frames.0", '["order"] + 0', '["order"] + 1', "yield frame", "result"),
    "mapInArrow": Form("counts-by_batches.0", '["order"], 0', '["order"], 5', "yield kept", "result"),
    "applyInPandas": Form("counts-by_group.0", '("order")  #', '("order")[:1]  #', "return ", "result"),
    "applyInPandasWithState": Form(
        "counts-with_state.0", "state.update((count,))", "state.update((count + 1,))", "state.update(", "result"
    ),
    "transformWithState": Form(
        "seen-Counting.0", "seen.update((count,))", "seen.update((count + 1,))", "self.seen.update(", "result"
    ),
    "foreachBatch": Form("counts-by_batch.0", '": row.shard,', '": row.shard + 1,', "for one in recorded", "output"),
    "foreachBatch, a write": Form("counts-by_batch.0", "+ biggest  #", "+ 1 + biggest  #", "clonoscope.ext", "write"),
    "arrow_udf": Form("counts-by_array.0", "pc.add(price", "pc.subtract(price", "return ", "result"),
    "applyInArrow": Form("counts-by_table.0", 'sort_by("some")', 'sort_by("some")[:1]', "return ", "result"),
    "applyInArrow of batches": Form("counts-by_parts.0", "greater_equal(part", "greater(part", "yield ", "result"),
    "cogroup applyInPandas": Form("counts-by_two_frames.0", '["most"].sum()', '["most"].max()', "return ", "result"),
    "cogroup applyInArrow": Form("counts-by_two_tables.0", "pc.less(", "pc.greater(", "return ", "result"),
    "transformWithState, initial state": Form(
        "timed-Timed.0", "initialState.most +", "initialState.most + 1 +", "self.total.update((initial", "result"
    ),
    "transformWithState, time to live": Form(
        "timed-Timed.0", '"total long", ttlDurationMs=3', '"total long", ttlDurationMs=4', "self.total = ", "result"
    ),
    "transformWithState, timers": Form(
        "timed-Timed.0", "(now + later)", "(now + later + 1)", "self.handle.registerTimer(", "result"
    ),
    "transformWithState, expired timers": Form("timed-Timed.0", "=due + len", "=due + 1 + len", "yield Row", "result"),
    "transformWithState, timers by event time": Form(
        "due-Due.0", "* 1000) + order)", "* 1000) - order)", "self.handle.registerTimer(", "result"
    ),
    "transformWithState, timers that expire by event time": Form(
        "due-Due.0", "[behind + len", "[behind + 1 + len", "yield pd.DataFrame", "result"
    ),
    "grouped aggregate": Form("due-by_whole.0", "(orders + shards)", "(orders - shards)", "return float", "result"),
    "foreach, a function": Form(
        "timed-each.0", "row.order + row.shard, eff", "row.order - row.shard, eff", "clonoscope.external(", "write"
    ),
    "foreach, a writer": Form("seen-Writer.0", "+= row.order + row", "+= row.order * row", "clonoscope.ext", "write"),
    "foreach, a writer that is opened": Form("seen-Writer.0", "== 5  #", "== 6  #", "return clonoscope.ext", "write"),
    "foreach, a writer that is closed": Form("seen-Writer.0", '"done", self', '"end", self', "clonoscope.ext", "write"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_forms(tmp_path_factory)


def last_attempt(bundle: Path, task: str) -> int:
    with open_bundle(bundle) as opened:
        return max(opened.attempts(task))


def site(folder: Path, code: str = CODE) -> Path:
    """A folder with the job's code, and nothing of where it was recorded."""
    folder.mkdir(exist_ok=True)
    (folder / "spark_forms.py").write_text(code)
    return folder


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_function_gives_the_same_again(folder: Path, form: Form, tmp_path: Path) -> None:
    bundle = folder / "forms.zip"
    found = replayed(site(tmp_path / "site"), bundle, form.task, "--attempt", last_attempt(bundle, form.task))
    assert (found["verdict"], found["status"]) == ("identical", 0), found
    (count,) = re.findall(rf"the same again:.* (\d+) {form.compared}s?,", found["sentence"])
    assert int(count) > 0


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_change_that_no_log_tells_of_is_found_with_its_line(folder: Path, form: Form, tmp_path: Path) -> None:
    assert CODE.count(form.before) == 1
    bundle = folder / "forms.zip"
    changed = site(tmp_path / "site", CODE.replace(form.before, form.after))
    found = replayed(changed, bundle, form.task, "--attempt", last_attempt(bundle, form.task))
    assert (found["verdict"], found["status"]) == ("diverged", 3), found
    line = found["detail"]["line"]
    assert line["file"] == str(changed / "spark_forms.py") and line["text"].startswith(form.shows), found
    assert (changed / "spark_forms.py").read_text().splitlines()[line["line"] - 1].strip() == line["text"]
    assert found["detail"]["asked"] != found["detail"]["logged"], found
    of_results = form.shows.startswith(("return ", "yield", "for")) and form.compared != "write"
    assert ("another than the recording holds" in found["sentence"]) == of_results, found


def sources(opened: Bundle, task: str, attempt: int) -> list[tuple[int, str]]:
    """Each epoch's records."""
    names = {one: f"tasks/{task}/{attempt}/source/{one}.ndjson" for one in opened.epochs(task, attempt, "main")}
    return [(epoch, name) for epoch, name in names.items() if name in opened.members]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_it_stops_before_a_record_of_a_batch(folder: Path, form: Form, tmp_path: Path) -> None:
    bundle, here = folder / "forms.zip", site(tmp_path / "site")
    attempt = last_attempt(bundle, form.task)
    with open_bundle(bundle) as opened:
        (partition,) = opened.graph.task(form.task).partitions
        before = {one: opened.members.read(name).count(b"\n") for one, name in sources(opened, form.task, attempt)}
    epoch = max(before)
    at = before[epoch] - 1
    found = replayed(here, bundle, form.task, "--attempt", attempt, "--at", f"{partition}@{at}#{epoch}")
    assert found["status"] == 0 and found["sentence"].startswith(f"Stopped before record {partition}@{at}, "), found
    # What comes at once has been taken by then as far as that record; what comes row by row was done up to there.
    assert f"it took {counted(sum(before.values()), 'record')} and" in found["sentence"], found


def test_a_record_of_several_batches_is_asked_for_by_its_batch(folder: Path, tmp_path: Path) -> None:
    done = command(site(tmp_path / "site"), folder / "forms.zip", "seen-Counting.0", "--attempt", 0, "--at", 1)
    assert done.returncode == 2 and "Name one: seen[0]@1#0, seen[0]@1#1" in done.stderr, done.stderr


def command(site: Path, bundle: Path, task: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """As a person has it."""
    return subprocess.run(
        [sys.executable, "-m", "clonoscope", "replay", str(bundle), "--task", task, *map(str, arguments)],
        cwd=site,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_attempt_that_failed_of_what_it_was_given_fails_of_it_again(folder: Path, tmp_path: Path) -> None:
    """Behind a function that failed, Spark raises where rows are asked for."""
    found = replayed(site(tmp_path / "site"), folder / "forms.zip", "counts-by_frames.0", "--attempt", 0)
    assert found["verdict"] == "identical" and "and fails with ArrowInvalid: " in found["sentence"], found


def test_an_incident_of_a_key_is_kept_with_its_timers(folder: Path, tmp_path: Path) -> None:
    """Of two batches, two keys and their timers, what one key's timer came to."""
    here = site(tmp_path / "site", CODE.replace("=due + len", "=due + (key[0] == 1) + len"))
    said = minimised(here, folder / "forms.zip", "timed-Timed.0", "incident.zip")
    assert "of 8, after" in said, said
    with open_bundle(here / "incident.zip") as opened:
        assert opened.manifest.raw["excerpt"]["records"] < 8
        told = [name for name in opened.members.names("tasks/") if "/border/" in name]
        lines = [json.loads(line) for name in told for line in opened.members.read(name).splitlines()]
    calls = [line["method"] for line in lines if line["is"] == "call"]
    assert calls.count("handleExpiredTimer") == 1 and len(calls) < 6, calls


OF_SPARK = {
    "a frame of its batch": ('batch.select("order").collect()', "asks its batch for select"),
    "a column": ('col("order")', "there is no Spark where it is replayed"),
    "a session": ("SparkSession.builder.getOrCreate()", "there is no Spark where it is replayed"),
    "the session that is active": ("SparkSession.getActiveSession().range(1)", "there is no Spark where it is"),
}


@pytest.mark.parametrize(("asked", "said"), OF_SPARK.values(), ids=OF_SPARK)
def test_what_a_function_of_batches_asks_of_spark_is_unknown(
    folder: Path, asked: str, said: str, tmp_path: Path
) -> None:
    changed = site(tmp_path / "site", CODE.replace("    batch.persist()\n", f"    {asked}\n"))
    found = replayed(changed, folder / "forms.zip", "counts-by_batch.0")
    assert (found["verdict"], found["status"]) == ("unknown", 3) and said in found["sentence"], found


def test_an_attempt_that_failed_fails_again_of_what_it_was_answered(folder: Path, tmp_path: Path) -> None:
    done = command(site(tmp_path / "site"), folder / "forms.zip", "counts-by_row.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "identical: Attempt 0 of counts-by_row.0 gives the same again: 5 results, of 6 records" in done.stdout
    assert "fails with ConnectionError: order 5 has no price as recorded" in done.stdout
    code = CODE.replace(
        "clonoscope.external(look_up, order)", "clonoscope.external(look_up, order) if order != 5 else 0"
    )
    found = replayed(site(tmp_path / "caught", code), folder / "forms.zip", "counts-by_row.0")
    assert found["verdict"] == "diverged", found


OTHERS = {
    "more rows than it asked for": ("counts-by_batches.0", "yield kept", "yield kept\n        next(batches)"),
    "fewer rows": ("counts-by_frames.0", "yield frame", "yield frame\n        break"),
    "another state": ("seen-Counting.0", "self.seen.get()[0] if self.seen.exists() else 0", "self.seen.get()[0]"),
    "more of it": ("counts-with_state.0", "state.update((count,))", "state.update((count,)); state.exists"),
    "a result more": ("counts-by_frames.0", "yield frame", "yield frame; yield frame"),
    "another clock": ("counts-by_batches.0", "clonoscope.uuid4()", "clonoscope.time()"),
}


@pytest.mark.parametrize(("task", "before", "after"), OTHERS.values(), ids=OTHERS)
def test_a_function_that_asks_spark_for_something_else_has_parted(
    folder: Path, task: str, before: str, after: str, tmp_path: Path
) -> None:
    assert CODE.count(before) == 1
    attempt = last_attempt(folder / "forms.zip", task)
    changed = site(tmp_path / "site", CODE.replace(before, after))
    found = replayed(changed, folder / "forms.zip", task, "--attempt", attempt)
    assert (found["verdict"], found["status"]) == ("diverged", 3), found


def without(bundle: Path, out: Path, keeps: Callable[[str, bytes], bytes | None]) -> Path:
    """The bundle with some of its members changed, or left out."""
    with zipfile.ZipFile(bundle) as held, zipfile.ZipFile(out, "w") as made:
        for name in held.namelist():
            data = keeps(name, held.read(name))
            if data is not None:
                made.writestr(name, data)
    return out


def without_results(name: str, data: bytes) -> bytes | None:
    return None if "/border/" in name else data


def as_without_asking_for_results(name: str, data: bytes) -> bytes | None:
    if "/border/" not in name:
        return data
    began = json.loads(data.splitlines()[0])
    return json.dumps(began | {"whole": False, "results": False}).encode() + b"\n"


def by_reference(name: str, data: bytes) -> bytes | None:
    if "/source/" not in name:
        return data
    lines = [json.loads(line) for line in data.splitlines()]
    refs = [{"topic": "counts", "partition": 0, "offset": n} for n in range(len(lines))]
    return b"".join(
        json.dumps({"offset": line["offset"], "t_us": line["t_us"], "ref": ref}).encode() + b"\n"
        for line, ref in zip(lines, refs, strict=True)
    )


def with_another_row(name: str, data: bytes) -> bytes | None:
    return data.replace(b'"tags":["a"]', b'"tags":["b"]') if "/source/" in name else data


def with_another_method(name: str, data: bytes) -> bytes | None:
    return data.replace(b'"method":"handleInputRows"', b'"method":"__reduce_ex__"') if "/border/" in name else data


CHANGED = {name: CODE.replace(form.before, form.after) for name, form in FORMS.items()}
LACKING = {
    "calls": (as_without_asking_for_results, "counts-by_frames.0", CODE, "record with results=True"),
    "anything of that, as of earlier versions": (
        without_results,
        "counts-by_row.0",
        CODE,
        "the recording does not say of which types",
    ),
    "records": (by_reference, "counts-by_frames.0", CODE, "references to 4 records"),
    "records that are what they were": (
        with_another_row,
        "counts-by_frames.0",
        CODE,
        "can't be made again of the recording",
    ),
    "calls that Spark makes": (
        with_another_method,
        "seen-Counting.0",
        CODE,
        "Spark calls no method '__reduce_ex__'",
    ),
}


@pytest.mark.parametrize(("keeps", "task", "code", "said"), LACKING.values(), ids=LACKING)
def test_what_the_recording_lacks_is_unknown(
    folder: Path, keeps: Any, task: str, code: str, said: str, tmp_path: Path
) -> None:
    bundle = without(folder / "forms.zip", tmp_path / "lacking.zip", keeps)
    found = replayed(site(tmp_path / "site", code), bundle, task, "--attempt", last_attempt(bundle, task))
    assert (found["verdict"], found["status"]) == ("unknown", 3) and said in found["sentence"], found
