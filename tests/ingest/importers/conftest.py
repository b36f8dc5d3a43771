"""Real queries, run once for all tests of the importer."""

from pathlib import Path

import pytest

from tests.ingest.importers.checkpoints import killed_queries
from tests.once import made_once


def _queries(factory: pytest.TempPathFactory, provider: str) -> Path:
    return made_once(factory, provider, lambda folder: killed_queries(folder, provider)) / "queries"


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _queries(tmp_path_factory, "hdfs")


@pytest.fixture(scope="session")
def changelog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _queries(tmp_path_factory, "rocksdb-changelog")


@pytest.fixture(scope="session")
def rocksdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _queries(tmp_path_factory, "rocksdb")
