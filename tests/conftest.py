"""What every test may ask for: real services, and the rule that leaving something out in CI is failing."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.chromium import chromium_program
from tests.services.postgres import PostgresServer, postgres_server
from tests.services.processes import ServiceMissing
from tests.services.redis import forget_everything, redis_server
from tests.services.s3 import s3_server

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[PostgresServer]:
    try:
        with postgres_server() as server:
            yield server
    except ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def postgres_url(running_postgres: PostgresServer) -> Iterator[str]:
    """DATABASE_URL of an empty database in a real PostgreSQL, this test's own."""
    url = running_postgres.create_database()
    yield url
    running_postgres.drop_database(url)


@pytest.fixture(scope="session")
def running_redis() -> Iterator[str]:
    try:
        with redis_server() as url:
            yield url
    except ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def redis_url(running_redis: str) -> str:
    """REDIS_URL of a real Redis that holds nothing."""
    forget_everything(running_redis)
    return running_redis


@pytest.fixture(scope="session")
def running_s3() -> Iterator[dict[str, str]]:
    with s3_server() as settings:
        yield settings


@pytest.fixture
def bucket(running_s3: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names a server that speaks S3 and has a bucket."""
    for name, value in running_s3.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a real Chromium, for Playwright's executable_path."""
    try:
        return chromium_program()
    except ServiceMissing as missing:
        pytest.skip(str(missing))


LONG = ("browser", "spark", "slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long go first: at the end, nobody waits for the last of them."""
    long = {item.path for item in items if any(item.get_closest_marker(name) for name in LONG)}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """Ten thousand tests and what they import live to the end: no collection of garbage need look through them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Libraries complain of what is left at the end of the process."""
    gc.unfreeze()


class LeftOut:
    """In CI a skipped test is a failure: what can't run there must be said by taking it out, not by skipping it."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if IN_CI and self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.skipped:
            terminalreporter.write_line(f"LEFT OUT {name}", yellow=True)
        if IN_CI and self.skipped:
            terminalreporter.write_line(f"{len(self.skipped)} tests were left out, which in CI is a failure", red=True)


def pytest_configure(config: pytest.Config) -> None:
    # Databases of tests are made in the data folder, which in a fresh checkout is not there yet.
    Path(os.environ.get("CLONOSCOPE_DATA", ROOT / "var")).mkdir(parents=True, exist_ok=True)
    # Workers of xdist send their reports to the one process that sums up.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftOut(), "left-out")
