"""One warm Spark driver for all tests of a session, and the way from members of a bundle to a published job."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from ingest.lake.publish import publish, staging_folder
from ingest.lake.readers import Lake, PublishedJob
from ingest.launch import IngestRequest, IngestResult, SparkDriver

Ingested = Callable[[Path], tuple[PublishedJob, IngestResult]]
_numbers = count()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake-data")


@pytest.fixture(scope="session")
def driver(data: Path) -> Iterator[SparkDriver]:
    driver = SparkDriver(data, data / "logs" / "driver.log")
    driver.start()
    yield driver
    driver.stop()


@pytest.fixture
def ingested(driver: SparkDriver, data: Path) -> Ingested:
    """Takes a pack through the driver and publishes it as a job of its own."""

    def ingest(pack: Path) -> tuple[PublishedJob, IngestResult]:
        number = next(_numbers)
        job, work = f"j_{number:012d}", f"w{number}"
        staging = staging_folder(data, work, 0)
        result = driver.ingest(IngestRequest(job, pack, staging, work, 0))
        publish(data, staging, job, work, 0)
        return Lake(data).job(job), result

    return ingest
