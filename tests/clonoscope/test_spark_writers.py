"""Writers of `foreach` and functions that hand something to the outside: replayed as they were, and changed."""

import gc
import itertools
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from clonoscope import Recording, start
from clonoscope.adapters.spark_places import Place, task_of
from clonoscope.adapters.spark_work import Work, executes
from clonoscope.publishing import publish
from replay.bundle.reader import open_bundle
from replay.guarantees.observed.delivery import delivery
from tests.clonoscope.jobs_on_site import Site
from tests.clonoscope.recorded import recording
from tests.clonoscope.replayed_here import replayed

CODE = """
    import clonoscope
    from clonoscope.adapters.spark import recorder

    recorded = recorder("orders", payload="full")

    class Sink:
        def insert(self, *values):
            if values[-1] >= 10:
                raise ConnectionError("the sink is full")

    class Writer:
        def __init__(self):
            self.total, self.sink = 0, Sink()

        def open(self, partition_id, epoch_id):
            self.total += clonoscope.external(int, epoch_id)
            return epoch_id < 7

        def process(self, row):
            self.total += row.order
            PROCESS

        def close(self, error):
            clonoscope.external(print, "closed", clonoscope.time_ns() * 0, effect="write")
"""
ASKS = "return clonoscope.random()"
PLAIN = "clonoscope.external(self.sink.insert, self.total, effect='write')"
OPAQUE = "clonoscope.external(Sink.insert, self.sink, self.total, effect='write')"
GIVES = "[clonoscope.time() for _ in recorded.outputs([{'total': self.total}], key='total')]"
BARE = CODE.partition("        def open")[0] + "        def process(self, row):\n            PROCESS\n"
"""Without `open` and `close`."""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def writer_of(site: Site, process: str, code: str = CODE) -> Any:
    """A writer as a worker has it, of its file."""
    site.write("writers", code.replace("PROCESS", process))
    path = site.folder / "writers.py"
    found: dict[str, Any] = {"__name__": "writers"}
    exec(compile(path.read_text(), str(path), "exec"), found)  # noqa: S102 - a job's own code
    return found["Writer"]()


def write(made: Recording, writer: Any, rows: Iterable[Row], batch: int = 0, *, results: bool = True) -> None:
    """As Spark does in a worker."""
    place = Place("query", "orders", "run", batch, 0)
    work = Work(task_of(made, place, writer), place, hashes=True, results=results)
    fault: Exception | None = None
    with executes(work.taking):
        wants = work.opened(writer.open, 0, batch) if hasattr(writer, "open") else True
        try:
            for row in rows if wants else ():
                work.written(writer.process, row)
        except Exception as raised:
            fault = raised
        if hasattr(writer, "close"):
            work.closed(writer.close, fault)
        if fault is None:
            work.finish()


def orders(count: int = 3, then: Exception | None = None) -> Iterable[Row]:
    for number in range(1, count + 1):
        yield Row(order=number, at=None)
    if then is not None:
        raise then


def record(site: Site, process: str, *rows: Iterable[Row], code: str = CODE, results: bool = True) -> Path:
    """Batch by batch; Spark sends a writer anew for each."""
    with recording(site.folder / "recorded", payload="full") as made:
        for batch, of_batch in enumerate(rows or [orders()]):
            write(made, writer_of(site, process, code), of_batch, batch, results=results)
        assert made.faults == []
        bundle = site.folder / "writers.zip"
        bundle.unlink(missing_ok=True)
        return made.dump(bundle)


def told(site: Site, *arguments: Any) -> dict[str, Any]:
    return replayed(site.folder, site.folder / "writers.zip", "orders-Writer.0", *arguments)


def test_what_a_writer_hands_over_is_the_same_again_in_each_batch(site: Site) -> None:
    record(site, PLAIN, orders(1), orders(1), [])
    found = told(site)
    assert (
        found["verdict"] == "identical" and "2 outputs, 5 writes, of 2 records and 11 answers" in found["sentence"]
    ), found


CHANGES = {
    "what it writes": ("self.total, effect", "-self.total, effect", PLAIN.replace("self.total,", "-self.total,")),
    "that it writes more": (PLAIN, f"{PLAIN}; {PLAIN}", PLAIN),
    "that it writes less": (PLAIN, "pass", "pass"),
    "that it wants no rows": ("epoch_id < 7", "epoch_id > 7", "return epoch_id > 7"),
    "what it writes at last": ('"closed"', '"done"', 'clonoscope.external(print, "done"'),
}


