"""Every kind of function is called as it is: for a record, for many, as a class with a state, and random ones."""

import contextlib
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import clonoscope
from clonoscope import Recording
from replay.bundle.reader import open_bundle
from tests.clonoscope.jobs_on_site import PRICING, ROOT, Site, run_pricing


class OutOfStock(Exception):
    """What a recorded job fails with."""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.write("pricing", PRICING)
    return made


FORMS = {
    "batch": """
        def process(records, epoch_id):
            for key, at, value in records:
                yield made(key, value)
    """,
    "list": """
        def process(batch):
            return [made(key, value) for key, at, value in batch]
    """,
    "class": """
        class process:
            def process(self, record):
                return made(record[0], record[2])
    """,
    "async": """
        async def process(record):
            return made(record[0], record[2])
    """,
    "async generator": """
        async def process(record):
            yield made(record[0], record[2])
    """,
    "with the task": """
        def process(record, task):
            task.take(0, topic="whatever")
            task.output(made(record[0], record[2]))
    """,
    "with a recording": """
        recording = clonoscope.start("orders", dir="must-not-be-made")

        def process(record):
            with recording.task("orders", 0).epoch(3):
                recording.task("orders", 0).output(made(record[0], record[2]))
    """,
    "adapted": """
        class Wrapped:
            def __clonoscope_replay__(self, task):
                return lambda record: made(record[0], record[2])

            def __call__(self, *engine):
                raise RuntimeError("an engine calls this")

        process = Wrapped()
    """,
}
MADE = """
        import clonoscope

        def made(key, value):
            price = clonoscope.external(print, value["item"], name="price")
            return [key, clonoscope.time_ns() // 1_000_000, {"price": price, "tag": str(clonoscope.uuid4())}]
"""


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_function_is_called_as_it_is(site: Site, form: str) -> None:
    site.write("pricing", MADE + FORMS[form])
    outcome, _ = site.replay(site.record("a", run_pricing))
    assert outcome["verdict"] == "identical" and "6 outputs, of 6 records" in outcome["sentence"], outcome
    assert not (site.folder / "must-not-be-made").exists()


@pytest.mark.parametrize("at_once", [True, False])
def test_records_that_were_taken_all_at_once_are_given_so(site: Site, at_once: bool) -> None:
    def run(made: Recording) -> None:
        task = made.task("orders", operator="pricing:process")
        with task.epoch(0):
            if at_once:
                task.take_range(0, 4, topic="orders")
            for offset in range(4):
                if not at_once:
                    task.take(offset, topic="orders")
                task.output([offset, 0, clonoscope.random()])

    site.write(
        "pricing",
        """
        import clonoscope

        def process(records):
            for record in records:
                yield [record["n"], 0, clonoscope.random()]

        def read(topic, partition, offset):
            return {"n": offset}
        """,
    )
    outcome, _ = site.replay(site.record("r", run, payload="ref"), "--records", "pricing:read")
    assert outcome["verdict"] == "identical", outcome


COUNTING = """
    import clonoscope

    class Counting:
        def __init__(self):
            self.counts = {{}}

        def restore(self, state):
            self.counts = dict(state["counts"])

        def snapshot(self):
            return {{"counts": [list(one) for one in self.counts.items()]}}

        def process(self, record):
            self.counts[record[0]] = self.counts.get(record[0], 0) + {step}
            return [record[0], 0, self.counts[record[0]]{more}]
"""


def run_counting(made: Recording, with_state: bool = True) -> None:
    """Batch 2 runs again: its attempt begins with the state of checkpoint 2."""
    task = made.task("count", operator="counting:Counting")
    counts: dict[str, int] = {}

    def batch(epoch: int, fails: bool = False) -> None:
        with task.epoch(epoch):
            for offset in range(epoch * 4, epoch * 4 + 4):
                key = f"k{offset % 3}"
                task.take(offset, topic="in", record=[key, 0, None])
                counts[key] = counts.get(key, 0) + 1
                task.output([key, 0, counts[key]])
                if fails and offset % 4 == 2:
                    raise OutOfStock(offset)
            if with_state:
                task.state(epoch + 1, {"counts": [list(one) for one in counts.items()]})

    batch(0)
    batch(1)
    kept = dict(counts)
    with contextlib.suppress(OutOfStock):
        batch(2, fails=True)
    counts.clear()
    counts.update(kept)
    batch(2)
    batch(3)


def test_a_class_begins_with_the_state_that_its_attempt_began_with(site: Site) -> None:
    bundle = site.record("c", run_counting)
    site.write("counting", COUNTING.format(step=1, more=""))
    outcome, _ = site.replay(bundle, "--attempt", "1")
    assert outcome["verdict"] == "identical" and "2 states" in outcome["sentence"], outcome
    site.write("counting", COUNTING.format(step=2, more=" // 2 * 0 + 1"))
    assert site.replay(bundle, "--attempt", "1")[0]["verdict"] == "diverged"


