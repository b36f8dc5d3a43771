"""An ingest on a real cluster of two workers, one of them lost midway: folder or bucket, it writes what one does."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.standalone import Standalone, standalone
from bench.without_spark import ingest_here
from ingest.jobs.cluster import OtherCodeError, SameCode, code_digest, own_settings
from ingest.lake.manifest import LakeManifest
from ingest.lake.places import Place, place_of, put, readable
from ingest.lake.publish import publish, staging_folder, version_folder
from ingest.lake.readers import Lake
from ingest.launch import IngestRequest, Progress, SparkDriver
from tests.ingest.made import packed, random_recording
from tests.services.s3 import BUCKET


@pytest.fixture(scope="module")
def large_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in every table, and logs for some seconds of several tasks."""
    made = random_recording(7, parallelism=3, epochs=4, buffers=20)
    log = b"".join(b"\x01" + n.to_bytes(8, "big") for n in range(900_000))
    more = {f"tasks/map-1.{n % 3}/0/main/{1000 + n}.det": log for n in range(10)}
    return packed(made.manifest, made.members | more, tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def cluster(running_s3: dict[str, str]) -> Iterator[Standalone]:
    with standalone(environment=running_s3) as cluster:
        yield cluster


def assert_same_tables(one: Place, other: Place) -> None:
    """File by file and row by row; in which order a file numbers its names is left to whoever writes it."""
    paths = [[file.path for file in (*told.files, *told.log_index)] for told in map(LakeManifest.read, (one, other))]
    assert paths[0] == paths[1] and len(paths[0]) > 20
    for path in paths[0]:
        assert pq.read_table(readable(one / path)).equals(pq.read_table(readable(other / path))), path


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.xdist_group("spark")
def test_a_cluster_that_loses_a_worker_midway_writes_what_one_machine_writes(
    cluster: Standalone, large_pack: Path, bucket: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_MASTER", cluster.master)
    lost: list[str] = []

    def lose_one_at_work(told: Progress) -> None:
        """A JVM, its daemon and a task are three processes below a worker."""
        at_work = [name for name in cluster.processes if len(cluster.below(name)) >= 3]
        if told.phase == "decoding" and told.done and at_work and not lost:
            lost.append(at_work[0])
            cluster.kill(at_work[0])

    data, log = tmp_path / "data", tmp_path / "driver.log"
    staging = staging_folder(data, "w", 0)
    root = place_of(f"s3://{BUCKET}/cluster")
    in_bucket, stored = version_folder(root, "j_1", "w", 0), root / "bundles" / "j_1.pack"
    put(stored, large_pack.read_bytes())
    driver = SparkDriver(data, log)
    try:
        result = driver.ingest(IngestRequest("j_1", large_pack, staging, "w", 0), lose_one_at_work)
        driver.ingest(IngestRequest("j_1", str(stored), str(in_bucket), "w", 0))
    finally:
        driver.stop()

    assert lost and "Lost executor" in log.read_text(), log.read_text()
    version = publish(data, staging, "j_1", "w", 0)
    told = ingest_here("j_1", large_pack, tmp_path / "here")
    assert (result.status, result.facts) == (told["status"], told["facts"])
    for written in (version, in_bucket):
        assert_same_tables(written, tmp_path / "here")
    assert Lake(data).rows("SELECT count(*) FROM determinants", job="j_1")[0][0] > 9_000_000


def test_a_machine_with_other_code_is_named_and_does_nothing():
    assert SameCode(abs, code_digest())(-3) == 3
    with pytest.raises(OtherCodeError, match="another version of the product"):
        SameCode(abs, "0" * 64)(-3)


def test_the_owners_own_file_of_settings_is_not_spoken_against(tmp_path: Path):
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.executor.cores 9\nspark.executor.memory  3g\nspark.driver.host=db.example.org\n"
    )
    told = own_settings("spark://127.0.0.1:7077", tmp_path)
    assert told["spark.executor.cores"] == "1"
    assert not {"spark.executor.memory", "spark.driver.host"} & set(told)
    assert own_settings("spark://127.0.0.1:7077", None)["spark.driver.host"] == "127.0.0.1"
