"""Replays where the code is: the job's own function, fed and answered by its recording, in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import Recording
from tests.clonoscope.jobs_on_site import PRICING, ROOT, Site, price_of, run_pricing


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.write("pricing", PRICING)
    return made


# --- the same code


def test_the_same_code_gives_the_same_again_and_nothing_is_called(site: Site) -> None:
    outcome, status = site.replay(site.record("a", run_pricing))
    assert (outcome["verdict"], status) == ("identical", 0), outcome
    assert outcome["sentence"].startswith("Attempt 0 of orders.0 gives the same again: 6 outputs, of 6 records")


def test_records_that_are_none_are_given_and_held_against_as_they_were(site: Site) -> None:
    odd = ["text", {"a": 1}, ["k", 1.5, 2], 7, [None, None, "text"], ["k", 2**64, 1]]

    def run(made: Recording) -> None:
        with made.task("echo", operator="echo:process").epoch(0) as task:
            for offset, record in enumerate(odd):
                task.take(offset, topic="in", record=record)
                task.output(record)

    bundle = site.record("odd", run)
    for gives, verdict in (
        ("record", "identical"),
        ("[None, None, record]", "diverged"),
        ("'other' if record == 7 else record", "diverged"),
    ):
        site.write("echo", f"def process(record):\n    yield {gives}\n")
        outcome, _ = site.replay(bundle)
        assert outcome["verdict"] == verdict, outcome
    assert (outcome["detail"]["asked"], outcome["detail"]["logged"]) == ('"other"', "7"), outcome
    out = site.folder / "kept.zip"
    assert site.command("minimise", bundle, "--to", out).returncode == 0
    assert site.replay(out)[0]["verdict"] == "diverged"


def test_a_recording_that_was_killed_is_followed_to_where_it_breaks_off(site: Site) -> None:
    site.write(
        "job",
        """
        import os, signal
        import clonoscope
        made = clonoscope.start("killed", dir=".", payload="full")
        task = made.task("orders", operator="pricing:process")
        with task.epoch(0):
            for offset in range(50):
                record = [f"k{offset}", offset, {"item": offset}]
                task.take(offset, topic="orders", record=record)
                price = clonoscope.external(lambda n: n * 1.5, offset, name="price")
                at_ms = clonoscope.time_ns() // 1_000_000
                if offset == 30:
                    os.kill(os.getpid(), signal.SIGKILL)
                task.output([record[0], at_ms, {"price": price, "tag": str(clonoscope.uuid4())}])
        """,
    )
    command = [sys.executable, "job.py"]
    killed = subprocess.run(command, cwd=site.folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    site.command("dump", "killed", "--out", "k.zip")
    outcome, status = site.replay(site.folder / "k.zip")
    assert (outcome["verdict"], status) == ("identical", 0), outcome
    assert "30 outputs" in outcome["sentence"] and "breaks off" in outcome["sentence"]


class OutOfStock(Exception):
    """What the recorded job fails with."""


def run_failing(made: Recording, asks_first: bool = True) -> None:
    task = made.task("stock", operator="stock:process")
    with contextlib.suppress(OutOfStock), task.epoch(0):
        for offset in range(5):
            task.take(offset, topic="in", record=[offset, 0, offset])
            left = clonoscope.external(lambda n: 3 - n, offset, name="left")
            if left <= 0:
                raise OutOfStock(offset)
            task.output([offset, 0, left])


STOCK = """
    import clonoscope

    class OutOfStock(Exception):
        pass

    def process(record):
        left = clonoscope.external(print, record[0], name="left")
        if left <= 0:
            {then}
        return [record[0], 0, left]
