"""`clonoscope minimise`: of a recording stays what the wrong follows from, and the wrong stays the same."""

import contextlib
import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import Recording
from clonoscope.onsite.incident import is_incident
from replay.bundle.reader import open_bundle
from tests.clonoscope.jobs_on_site import PRICING, ROOT, Site, run_pricing


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.write("pricing", PRICING)
    return made


def minimised(site: Site, bundle: Path, *arguments: Any) -> tuple[Path, dict[str, Any]]:
    """(the excerpt, what its manifest says of it)"""
    out = site.folder / "tests" / "incident.zip"
    out.parent.mkdir(exist_ok=True)
    out.unlink(missing_ok=True)
    done = site.command("minimise", bundle, "--to", out, *arguments)
    assert done.returncode == 0, done
    with open_bundle(out) as opened:
        assert opened.check_shape() == []
        return out, json.loads(opened.members.read("job.json"))["excerpt"]


def test_of_a_function_without_a_state_one_record_stays(site: Site) -> None:
    bundle = site.record("a", lambda made: run_pricing(made, epochs=6, records=20))
    site.write("pricing", PRICING.replace('"price": price', '"price": price + (key in ("k77", "k90"))'))
    out, said = minimised(site, bundle)
    assert (said["records"], said["of_records"], said["app"], said["shows"]["kind"]) == (
        1,
        120,
        "pricing:process",
        "diverged",
    )
    whole, _ = site.replay(bundle)
    excerpt, _ = site.replay(out)
    for name in ("asked", "logged", "line", "record"):
        assert excerpt["detail"][name] == whole["detail"][name]
    assert whole["detail"]["record"] == "orders[0]@77"
    site.write("pricing", PRICING)
    assert site.replay(out)[0]["verdict"] == "identical"


COUNTING = """
    class Counting:
        def __init__(self):
            self.counts = {{}}

        def restore(self, state):
            self.counts = dict(state)

        def snapshot(self):
            return self.counts

        def process(self, record):
            self.counts[record[0]] = self.counts.get(record[0], 0) + 1
            return [record[0], 0, min(self.counts[record[0]], {most})]
"""


@pytest.mark.parametrize("seed", range(4))
def test_of_a_class_with_a_state_stays_what_its_state_follows_from(site: Site, seed: int) -> None:
    chance = random.Random(seed)
    keys = [chance.choice("abcd") for _ in range(60)]
    wanted = next(key for n, key in enumerate(keys) if keys[: n + 1].count(key) == 4)

    def run(made: Recording) -> None:
        counts: dict[str, int] = {}
        task = made.task("count", operator="counting:Counting")
        for epoch in range(3):
            with task.epoch(epoch):
                for offset in range(epoch * 20, epoch * 20 + 20):
                    task.take(offset, topic="in", record=[keys[offset], 0, None])
                    counts[keys[offset]] = counts.get(keys[offset], 0) + 1
                    task.output([keys[offset], 0, counts[keys[offset]]])

    bundle = site.record("c", run)
    site.write("counting", COUNTING.format(most=3))
    out, said = minimised(site, bundle)
    assert said["records"] == 4, seed
    with open_bundle(out) as opened:
        assert [line["record"][0] for line in opened.source("count.0", 0)] == [wanted] * 4, seed
        assert [line["offset"] for line in opened.source("count.0", 0)] == [0, 1, 2, 3]
        assert [line["source"] for line in opened.sink("count.0", 0)] == [[["count.0", n]] for n in range(4)]
    site.write("counting", COUNTING.format(most=1_000_000))
    assert site.replay(out)[0]["verdict"] == "identical", seed


class OutOfStock(Exception):
    """What the recorded job fails with."""


def run_failing(made: Recording, **take: Any) -> None:
    task = made.task("stock", operator="stock:process")
    with contextlib.suppress(OutOfStock), task.epoch(0):
        for offset in range(30):
            if take:
                task.take(offset, topic="in", data=json.dumps([offset, 0, 20 - offset]).encode())
            else:
                task.take(offset, topic="in", record=[offset, 0, 20 - offset])
            left = clonoscope.external(lambda n: 20 - n, offset, name="left")
            if left <= 0:
                raise OutOfStock(f"item {offset}")
            task.output([offset, 0, left])


STOCK = """
    import json
    import clonoscope

    class OutOfStock(Exception):
        pass

    def process(record):
        record = json.loads(record) if isinstance(record, bytes) else record
        left = clonoscope.external(print, record[0], name="left")
        if left <= 0:
            {then}
        return [record[0], 0, left]

    def read(topic, partition, offset):
        return json.dumps([offset, 0, 20 - offset]).encode()
"""


