"""A Redis server that lives as long as a test session and keeps nothing on disk."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from tests.services.processes import ServiceMissing, free_port, service_folder, stop, wait_until


@contextmanager
def redis_server() -> Iterator[str]:
    """Its URL, of an empty database."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise ServiceMissing("redis-server is not installed (Debian package redis-server)")
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    with service_folder("redis", None) as folder:
        log = folder / "log"
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with log.open("wb") as output:
            process = subprocess.Popen([*command, "--dir", str(folder)], stdout=output, stderr=output)
        try:
            wait_until(lambda: _answers(url), process, log)
            yield url
        finally:
            stop(process)


def _answers(url: str) -> bool:
    with redis.Redis.from_url(url, socket_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def forget_everything(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushall()