@pytest.mark.parametrize(("before", "after", "shows"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_writer_is_found_with_its_line(site: Site, before: str, after: str, shows: str) -> None:
    record(site, PLAIN)
    code = CODE.replace("PROCESS", PLAIN)
    assert code.count(before) == 1
    writer_of(site, PLAIN, code.replace(before, after))
    found = told(site)
    assert (found["verdict"], found["status"]) == ("diverged", 3), found
    assert found["detail"]["line"]["text"].startswith(shows.strip()), found


NOT_TOLD = "what a writer does with a row is not recorded"
SILENT: dict[str, tuple[str, str]] = {
    "what it keeps to itself": (ASKS, NOT_TOLD),
    "what nobody knows again": (OPAQUE, "of 3 writes it can't be told whether all that was handed over is the same"),
}


@pytest.mark.parametrize(("process", "said"), SILENT.values(), ids=SILENT)
def test_a_writer_of_which_nothing_can_be_compared_is_unknown(site: Site, process: str, said: str) -> None:
    record(site, process, code=BARE)
    found = told(site)
    assert found["verdict"] == "unknown" and said in found["sentence"] and NOT_TOLD in found["sentence"], found


def test_of_what_can_not_be_compared_whole_the_rest_is(site: Site) -> None:
    record(site, OPAQUE)
    found = told(site)
    assert found["verdict"] == "unknown" and NOT_TOLD in found["sentence"], found
    record(site, f"{OPAQUE}; {PLAIN}")
    found = told(site)
    assert found["verdict"] == "identical", found
    assert "Still, of 3 writes it can't be told whether all that was handed over" in found["sentence"], found
    writer_of(site, f"{OPAQUE}; {PLAIN}".replace("self.sink, self.total", "self.sink, 0"))
    found = told(site)
    assert found["verdict"] == "diverged" and found["detail"]["line"]["text"].startswith("clonoscope.ext"), found


def test_a_writer_says_itself_what_leaves(site: Site) -> None:
    record(site, GIVES, code=BARE)
    found = told(site)
    assert found["verdict"] == "identical" and "again: 3 outputs, of 3 records" in found["sentence"], found
    writer_of(site, GIVES.replace("self.total}", "self.total + 1}"), BARE)
    found = told(site)
    assert found["verdict"] == "diverged" and found["detail"]["line"]["text"].startswith("[clonoscope.time()"), found
    assert (found["detail"]["asked"], found["detail"]["logged"]) == ('[1,0,{"total":1}]', '[0,0,{"total":0}]')


FAILING = {
    "in a row": (4, None, "ConnectionError: the sink is full"),
    "where its rows come from": (1, ValueError("no shuffle"), "ValueError: no shuffle"),
}


@pytest.mark.parametrize(("rows", "then", "fault"), FAILING.values(), ids=FAILING)
def test_a_writer_that_failed_fails_again(site: Site, rows: int, then: Exception | None, fault: str) -> None:
    record(site, PLAIN, orders(2), orders(rows, then))
    found = told(site)
    assert found["verdict"] == "identical" and f"fails with {fault} as recorded" in found["sentence"], found
    writer_of(site, PLAIN.replace("self.total", "self.total - row.order"))
    assert told(site)["verdict"] == "diverged"


def test_without_results_a_writer_is_unknown(site: Site) -> None:
    record(site, PLAIN, results=False)
    found = told(site)
    assert found["verdict"] == "unknown" and "does not say of which types" in found["sentence"], found


@pytest.mark.parametrize("rows", [0, 2])
def test_a_writer_that_was_killed_is_followed_to_where_it_breaks_off(site: Site, rows: int) -> None:
    writer = writer_of(site, PLAIN)

    def until_killed() -> Iterable[Row]:
        yield from orders(rows)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        gc.disable()  # of what other threads of this process left
        try:
            write(start("orders", dir=site.folder / "recorded", payload="full"), writer, until_killed())
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    publish(site.folder / "recorded" / "orders", site.folder / "writers.zip")
    found = told(site)
    if rows:
        assert found["verdict"] == "identical" and "2 writes" in found["sentence"], found
        assert "up to where the recording breaks off" in found["sentence"], found
    else:
        assert found["verdict"] == "unknown", found


@pytest.mark.parametrize("code", [CODE, BARE], ids=["closed at its end", "never closed"])
def test_what_a_writer_may_keep_until_it_is_closed_has_left_when_it_was(site: Site, code: str) -> None:
    record(site, "self.total = row.order", orders(2), code=code.replace("self.total += clon", "self.total = clon"))
    with open_bundle(site.folder / "writers.zip") as bundle:
        topics = [line.get("topic") for line in bundle.sink("orders-Writer.0", 0)]
        sent = [event["outputs"] for event in bundle.events() if event["type"] == "outputs-sent"]
        told = delivery(bundle)
    assert (topics, sent) == ((["Writer"] * 2, [2]) if code == CODE else ([None] * 2, []))
    assert told is not None and told["verdict"] == "exactly once", told


def test_what_a_writer_kept_when_it_was_killed_nobody_knows(site: Site) -> None:
    writer = writer_of(site, "self.total = row.order")
    child = os.fork()
    if child == 0:
        gc.disable()  # of what other threads of this process left
        try:
            rows = itertools.chain(orders(2), (os.kill(os.getpid(), signal.SIGKILL) for _ in range(1)))
            write(start("orders", dir=site.folder / "recorded", payload="full"), writer, rows)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    for _ in range(2):
        with recording(site.folder / "recorded", payload="full") as made:
            write(made, writer_of(site, "self.total = row.order"), orders(2))
    publish(site.folder / "recorded" / "orders", site.folder / "writers.zip")
    with open_bundle(site.folder / "writers.zip") as bundle:
        told = delivery(bundle)
    assert told is not None and told["verdict"] == "at least once", "the two that were closed gave the same"
    assert [one["attempts"] for one in told["twice"]] == [[1, 2]] * 2
    assert any("attempt 0 of orders-Writer.0 handed 2 outputs over" in why for why in told["missing"]), told


def test_an_incident_of_a_writer_is_kept(site: Site) -> None:
    record(site, PLAIN.replace("self.total", "row.order"), orders(2), orders(2))
    writer_of(site, PLAIN.replace("self.total", "row.order + (row.order == 2)"))
    done = site.command("minimise", "writers.zip", "--task", "orders-Writer.0", "--to", "incident.zip")
    assert done.returncode == 0 and "1 record of 4" in done.stdout, done.stdout + done.stderr
    assert "hands something else to Sink.insert" in done.stdout, done.stdout
