"""The log page: which determinants it shows, how one gets to a byte, what costs how much, and what is copied."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import clonoscope
from dashboard.models import Job, JobShare
from dashboard.queries.determinants import ROWS_SHOWN
from ingest.lake.sealing import SIGN
from replay.bundle.reader import Bundle, open_bundle
from replay.causality.sharing import sharing
from tests.clonoscope.recorded import recording
from tests.dashboard.pages.conftest import as_seen_by

RECORDED = Path(__file__).parent.parent.parent / "recordings" / "1" / "pass-through.tar.gz"
Log = tuple[str, int, str, int]


@dataclass(frozen=True)
class Held:
    """A determinant as the bundle has it."""

    seq: int
    offset: int
    encoded: bytes
    kind: str
    channel: int | None
    value: int | None

    def fits(self, asked: dict[str, Any]) -> bool:
        value, size = self.value, len(self.encoded)
        return (
            asked.get("kind", self.kind) == self.kind
            and asked.get("channel", self.channel) == self.channel
            and not ({"value_from", "value_to"} & asked.keys() and value is None)
            and (value is None or asked.get("value_from", value) <= value <= asked.get("value_to", value))
            and asked.get("size_from", size) <= size <= asked.get("size_to", size)
        )


@pytest.fixture
def job(shelved: Callable[[Path], Job]) -> Job:
    return shelved(RECORDED)


def logs_of(bundle: Bundle) -> list[Log]:
    """Of main threads and of outputs, each epoch."""
    return [
        (task, attempt, thread, epoch)
        for task in bundle.tasks()
        for attempt in bundle.attempts(task)
        for thread in ("main", "out-0")
        for epoch in bundle.epochs(task, attempt, thread)
    ]


def held(bundle: Bundle, log: Log) -> list[Held]:
    data = bundle.log_bytes(*log)
    return [
        Held(seq, at, data[at : at + size], one.kind, getattr(one, "channel", None), getattr(one, "value", None))
        for seq, (at, size, one) in enumerate(bundle.determinants(*log))
    ]


def named(log: Log) -> dict[str, Any]:
    return dict(zip(("task", "attempt", "thread", "epoch"), log, strict=True))


def copied(client: Client, log: Log, how: str, **asked: Any) -> list[str]:
    return client.get("/jobs/j_1/logs/", named(log) | asked | {"as": how}).content.decode().splitlines()


def question(rng: random.Random, rows: list[Held]) -> dict[str, Any]:
    """What some row of the log, or none, may fit."""
    one, other = rng.choice(rows), rng.choice(rows)
    possible = {
        "kind": one.kind,
        "channel": one.channel if one.channel is not None else 7,
        "value_from": one.value or 0,
        "value_to": other.value or 2**62,
        "size_from": len(one.encoded),
        "size_to": len(other.encoded),
    }
    return {name: possible[name] for name in rng.sample(list(possible), rng.randint(0, 3))}


@pytest.mark.parametrize("seed", range(3))
def test_pages_of_what_is_asked_for_hold_all_that_fits(job: Job, owner: User, seed: int) -> None:
    rng, client = random.Random(seed), as_seen_by(owner)
    with open_bundle(RECORDED) as bundle:
        logs = [(log, rows) for log in logs_of(bundle) if (rows := held(bundle, log))]
    for _ in range(12):
        log, rows = rng.choice(logs)
        asked = question(rng, rows)
        fitting, told, seq = [row for row in rows if row.fits(asked)], list[dict[str, Any]](), 0
        while seq is not None and len(told) < 4 * ROWS_SHOWN:
            told += [json.loads(line) for line in copied(client, log, "json", seq=seq, **asked)]
            seq = client.get("/jobs/j_1/logs/", named(log) | asked | {"seq": seq}).context["page"].after
        expected = [(row.seq, row.kind, row.offset, row.encoded.hex()) for row in fitting[: len(told)]]
        assert [(one["seq"], one["kind"], one["offset"], one["encoded"]) for one in told] == expected, (seed, asked)
        assert seq is not None or len(told) == len(fitting), (seed, asked)
        last = fitting[-1].seq + 1 if fitting else 5
        back = [row.encoded.hex() for row in fitting if row.seq < last][-ROWS_SHOWN:]
        assert copied(client, log, "hex", before=last, **asked) == back, (seed, asked)


def test_a_byte_leads_to_the_determinant_that_holds_it(job: Job, owner: User) -> None:
    rng, client = random.Random(5), as_seen_by(owner)
    with open_bundle(RECORDED) as bundle:
        log, rows = next((log, rows) for log in logs_of(bundle) if len(rows := held(bundle, log)) > 20)
    ends = rows[-1].offset + len(rows[-1].encoded)
    for at in (0, ends - 1, ends + 1_000, *(rng.randrange(ends) for _ in range(10))):
        holding = max(row.seq for row in rows if row.offset <= at)
        led = client.get("/jobs/j_1/logs/", named(log) | {"at": at}).url
        assert led.endswith(f"&seq={holding}"), at


@pytest.mark.parametrize("nonsense", ["--1", "1e9", "9" * 40, "-" + "9" * 18, "\0", "’", "−5"])
def test_nonsense_in_the_address_is_no_error(job: Job, owner: User, nonsense: str) -> None:
    asked = dict.fromkeys(("channel", "value_from", "value_to", "size_from", "size_to", "seq", "at"), nonsense)
    client = as_seen_by(owner)
    for name, value in asked.items():
        assert client.get("/jobs/j_1/logs/", {"thread": "main", name: value}, follow=True).status_code == 200, name


def test_whoever_may_not_see_values_can_not_ask_by_them(job: Job, owner: User, guest: User) -> None:
    with open_bundle(RECORDED) as bundle:
        log, value = next(
            (log, row.value) for log in logs_of(bundle) for row in held(bundle, log) if row.kind == "timestamp"
        )
    JobShare.objects.create(job=job, user=guest, granted_by=owner)
    exact = {"value_from": value, "value_to": value, "kind": "timestamp"}
    seen = [json.loads(line) for line in copied(as_seen_by(owner), log, "json", **exact)]
    assert {one["value"] for one in seen} == {value}
    client = as_seen_by(guest)
    lines = copied(client, log, "json", **exact)
    assert lines == copied(client, log, "json", kind="timestamp") and len(lines) > len(seen)
    assert {json.loads(line)["encoded"] for line in lines} == {SIGN} and str(value) not in "".join(lines)
    assert 'name="value_from"' not in client.get("/jobs/j_1/logs/", named(log)).content.decode()


def test_what_a_log_costs_adds_up_to_what_it_holds(job: Job, owner: User) -> None:
    with open_bundle(RECORDED) as bundle:
        logs = [log for log in logs_of(bundle) if held(bundle, log)]
        by_vertex: dict[str, int] = {}
        for member in bundle.members.names("tasks/"):
            if member.endswith(".det"):
                vertex = member.split("/")[1].rpartition(".")[0]
                by_vertex[vertex] = by_vertex.get(vertex, 0) + bundle.members.size(member)
        context = as_seen_by(owner).get("/jobs/j_1/logs/", named(logs[0])).context
        sizes = {epoch: len(bundle.log_bytes(*logs[0][:3], epoch)) for epoch in bundle.epochs(*logs[0][:3])}
    assert {one.of: one.bytes for one in context["vertices"]} == {
        name: size for name, size in by_vertex.items() if size
    }
    assert {one["epoch"]: one["bytes"] for one in context["epochs_around"]} == sizes


def test_bytes_are_put_down_to_the_lines_that_asked(
    tmp_path: Path, shelved: Callable[[Path], Job], owner: User
) -> None:
    with recording(tmp_path / "recorded") as made, made.task("orders").epoch(0):
        for number in range(40):
            clonoscope.external(str, number)
            if number % 4 == 0:
                clonoscope.external(lambda: "x" * 900)
    shelved(made.dump(tmp_path / "orders.zip"))
    client = as_seen_by(owner)
    assert "By the line of source that asked" in client.get("/jobs/j_1/logs/").content.decode()
    part = client.get("/jobs/j_1/logs/?part=sites").content.decode()
    told = re.findall(r"test_log_page\.py:(\d+).*?>(\d+) calls, (\d+) %", part, re.DOTALL)
    assert [calls for _, calls, _ in told] == ["10", "40"] and int(told[0][2]) > int(told[1][2])
    assert "&quot;x&quot; * 900" in part


def test_bytes_are_told_by_the_hops_that_carried_them(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    page = client.get("/jobs/j_1/logs/", {"task": "map-1.0"})
    assert "By hop, as the logs of this attempt were shared" in page.content.decode()
    part = client.get("/jobs/j_1/logs/", {"task": "map-1.0", "attempt": "0", "part": "hops"})
    with open_bundle(RECORDED) as bundle:
        hops = sharing(bundle, "map-1.0", 0)["hops"]
    assert hops and part.context["hops"] == hops
    assert part.content.decode().count("hop ") >= len(hops)
