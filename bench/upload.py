"""From upload to visible: how long a bundle takes until its job's page shows what is in it, cold and warm.

A real server, entered by its own one-time link; bundles recorded for the run, each other content. Cold is the first one
after the server's start, so it waits for Spark; warm are those after it. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets.sync.client import connect
from websockets.typing import Origin

ROOT = Path(__file__).resolve().parent.parent
GOAL_COLD_S = 10.0
GOAL_WARM_S = 2.0
START_S = 60.0
WAIT_S = 300.0
# What makes about 5 MB of members.
EVENTS = 10_000


@dataclass(frozen=True)
class Visit:
    """A person who has entered the server."""

    client: httpx.Client
    url: str

    def upload(self, bundle: Path) -> str:
        with bundle.open("rb") as file:
            answer = self.client.post("/api/v1/jobs", files={"bundle": (bundle.name, file)})
        answer.raise_for_status()
        return str(answer.json()["id"])

    def wait_until_visible(self, job: str) -> None:
        """The socket says when; then the page must show it."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        address = f"{self.url.replace('http://', 'ws://')}/ws/jobs/{job}/"
        with connect(address, additional_headers={"Cookie": cookie}, origin=Origin(self.url)) as socket:
            status = "queued"
            while status in ("uploading", "queued", "running"):
                status = json.loads(socket.recv(timeout=WAIT_S))["status"]
        page = self.client.get(f"/jobs/{job}/")
        page.raise_for_status()
        if status != "ready" or "map-1.0" not in page.text:
            raise SystemExit(f"job {job} is {status}, and its page does not show its tasks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--warm", type=int, default=5, help="how many uploads after the cold one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
        print(json.dumps(measure(Path(folder), asked.events, asked.warm)))


def measure(folder: Path, events: int, warm: int) -> dict[str, Any]:
    bundles = [record(folder, seed, events) for seed in range(1, warm + 2)]
    with serving(folder / "data") as visit:
        seconds = [upload_to_visible(visit, bundle) for bundle in bundles]
    return {
        "bundle_bytes": statistics.mean(bundle.stat().st_size for bundle in bundles),
        "cores": os.cpu_count(),
        "cold_s": round(seconds[0], 3),
        "warm_s": [round(value, 3) for value in seconds[1:]],
        "warm_median_s": round(statistics.median(seconds[1:]), 3) if warm else None,
        "goal_cold_s": GOAL_COLD_S,
        "goal_warm_s": GOAL_WARM_S,
    }


def record(folder: Path, seed: int, events: int) -> Path:
    bundle = folder / f"seed-{seed}.tar"
    run("record", "pass-through", "--seed", str(seed), "--events", str(events), "--kill", "map-1.0@3000",
        "--out", str(bundle), "--data", str(folder / "unused"))  # fmt: skip
    return bundle


def upload_to_visible(visit: Visit, bundle: Path) -> float:
    begun_s = time.perf_counter()
    visit.wait_until_visible(visit.upload(bundle))
    seconds = time.perf_counter() - begun_s
    print(f"{bundle.name}: {bundle.stat().st_size:,} bytes visible after {seconds:.2f} s", flush=True)
    return seconds


@contextlib.contextmanager
def serving(data: Path) -> Iterator[Visit]:
    command = [sys.executable, "manage.py", "up", "--data", str(data), "--no-demo", "--port", "0"]
    with (data.parent / "server.log").open("wb") as said:
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, text=True)
    try:
        link = urlsplit(link_of(server))
        url = f"{link.scheme}://{link.netloc}"
        with httpx.Client(base_url=url, timeout=WAIT_S) as client:
            enter(client, link.path, link.fragment)
            yield Visit(client, url)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def link_of(server: subprocess.Popen[str]) -> str:
    """The one-time link that the server prints when it is ready."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.stdout is not None:
        line = server.stdout.readline().strip()
        if "/enter/#" in line:
            return line
        if not line and server.poll() is not None:
            break
    raise SystemExit("the server did not start")


def enter(client: httpx.Client, path: str, secret: str) -> None:
    client.get(path).raise_for_status()
    token = client.cookies["clonoscope_csrf"]
    client.headers["X-CSRFToken"] = token
    entered = client.post(path, data={"secret": secret})
    if entered.status_code != 302:
        raise SystemExit("the login link was refused")
    # Signing in changes the token.
    client.headers["X-CSRFToken"] = client.cookies["clonoscope_csrf"]


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
