"""The questions of the page, asked at random places of a replay, and searches from one end to the other."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.searching.language import parsed

BINS = 720
ROUNDS = 3
# Of what relates steps with one another what was found is kept for who asks again: each asks for another {n}.
SEARCHES = {
    "frequent": "kind = write-record",
    "a buffer": "kind = send-buffer and bytes > 4 KiB",
    "a state": "enters Recovering",
    "a determinant": "determinant = timestamp and value = 17",
    "a key": 'change(key = "by_key[k3]" and after = 1000)',
    "a sentence": "text contains \"key 'k3' of buffer 17\"",
    "absent": "divergence",
    "not preceded": "(sent and step > -{n}) not preceded by kind = take-buffer in same epoch within 9 steps",
    "followed": "(kind = take-buffer and step > -{n}) followed by kind = cut-buffer in same epoch within 170 steps",
    "in one record": "(kind = write-record and step > -{n}) not preceded by determinant = timestamp in the same record",
    "every 1,000th": "kind = deliver-record from hit 5 every 1000",
}


def asked(reader: StepReader, times: int, rng: random.Random) -> dict[str, Any]:
    places = [rng.randrange(reader.steps) for _ in range(times)]
    key = reader.state(reader.steps - 1, limit=1)[0].key
    questions: dict[str, Callable[[int], object]] = {
        "seek": lambda at: reader.between(max(0, at - 5), at + 6),
        "step": reader.step,
        "causes": reader.causes,
        "why": reader.why,
        "effects": reader.effects,
        "one key": lambda at: reader.state(at, prefix=key, limit=1),
        "a page of keys": lambda at: reader.state(at, limit=100),
        "buffers": lambda at: reader.buffers(at, limit=50),
        "a step forwards": lambda at: _nearest(reader, "anything", at, True),
        "a step backwards": lambda at: _nearest(reader, "anything", at, False),
    }
    found: dict[str, Any] = {"p95_ms": {}, "scan_ms": {}}
    for name, question in questions.items():
        found["p95_ms"][name] = _p95([_ms(partial(question, at)) for at in places])
        print(f"ask: {name:20} p95 {found['p95_ms'][name]:7.1f} ms", flush=True)
    for name, text in SEARCHES.items():
        found["scan_ms"][name] = _scanned(reader, text)
        print(f"scan: {name:20} {found['scan_ms'][name]}", flush=True)
    return found


def _nearest(reader: StepReader, text: str, at: int, forwards: bool) -> int | None:
    with StepSearch(reader, [parsed(text)]) as search:
        return search.after(at) if forwards else search.before(at)


def _scanned(reader: StepReader, text: str) -> dict[str, float]:
    """All hits, and the first of them, as the strip asks for them; the nearest hit from either end."""
    first, whole, hits = [], [], 0
    for n in range(ROUNDS):
        begun_s, first_s, hits = time.perf_counter(), None, 0
        with StepSearch(reader, [parsed(text.format(n=n + 2))]) as search:
            for window in search.binned(BINS):
                hits += sum(one.hits for one in window)
                first_s = first_s or (time.perf_counter() if window else None)
        ended_s = time.perf_counter()
        whole.append((ended_s - begun_s) * 1e3)
        first.append(((first_s or ended_s) - begun_s) * 1e3)
    ends = {True: -1, False: reader.steps}
    nearest = {
        forwards: statistics.median(
            _ms(partial(_nearest, reader, text.format(n=100 * n + forwards + 50), ends[forwards], forwards))
            for n in range(ROUNDS)
        )
        for forwards in (True, False)
    }
    return {
        "hits": hits,
        "first": round(statistics.median(first), 1),
        "all": round(statistics.median(whole), 1),
        "forwards": round(nearest[True], 1),
        "backwards": round(nearest[False], 1),
    }


def _ms(ask: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    ask()
    return (time.perf_counter() - begun_s) * 1e3


def _p95(took_ms: list[float]) -> float:
    ordered = sorted(took_ms)
    return round(ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))], 1)
