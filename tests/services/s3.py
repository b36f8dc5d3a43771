"""A server on loopback that speaks S3 and keeps buckets in memory, as long as a test session."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.services.processes import free_port, service_folder, stop, wait_until

BUCKET = "clonoscope"


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """What a process needs in its environment to use it; there is one bucket."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    settings = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "only-for-tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with service_folder("s3", None) as folder:
        log = folder / "log"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder, env={**os.environ, **settings}, stdout=output, stderr=output
            )
        try:
            wait_until(lambda: _made(f"{address}/{BUCKET}"), process, log)
            yield settings
        finally:
            stop(process)


def _made(bucket: str) -> bool:
    """As soon as the server answers it makes the bucket."""
    request = urllib.request.Request(bucket, method="PUT", headers={"Host": "s3.amazonaws.com"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
