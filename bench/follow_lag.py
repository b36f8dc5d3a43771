"""How long a followed folder's new epochs take until they can be read: of `ingest --follow`, and of the page's switch.

A recording is written into a folder epoch by epoch, each at once, whatever is being done meanwhile. The command counts
until a published version holds all of the epoch; a page until its socket has told of that version and the page has been
read again. The first version is apart: it waits for Spark. The last line is one JSON object.
`python -m bench.follow_lag --epochs 40`
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from bench.follow_checks import WHOLE, ingest_whole
from bench.growing import members_of
from bench.server_process import ROOT, begin_command, run_command, wait_until
from bench.upload import Visit, serving
from ingest.errors import IngestError
from ingest.lake.engine import Limits
from ingest.lake.publish import published_folder
from ingest.lake.readers import Lake, PublishedJob
from replay.bundle.members import MANIFEST

GOAL_S = 5.0
WITHIN_S = 300.0
LOOK_S = 0.01
EVENTS = "events.ndjson"
SUMS = "SELECT epoch, sum(determinants) FROM epochs GROUP BY epoch"


class Epochs:
    """A recording cut into its epochs; lines of events come with them in equal shares."""

    def __init__(self, recording: Path, folder: Path) -> None:
        manifest, members = members_of(recording)
        self.folder, self.manifest = folder, manifest
        whole = folder.parent / "whole"
        ingest_whole(recording, whole)
        self.expected = {epoch: int(count) for epoch, count in Lake(whole).job(WHOLE).rows(SUMS)}
        self.numbers = sorted(self.expected)
        self.left = list(self.numbers)
        lines = members.pop(EVENTS).splitlines(keepends=True)
        share = math.ceil(len(lines) / len(self.numbers))
        self._events = [b"".join(lines[n * share : (n + 1) * share]) for n in range(len(self.numbers))]
        self._members: dict[int, dict[str, bytes]] = {number: {} for number in self.numbers}
        for name, data in members.items():
            epoch = name.rpartition("/")[2].partition(".")[0]
            at = int(epoch) if epoch.isdigit() and int(epoch) in self.expected else self.numbers[-1]
            self._members[at][name] = data

    def begin(self) -> None:
        """With the first epoch."""
        self.folder.mkdir(parents=True)
        (self.folder / MANIFEST).write_text(json.dumps(self.manifest | {"complete": False}))
        self.write(self.numbers[0])

    def write(self, number: int) -> None:
        self.left.remove(number)
        for name, data in {**self._members[number], EVENTS: self._events[self.numbers.index(number)]}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(data)

    def held_by(self, job: PublishedJob) -> set[int]:
        """The epochs of which all is there."""
        return {epoch for epoch, count in job.rows(SUMS) if count == self.expected[epoch]}


@dataclass
class Clock:
    """When each epoch was there, and when it was seen."""

    written: dict[int, float] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)

    def see(self, held: set[int]) -> None:
        now = time.monotonic()
        for epoch in held & self.written.keys() - self.seen.keys():
            self.seen[epoch] = now

    def numbers(self, skip: int) -> dict[str, Any]:
        lags = sorted(self.seen[epoch] - began for epoch, began in list(self.written.items())[skip:])
        at = {"p50_s": 0.5, "p95_s": 0.95, "most_s": 1.0}
        found = {name: round(lags[min(len(lags) - 1, int(share * len(lags)))], 2) for name, share in at.items()}
        return {"epochs": len(lags), **found, "over_goal": sum(lag > GOAL_S for lag in lags)}


class Watch:
    """Looks at what is published, and does something where it holds more than before."""

    def __init__(self, data: Path, epochs: Epochs) -> None:
        self.data, self.epochs = data, epochs
        self._folder: Path | None = None
        self.held = set[int]()

    def job(self) -> str | None:
        return next((path.name for path in (self.data / "lake").glob("j_*") if path.is_symlink()), None)

    def look(self) -> set[int]:
        job = self.job()
        if job is None:
            return self.held
        with suppress(IngestError, duckdb.Error):  # it was just replaced: the next look sees the newer one
            folder = published_folder(self.data, job)
            if folder != self._folder:
                opened = PublishedJob(folder, Limits())
                try:
                    self.held = self.epochs.held_by(opened)
                    self._folder = folder
                finally:
                    opened.close()
        return self.held


def of_the_command(epochs: Epochs, data: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Nobody serves the data folder: the command does it all."""
    watch, clock = Watch(data, epochs), Clock()
    epochs.begin()
    with _following(data, epochs.folder):
        first_s = _first_version(watch, epochs)
        _see_all(watch.look, clock, epochs, chosen)
    return {"first_s": first_s, **clock.numbers(0)}


