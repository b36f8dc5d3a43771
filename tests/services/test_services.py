"""The services that tests of production mode stand on are real ones, and start empty."""

import psycopg
import pytest
import redis

pytestmark = pytest.mark.services


def test_postgres_gives_each_test_a_database_of_its_own(postgres_url: str, running_postgres) -> None:
    other_url = running_postgres.create_database()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        version = connection.execute("SHOW server_version_num").fetchone()
    with psycopg.connect(other_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'kept'").fetchone()
    running_postgres.drop_database(other_url)
    assert version is not None and int(version[0]) >= 130_000
    assert tables == (0,)


def test_postgres_copies_a_database(postgres_url: str, running_postgres) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    copy_url = running_postgres.create_database(like=postgres_url)
    with psycopg.connect(copy_url) as connection:
        kept = connection.execute("SELECT n FROM kept").fetchall()
    running_postgres.drop_database(copy_url)
    assert kept == [(7,)]


@pytest.mark.parametrize("round_number", [1, 2])
def test_redis_starts_empty_for_each_test(redis_url: str, round_number: int) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left-behind", round_number)
