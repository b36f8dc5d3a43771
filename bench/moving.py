"""How long it takes to move over the steps of a large replay: seek, continue both ways, and scan for all hits.

Writes steps shaped like those of a replay (a record is delivered, reads the clock, logs it again and writes one record;
buffers are taken and held back, state changes, epochs pass), then asks at random places, forwards and backwards in
turn. Times are those of the queries, in one process, files warm. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import BufferRow, StepRow
from replay.debugger.searching.language import parsed

GOAL_SEEK_P95_MS = 50.0
GOAL_SCAN_MS = 500.0
BINS = 720
RECORDS_A_BUFFER = 40
RECORDS_AN_EPOCH = 50_000
KEYS = 1_000
# Frequent, rare and absent; by columns, other tables, sentences; in relation to others; counted. What was found of
# relations is kept for who asks the same again, as one does who continues: every scan asks for another {n}, and finds
# nothing kept.
SEARCHES = {
    "frequent": "kind = write-record",
    "a buffer": 'kind = hold-back and channel = "join.2>sink.1" and bytes > 4 KiB',
    "a state": "enters Running",
    "a channel's buffer": 'channel = "auctions.3>join.2" and buffer = 2003',
    "a determinant": "determinant = timestamp and value = 1600000100007",
    "a key": 'change(key = "left[42]" and after > 10)',
    "a sentence": 'text contains "key k77 "',
    "absent": "divergence",
    "not preceded": "(held-back and step > -{n}) not preceded by kind = take-buffer in same epoch within 9 steps",
    "followed": "(kind = take-buffer and step > -{n}) followed by kind = hold-back in same epoch within 170 steps",
    "in one record": "(kind = write-record and step > -{n}) not preceded by determinant = timestamp in the same record",
    "every 1,000th": "kind = deliver-record from hit 5 every 1000",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000, help="how many steps the replay has")
    parser.add_argument("--times", type=int, default=60, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=1, help="of the places where one stands")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begun_s = time.perf_counter()
        write(Path(folder), options.steps)
        print(f"{options.steps:,} steps written in {time.perf_counter() - begun_s:.1f} s", flush=True)
        reader = StepReader(folder)
        result = {"steps": options.steps, **measured(reader, options.times, random.Random(options.seed))}
    print(json.dumps(result))


def write(folder: Path, steps: int) -> None:
    sink = ParquetStepSink(folder)
    record = 0
    while sink.steps < steps:
        for row in _of_record(sink, record):
            sink.step(row)
        record += 1
    sink.finish()


def _of_record(sink: ParquetStepSink, n: int) -> list[StepRow]:
    """The steps of one record, and what stands beside them."""
    epoch, count, buffer = n // RECORDS_AN_EPOCH, n % RECORDS_AN_EPOCH + 1, n // RECORDS_A_BUFFER
    channel, t_us, first = f"auctions.{buffer % 4}>join.2", 1_500_000 + n * 3, sink.steps
    rows: list[StepRow] = []

    def step(kind: str, text: str, actor: str = "main", **more: Any) -> int:
        number = first + len(rows)
        state = "Replaying" if n < 0.9 * 250_000 else "Running"
        place = (None if more.get("log") is None else "main", None, more.get("channel"), more.get("buffer"))
        rows.append(StepRow(number, "join.2", actor, kind, state, epoch, count, t_us, *place, more.get("bytes"), text))
        return number

    if n % RECORDS_A_BUFFER == 0:
        taken = step(
            "take-determinant", f"The log says that the next buffer came from channel {buffer % 4}.", log="main"
        )
        sink.taken(taken, "join.2", "order", buffer % 4, None)
        step("take-buffer", f"Takes buffer {buffer} of {channel}.", channel=channel, buffer=buffer, bytes=32_768)
    delivered = step(
        "deliver-record", f"Processes record {count}, key k{n % KEYS} of buffer {buffer}.", channel=channel
    )
    sink.cause(delivered, f"step:{max(0, delivered - 1)}")
    sink.state_change(delivered, "join.2", f"left[{n % KEYS}]", str(n // KEYS), str(n // KEYS + 1))
    taken = step("take-determinant", f"The log says that the clock read {1_600_000_000_000 + n}.", log="main", bytes=9)
    sink.taken(taken, "join.2", "timestamp", 1_600_000_000_000 + n, None)
    step("append", f"Appends it again: timestamp at offset {count * 9} of the main log.", log="main", bytes=9)
    output = f"join.2>sink.{buffer % 5}"
    step("write-record", f"Writes a record with key k{n % KEYS} to {output}.", channel=output, bytes=100 + n % 50)
    if n % RECORDS_A_BUFFER == RECORDS_A_BUFFER - 1:
        cut = step("cut-buffer", f"Cuts buffer {buffer} of {output}.", actor="out-0", channel=output, buffer=buffer)
        held = step(
            "hold-back", f"Buffer {buffer} of {output} is held back.", channel=output, buffer=buffer, bytes=5_000
        )
        sink.cause(held, f"step:{cut}")
        sink.buffer(BufferRow(held, "join.2", output, buffer, 5_000, True, True))
    return rows


def measured(reader: StepReader, times: int, rng: random.Random) -> dict[str, Any]:
    places = [rng.randrange(reader.steps) for _ in range(times)]
    seek = [_ms(partial(reader.between, max(0, at - 5), at + 6)) for at in places]
    result: dict[str, Any] = {"seek": _told("seek", seek, GOAL_SEEK_P95_MS), "continue": {}, "scan": {}}
    for name, text in SEARCHES.items():
        asked = [_ms(partial(_nearest, reader, text.format(n=1), at, i % 2 == 0)) for i, at in enumerate(places)]
        result["continue"][name] = _told(f"continue: {name}", asked, None)
    for name, text in SEARCHES.items():
        result["scan"][name] = _scanned(reader, name, text)
    return result


def _nearest(reader: StepReader, text: str, at: int, forwards: bool) -> int | None:
    with StepSearch(reader, [parsed(text)]) as search:
        return search.after(at) if forwards else search.before(at)


def _scanned(reader: StepReader, name: str, text: str, rounds: int = 5) -> dict[str, float]:
    first_ms, whole_ms, hits = [], [], 0
    for n in range(rounds):
        begun_s, told_s, hits = time.perf_counter(), None, 0
        with StepSearch(reader, [parsed(text.format(n=n + 2))]) as search:
            for window in search.binned(BINS):
                hits += sum(one.hits for one in window)
                told_s = told_s or (time.perf_counter() if window else None)
        ended_s = time.perf_counter()
        first_ms.append(((told_s or ended_s) - begun_s) * 1e3)
        whole_ms.append((ended_s - begun_s) * 1e3)
    first, whole, worst = statistics.median(first_ms), statistics.median(whole_ms), max(whole_ms)
    told = f"the first after {first:6.1f} ms, all after {whole:6.1f} ms (at most {worst:.1f})"
    print(f"scan: {name:22} {hits:>9,} hits, {told}", flush=True)
    return {"hits": hits, "first_ms": round(first, 1), "all_ms": round(whole, 1), "most_ms": round(worst, 1)}


def _ms(ask: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    ask()
    return (time.perf_counter() - begun_s) * 1e3


def _told(name: str, took_ms: list[float], goal_ms: float | None) -> dict[str, float]:
    ordered = sorted(took_ms)
    p50, p95 = statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    goal = f", goal {goal_ms:g}" if goal_ms else ""
    print(f"{name:34} p50 {p50:6.1f} ms, p95 {p95:6.1f} ms{goal}", flush=True)
    return {"p50_ms": round(p50, 1), "p95_ms": round(p95, 1)}


if __name__ == "__main__":
    main()