def test_of_a_failed_attempt_the_record_stays_that_it_failed_at(site: Site) -> None:
    site.write("stock", STOCK.format(then='raise OutOfStock(f"item {record[0]}")'))
    out, said = minimised(site, site.record("f", run_failing))
    assert said["records"] == 1 and said["shows"] == {"kind": "failed", "raised": "OutOfStock: item 20"}
    outcome, status = site.replay(out)
    assert (outcome["verdict"], status) == ("identical", 0) and "OutOfStock: item 20" in outcome["sentence"], outcome


def test_records_that_a_reader_gave_are_in_the_excerpt(site: Site) -> None:
    site.write("stock", STOCK.format(then='raise OutOfStock(f"item {record[0]}")'))
    bundle = site.record("f", lambda made: run_failing(made, data=True), payload="ref")
    out, said = minimised(site, bundle, "--records", "stock:read")
    assert said["records"] == 1 and "OutOfStock: item 20" in site.replay(out)[0]["sentence"]
    done = site.command("minimise", bundle, "--to", site.folder / "none.zip")
    assert done.returncode == 3 and "--records" in done.stdout, done
    assert not (site.folder / "none.zip").exists()


def test_the_same_recording_gives_the_same_bytes(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace('"price": price', '"price": price + 1'))
    first = minimised(site, bundle)[0].read_bytes()
    assert minimised(site, bundle)[0].read_bytes() == first


def test_where_nothing_is_wrong_nothing_is_kept(site: Site) -> None:
    bundle, out = site.record("a", run_pricing), site.folder / "none.zip"
    done = site.command("minimise", bundle, "--to", out)
    assert done.returncode == 3 and "nothing to keep" in done.stderr and not out.exists(), done
    assert site.command("minimise", bundle, "--to", out, "--app", "nowhere:x").returncode == 2
    assert list(site.folder.glob(".none*")) == []


def test_a_function_that_ends_its_process_is_told_of(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace("key, at, value = record", "__import__('os')._exit(3)"))
    done = site.command("minimise", bundle, "--to", site.folder / "x.zip")
    assert done.returncode == 1 and "ended its process" in done.stderr, done


# --- the plugin


def pytest_on(site: Site, *arguments: str, plugin: bool = True) -> Any:
    given = ["-p", "clonoscope.pytest_plugin"] if plugin else []
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *given, *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "DJANGO"))}
    return subprocess.run(
        command,
        cwd=site.folder,
        env=environment | {"PYTHONPATH": f"{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_excerpts_are_tests_that_pass_when_the_code_is_right(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    wrong = PRICING.replace('"price": price', '"price": price + (key == "k4")')
    site.write("pricing", wrong)
    out, _ = minimised(site, bundle)
    (out.parent / "other.zip").write_bytes(bundle.read_bytes())
    (out.parent / "no-zip.zip").write_bytes(b"not one")
    (site.folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    failed = pytest_on(site)
    assert failed.returncode == 1 and "1 failed" in failed.stdout, failed.stdout
    assert "pricing.py:10 in process" in failed.stdout and '"price":7.0' in failed.stdout, failed.stdout
    assert "Traceback" not in failed.stdout
    site.write("pricing", PRICING)
    assert "1 passed" in pytest_on(site).stdout
    (site.folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nclonoscope_bundles = elsewhere/*.zip\n")
    assert "no tests ran" in pytest_on(site).stdout


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_file_among_the_tests_is_none_of_ours_and_stops_nobody(method: int, tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("job.json", b'{"format": "something else", "excerpt": 1}' * 4)
    whole = path.read_bytes()
    for at in range(len(whole)):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path.write_bytes(data)
            assert not is_incident(path), at


@pytest.mark.parametrize(
    ("then", "passes"),
    [
        ('raise OutOfStock(f"item {record[0]}")', False),
        ("raise KeyError(record[0])", False),
        ("return None", True),
        ("left = clonoscope.time()", True),
    ],
    ids=["as before", "otherwise", "mended", "mended, and asks"],
)
def test_an_attempt_that_failed_passes_when_it_gets_past_there(site: Site, then: str, passes: bool) -> None:
    site.write("stock", STOCK.format(then='raise OutOfStock(f"item {record[0]}")'))
    minimised(site, site.record("f", run_failing))
    site.write("stock", STOCK.format(then=then))
    done = pytest_on(site, "tests")
    assert done.returncode == (0 if passes else 1) and ("1 passed" if passes else "1 failed") in done.stdout, (
        done.stdout
    )
