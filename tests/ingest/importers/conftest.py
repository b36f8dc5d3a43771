"""Real queries, run once for all tests of the importer."""

from pathlib import Path

import pytest

from tests.ingest.importers.checkpoints import killed_queries


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killed_queries(tmp_path_factory.mktemp("hdfs"), "hdfs")


@pytest.fixture(scope="session")
def changelog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killed_queries(tmp_path_factory.mktemp("changelog"), "rocksdb-changelog")


@pytest.fixture(scope="session")
def rocksdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killed_queries(tmp_path_factory.mktemp("rocksdb"), "rocksdb")