"""


def test_an_exception_of_a_library_that_failed_an_attempt_fails_it_again(site: Site) -> None:
    """A replay may not make it: it stands for itself by its name."""

    def look(offset: int) -> int:
        raise OutOfStock(offset)

    def run(made: Recording) -> None:
        task = made.task("stock", operator="stock:process")
        with contextlib.suppress(OutOfStock), task.epoch(0):
            task.take(3, topic="in", record=[3, 0, 3])
            clonoscope.external(look, 3, name="left")

    site.write("stock", STOCK.format(then="pass"))
    bundle = site.record("failing", run)
    outcome, _ = site.replay(bundle)
    assert outcome["verdict"] == "identical" and "fails with OutOfStock: 3 as recorded" in outcome["sentence"], outcome
    site.write("stock", "import clonoscope\ndef process(record):\n    raise ValueError(3)\n")
    outcome, _ = site.replay(bundle)
    assert outcome["verdict"] == "diverged", outcome


@pytest.mark.parametrize(
    ("then", "verdict", "said"),
    [
        ("raise OutOfStock(record[0])", "identical", "and fails with OutOfStock: 3 as recorded"),
        ("raise KeyError(record[0])", "diverged", "raises KeyError: 3 at record in[0]@3, and the recording ends with"),
        ("left = clonoscope.time()", "diverged", "asks for time(); the recording ends here with OutOfStock: 3"),
        ("return None", "unknown", "which the function does not raise"),
    ],
    ids=["as recorded", "otherwise", "goes on", "raised around it"],
)
def test_a_failed_attempt_fails_again_or_it_is_said_what_else_happens(
    site: Site, then: str, verdict: str, said: str
) -> None:
    site.write("stock", STOCK.format(then=then))
    outcome, status = site.replay(site.record("failing", run_failing))
    assert (outcome["verdict"], status) == (verdict, 0 if verdict == "identical" else 3), outcome
    assert said in outcome["sentence"]


# --- other code


@pytest.mark.parametrize(
    ("change", "asked", "logged"),
    [
        (('"price": price', '"price": price + 1'), '"price":1.0', '"price":0.0'),
        (("clonoscope.time_ns()", "clonoscope.time()"), "time()", "time_ns from "),
        (('name="price"', 'name="cost"'), "the external call 'cost'", "external 'price' from"),
        (("yield [", "yield None\n        yield ["), "null", '"tag"'),
        (("yield [", "return\n        yield ["), "nothing more", "time_ns from "),
    ],
    ids=["value", "service", "call", "output", "nothing asked"],
)
def test_other_code_diverges_and_the_line_is_named(
    site: Site, change: tuple[str, str], asked: str, logged: str
) -> None:
    assert change[0] in PRICING
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace(*change))
    outcome, status = site.replay(bundle)
    assert (outcome["verdict"], status) == ("diverged", 3), outcome
    detail = outcome["detail"]
    if logged:
        assert asked in detail["asked"] and logged in detail["logged"], detail
        named = detail.get("line", {"file": str(site.folder / "pricing.py"), "function": "process"})
        assert (named["file"], named["function"]) == (str(site.folder / "pricing.py"), "process")
    assert detail["member"].startswith("tasks/orders.0/0/")


def test_a_job_that_catches_everything_hides_no_divergence(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    swallowing = """
        import clonoscope

        def process(record):
            try:
                price = clonoscope.external(print, name="cost")
            except BaseException:
                price = record[2]["item"] * 1.5
            return [record[0], clonoscope.time_ns() // 1_000_000, {"price": price, "tag": str(clonoscope.uuid4())}]
    """
    site.write("pricing", swallowing)
    outcome, _ = site.replay(bundle)
    assert outcome["verdict"] == "diverged" and "'cost'" in outcome["sentence"]


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        ("__import__('urllib.request').request.urlopen('http://127.0.0.1:9/x')", "127.0.0.1"),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "127.0.0.1"),
        ("__import__('socket').getaddrinfo('example.org', 80)", "the address of 'example.org'"),
        ("__import__('subprocess').run(['true'])", "another process, 'true'"),
        ("__import__('os').system('true')", "another process, b'true'"),
        ("__import__('os').fork()", "another process"),
    ],
)
def test_the_network_and_other_processes_are_refused_by_name(site: Site, reach: str, said: str) -> None:
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace("key, at, value = record", f"{reach}\n        key, at, value = record"))
    outcome, status = site.replay(bundle)
    assert (outcome["verdict"], status) == ("diverged", 3), outcome
    assert said in outcome["sentence"] and "a replay goes nowhere itself" in outcome["sentence"], outcome
    assert outcome["detail"]["line"]["text"].startswith("__import__") or "lib" in outcome["detail"]["line"]["file"]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("open('sink.txt', 'a').write('x')", "writes to 'sink.txt' (pricing.py:"),
        ("__import__('pathlib').Path('sink.txt').write_text('x')", "writes to 'sink.txt' (pricing.py:"),
        ("__import__('os').replace('there', 'there')", "renames 'there' (pricing.py:"),
        ("__import__('os').makedirs('made', exist_ok=True)", "makes the folder 'made' (pricing.py:"),
        ("__import__('sqlite3').connect('sink.db').execute('SELECT 1')", "opens the database 'sink.db' (pricing.py:"),
        ("open('there').read()", ""),
        ("open('/dev/null', 'w').write('x')", ""),
        ("__import__('colorsys')", ""),
    ],
)
def test_what_goes_to_files_past_external_is_told_with_its_line(site: Site, does: str, said: str) -> None:
    bundle = site.record("a", run_pricing)
    (site.folder / "there").write_text("")
    site.write("pricing", PRICING.replace("key, at, value = record", f"{does}\n        key, at, value = record"))
    outcome, status = site.replay(bundle)
    assert (outcome["verdict"], status) == ("identical", 0), outcome
    # Once, however many records there are; and nothing of what the replay itself writes.
    assert len(outcome["detail"].get("past_external", [])) == bool(said)
    assert (f"Not recorded, and so not compared: it {said}" in outcome["sentence"]) is (bool(said)), outcome


# --- what the recording lacks


def run_references(made: Recording, topics: tuple[str, ...] = ("orders",)) -> None:
    task = made.task("orders", operator="pricing:process")
    for epoch in range(2):
        with task.epoch(epoch):
            for offset in range(epoch * 3, epoch * 3 + 3):
                for topic in topics:
                    data = json.dumps({"item": offset, "of": topic}).encode()
                    task.take(offset, topic=topic, partition=2, data=data)
                    price = clonoscope.external(price_of, offset, name="price")
                    task.output([topic, clonoscope.time_ns() // 1_000_000, price])


READING = """
    import json
    import clonoscope
    from clonoscope.onsite.records import Fetched

    def process(record):
        record = json.loads(record) if isinstance(record, bytes) else record
        price = clonoscope.external(print, name="price")
        assert price == record["item"] * 1.5
        return [record["of"], clonoscope.time_ns() // 1_000_000, price]

    def data(topic, partition, offset):
        assert partition == 2
        return json.dumps({"item": offset, "of": topic}).encode()

    def fetched(topic, partition, offset):
        made = data(topic, partition, offset)
        return Fetched(json.loads(made), made)

    def another(topic, partition, offset):
        return data(topic, partition, offset).replace(b"5", b"6")

    def unproven(topic, partition, offset):
        return {"item": offset, "of": topic}

    def failing(topic, partition, offset):
        raise OSError("gone")
"""


@pytest.mark.parametrize(
    ("reader", "verdict", "said"),
    [
        (None, "unknown", "name a reader with --records"),
        ("data", "identical", ""),
        ("fetched", "identical", ""),
        ("another", "unknown", "their hash is another than the recorded one"),
        ("unproven", "identical", "the recorded hash says nothing of them"),
        ("failing", "unknown", "could not give record"),
    ],
)
@pytest.mark.parametrize("topics", [("orders",), ("orders", "returns")], ids=["one", "two"])
def test_references_are_read_and_held_against_their_hash(
    site: Site, reader: str | None, verdict: str, said: str, topics: tuple[str, ...]
) -> None:
    site.write("pricing", READING)
    bundle = site.record("refs", lambda made: run_references(made, topics), payload="ref")
    outcome, _ = site.replay(bundle, *(["--records", f"pricing:{reader}"] if reader else []))
    assert outcome["verdict"] == verdict and said in outcome["sentence"], outcome


def test_what_differs_with_records_that_nothing_proves_is_not_called_diverged(site: Site) -> None:
    site.write("pricing", READING.replace("price]", "price + 1]"))
    bundle = site.record("refs", run_references, payload="ref")
    outcome, status = site.replay(bundle, "--records", "pricing:unproven")
    assert (outcome["verdict"], status) == ("unknown", 3), outcome
    assert "may be all that is behind it" in outcome["sentence"]
    assert site.replay(bundle, "--records", "pricing:data")[0]["verdict"] == "diverged"


def run_redacted(made: Recording) -> None:
    task = made.task("people", operator="people:process")
    with task.epoch(0):
        task.take(0, topic="in", record=["k", 0, {"email": "a@b.example", "n": 1}])
        found = clonoscope.external(lambda: {"email": "a@b.example"}, name="who")
        task.output(["k", 0, {"email": found["email"], "n": 1}])


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"redact": ["email"]}, 'found["email"]', "redacted"),
        ({"payload": "none"}, 'found["email"]', "references"),
        ({"redact": ["email"]}, '"x"', "redacted"),
    ],
    ids=["by path", "without payload", "other code"],
)
def test_what_is_redacted_is_never_called_identical(site: Site, settings: dict[str, Any], code: str, said: str) -> None:
    site.write(
        "people",
        f"""
        import clonoscope

        def process(record):
            found = clonoscope.external(print, name="who")
            return ["k", 0, {{"email": {code}, "n": 1}}]
        """,
    )
    outcome, status = site.replay(site.record("r", run_redacted, **settings))
    assert (outcome["verdict"], status) == ("unknown", 3) and said in outcome["sentence"], outcome


def test_a_gap_is_never_called_identical_nor_diverged(site: Site) -> None:
    def run(made: Recording) -> None:
        run_pricing(made)
        made.task("orders").log.gap("the test says so")

    bundle = site.record("gap", run)
    assert "1 gap" in site.replay(bundle)[0]["sentence"]
    for code in (PRICING, PRICING.replace('"price": price', '"price": 7')):
        site.write("pricing", code)
        outcome, status = site.replay(bundle)
        assert (outcome["verdict"], status) == ("unknown", 3), outcome


def test_nothing_to_compare_is_nothing_identical(site: Site) -> None:
    def run(made: Recording) -> None:
        with made.task("quiet", operator="quiet:process").epoch(0):
            made.task("quiet").take(0, topic="in", record=[0, 0, 0])
            clonoscope.external(print, name="write", effect="write")

    site.write(
        "quiet",
        """
        import clonoscope

        def process(record):
            clonoscope.external(print, name="write", effect="write")
        """,
    )
    outcome, _ = site.replay(site.record("quiet", run))
    assert outcome["verdict"] == "unknown" and "could be compared" in outcome["sentence"]


# --- which attempt, which record


def test_which_task_and_attempt_is_chosen_or_asked_for(site: Site) -> None:
    def run(made: Recording) -> None:
        for partition in range(3):
            run_pricing(made, partition=partition)
        run_pricing(made, partition=1)
        run_pricing(made, partition=2)

    bundle = site.record("three", run)
    done = site.command("replay", bundle)
    assert done.returncode == 2 and "orders.0, orders.1, orders.2" in done.stderr
    assert site.replay(bundle, "--task", "orders.1")[0]["attempt"] == 1
    outcome, _ = site.replay(bundle, "--task", "orders.1", "--attempt", "0")
    assert (outcome["verdict"], outcome["attempt"]) == ("identical", 0), outcome
    for wrong in (["--task", "nobody"], ["--task", "orders.1", "--attempt", "9"]):
        assert site.command("replay", bundle, *wrong).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--app", "nowhere:process"], 2, "can't be found"),
        (["--app", "pricing"], 2, "jobs.orders:process"),
        (["--app", "pricing:nothing"], 2, "has no nothing"),
        (["--app", "broken:process"], 1, "can't be imported: ZeroDivisionError"),
        (["--app", "reaching:process"], 3, "127.0.0.1"),
        (["--at", "99"], 2, "took no such record"),
        (["--at", "a b"], 2, "orders[3]@1207"),
        (["--records", "pricing:nothing"], 2, "--records"),
        (["--out", "steps.tar"], 1, ".zip"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(site: Site, arguments: list[str], status: int, said: str) -> None:
    site.write("broken", "1 / 0")
    site.write("reaching", "import socket\nsocket.create_connection(('127.0.0.1', 9))")
    done = site.command("replay", site.record("a", run_pricing), *arguments)
    assert done.returncode == status and said in done.stderr + done.stdout, done
    assert "Traceback" not in done.stderr


def test_it_stops_before_a_record(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    done = site.command("replay", bundle, "--at", "orders[0]@4", "--out", "steps.zip")
    assert done.returncode == 0 and "Stopped before record orders[0]@4" in done.stdout, done
    assert "gave 4 outputs, as recorded" in done.stdout and (site.folder / "steps.zip").exists()