def test_a_state_alone_that_is_another_diverges(site: Site) -> None:
    code = COUNTING.format(step=1, more="").replace("self.counts.items()]", "self.counts.items()][::-1]")
    site.write("counting", code)
    outcome, _ = site.replay(site.record("c", run_counting), "--attempt", "1")
    assert outcome["verdict"] == "diverged" and "state at checkpoint 3" in outcome["sentence"], outcome
    assert outcome["detail"]["member"] == "tasks/count.0/1/state/3.json"


def test_a_state_that_is_not_recorded_is_missed(site: Site) -> None:
    site.write("counting", COUNTING.format(step=1, more=""))
    bundle = site.record("c", lambda made: run_counting(made, with_state=False))
    outcome, _ = site.replay(bundle, "--attempt", "1")
    assert outcome["verdict"] == "unknown" and "checkpoint 2" in outcome["sentence"], outcome


def test_what_was_recorded_by_interception_is_answered_by_it(site: Site) -> None:
    code = """
        import random, time, uuid
        from datetime import datetime

        def process(record):
            return [record[0], time.time_ns() // 1_000, [random.random(), str(uuid.uuid4()), str(datetime.now())]]
    """
    site.write("unaware", code)
    site.write(
        "job",
        """
        import clonoscope, unaware
        clonoscope.intercept()
        made = clonoscope.start("unaware", dir=".", payload="full")
        task = made.task("p", operator="unaware:process")
        for epoch in range(2):
            with task.epoch(epoch):
                for offset in range(3):
                    task.take(offset + epoch * 3, topic="in", record=[offset, 0, None])
                    task.output(unaware.process([offset, 0, None]))
        made.dump("unaware.zip")
        """,
    )
    ran = subprocess.run(
        [sys.executable, "job.py"], cwd=site.folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert ran.returncode == 0
    outcome, _ = site.replay(site.folder / "unaware.zip")
    assert outcome["verdict"] == "identical" and "6 outputs" in outcome["sentence"], outcome
    site.write(
        "unaware",
        code
        + "\n"
        + textwrap.dedent("""
        process_before = process
        def process(record):
            time.monotonic()
            return process_before(record)
    """).replace("\n", "\n        "),
    )
    assert site.replay(site.folder / "unaware.zip")[0]["verdict"] == "diverged"


# --- at random


@pytest.mark.parametrize("seed", range(6))
def test_random_jobs_replay_identically_and_no_changed_answer_does(site: Site, seed: int) -> None:
    """The code stands in a file; the recording is made by importing that same file, with the outside at hand."""
    chance = random.Random(seed)
    services = ["time_ns()", "time()", "random()", "uuid4().hex", "urandom(3).hex()", "external(outside, n, name='o')"]
    asked = [f"clonoscope.{chance.choice(services)}" for _ in range(chance.randint(1, 6))]
    body = f"[{', '.join(asked)}]"
    site.write(
        "made",
        f"""
        import clonoscope

        def outside(n):
            return {{"n": n, "b": [n, None, "é"]}}

        def process(record):
            n = record[2]
            if n % {chance.randint(2, 5)}:
                yield [n, 0, {body}]
                yield [n, 1, clonoscope.random()]
        """,
    )
    epochs = [chance.randint(0, 6) for _ in range(chance.randint(1, 4))]
    site.write(
        "job",
        f"""
        import clonoscope, made
        recording = clonoscope.start("made", dir=".", payload="full")
        task, at = recording.task("p", operator="made:process"), 0
        for epoch, records in enumerate({epochs}):
            with task.epoch(epoch):
                for n in range(at, at + records):
                    task.take(n, topic="in", record=[n, 0, n])
                    for one in made.process([n, 0, n]):
                        task.output(one)
                at += records
        recording.dump("made.zip")
        """,
    )
    ran = subprocess.run(
        [sys.executable, "job.py"], cwd=site.folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert ran.returncode == 0, seed
    bundle = site.folder / "made.zip"
    outcome, _ = site.replay(bundle)
    with open_bundle(bundle) as opened:
        outputs = list(opened.sink("p.0", 0))
    assert outcome["verdict"] == ("identical" if outputs else "unknown"), (seed, outcome)
    if outputs:
        site.command("replay", bundle, "--app", "changed:process")
        site.write(
            "changed",
            f"import made\ndef process(record):\n    for one in made.process(record):\n"
            f"        yield one[:1] + [one[1] + (one[0] == {outputs[-1]['record'][0]})] + one[2:]\n",
        )
        assert site.replay(bundle, "--app", "changed:process")[0]["verdict"] == "diverged", seed


def test_a_wrapper_that_no_replay_can_call_is_refused(site: Site) -> None:
    site.write(
        "pricing",
        """
        from clonoscope.adapters.spark import recorder

        process = recorder("orders")
        """,
    )
    done = site.command("replay", site.record("a", run_pricing))
    assert done.returncode == 2 and "wrapped by an adapter" in done.stderr, done