def of_the_page(epochs: Epochs, data: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """A server follows what the switch on the job's page says."""
    watch, clock = Watch(data, epochs), Clock()
    epochs.begin()
    with serving(data) as visit:
        with _following(data, epochs.folder):
            first_s = _first_version(watch, epochs)
        job = watch.job() or ""
        switched_s = _switched_on(visit, job, watch, epochs)
        page = Page(visit, job, watch)
        with page.listening():
            _see_all(page.shown, clock, epochs, chosen)
    return {"first_s": first_s, "switch_s": switched_s, **clock.numbers(0)}


class Page:
    """What a person with the job's page open has been shown."""

    def __init__(self, visit: Visit, job: str, watch: Watch) -> None:
        self.visit, self.job, self.watch = visit, job, watch
        self._shown = set[int]()

    def shown(self) -> set[int]:
        return self._shown

    @contextmanager
    def listening(self) -> Iterator[None]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.visit.client.cookies.items())
        address = f"{self.visit.url.replace('http://', 'ws://')}/ws/jobs/{self.job}/"
        with connect(address, additional_headers={"Cookie": cookie}, origin=Origin(self.visit.url)) as socket:
            thread = threading.Thread(target=self._listen, args=(socket,), daemon=True)
            thread.start()
            yield

    def _listen(self, socket: Any) -> None:
        with suppress(WebSocketException):
            for said in socket:
                if json.loads(said).get("news") == "version":
                    held = self.watch.look()
                    page = self.visit.client.get(f"/jobs/{self.job}/")
                    told = re.search(r'data-epochs="(\d+)"', page.text)
                    if told is not None and int(told.group(1)) >= len(held):
                        self._shown = set(held)


def _first_version(watch: Watch, epochs: Epochs) -> float:
    """Of the first epoch, which is there when the following begins."""
    began = time.monotonic()
    wait_until(lambda: epochs.numbers[0] in watch.look(), "the first version", WITHIN_S, LOOK_S)
    return round(time.monotonic() - began, 2)


def _switched_on(visit: Visit, job: str, watch: Watch, epochs: Epochs) -> float:
    """An epoch came while nobody followed; how long the switch takes to bring it."""
    epochs.write(epochs.numbers[1])
    began = time.monotonic()
    answer = visit.client.post(f"/jobs/{job}/follow/", data={"follow": "1"})
    if answer.status_code != 302:
        raise SystemExit(f"the switch was refused: {answer.text}")
    wait_until(lambda: epochs.numbers[1] in watch.look(), "the switch's first version", WITHIN_S, LOOK_S)
    return round(time.monotonic() - began, 2)


def _see_all(look: Callable[[], set[int]], clock: Clock, epochs: Epochs, chosen: argparse.Namespace) -> None:
    """Epochs come at their own pace, at any moment of what is done about those before."""
    rng, left = random.Random(chosen.seed), list(epochs.left)
    writer = threading.Thread(target=_write, args=(epochs, left, clock, rng, chosen.every_s), daemon=True)
    writer.start()

    def all_seen() -> bool:
        clock.see(look())
        return len(clock.seen) == len(left)

    wait_until(all_seen, "the last epoch", WITHIN_S + 2 * chosen.every_s * len(left), LOOK_S)
    writer.join()


def _write(epochs: Epochs, numbers: list[int], clock: Clock, rng: random.Random, every_s: float) -> None:
    for number in numbers:
        time.sleep(rng.uniform(0, 2 * every_s))
        epochs.write(number)
        clock.written[number] = time.monotonic()


@contextmanager
def _following(data: Path, folder: Path) -> Iterator[None]:
    """The command, until it is interrupted as by Ctrl-C."""
    command = begin_command(data, "ingest", str(folder), "--follow")
    try:
        yield
    finally:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=WITHIN_S)


def main() -> int:
    chosen = _options()
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as name:
        for kind, measure in {"command": of_the_command, "page": of_the_page}.items():
            folder = Path(name) / kind
            folder.mkdir()
            epochs = Epochs(_recording(folder, chosen), folder / "growing")
            measured[kind] = measure(epochs, folder / "data", chosen)
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({**measured, "goal_s": GOAL_S, "load": load, "every_s": chosen.every_s}))
    return 0


def _recording(folder: Path, chosen: argparse.Namespace) -> Path:
    out = folder / "recording"
    interval_ms, rate_per_s = 500, 2000
    line = ["--events", str(chosen.epochs * interval_ms * rate_per_s // 1000), "--seed", str(chosen.seed)]
    line += ["--checkpoint-interval-ms", str(interval_ms), "--kill", "map-1.0@1200", "--out", str(out)]
    ran = run_command(folder / "recording-data", "record", "pass-through", *line, within_s=WITHIN_S)
    if ran.status:
        raise SystemExit(ran.err)
    return out


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40, help="about so many")
    parser.add_argument("--every-s", type=float, default=2.0, help="the mean time from one epoch to the next")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
