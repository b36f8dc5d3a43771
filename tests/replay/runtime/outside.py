"""What the world outside holds after a run, computed from the members of its bundle alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

_SINK = re.compile(r"tasks/([^/]+)/(\d+)/sink/(\d+)\.ndjson")
_SOURCE = re.compile(r"tasks/([^/]+)/(\d+)/source/(\d+)\.ndjson")


def lines_of(members: Mapping[str, bytes], form: re.Pattern[str]) -> list[tuple[str, int, int, dict[str, Any]]]:
    """(task, attempt, epoch, line) of every member of that form, by task, attempt and epoch."""
    found = []
    for name, data in members.items():
        if at := form.fullmatch(name):
            found.append((at[1], int(at[2]), int(at[3]), data))
    found.sort(key=lambda one: one[:3])
    return [
        (task, attempt, epoch, json.loads(line))
        for task, attempt, epoch, data in found
        for line in bytes(data).splitlines()
    ]


def events_of(members: Mapping[str, bytes], *kinds: str) -> list[dict[str, Any]]:
    return [
        one
        for one in map(json.loads, bytes(members["events.ndjson"]).splitlines())
        if not kinds or one["type"] in kinds
    ]


def outside(members: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """The lines that count: of transactions, those committed; of equal ids, one; of the rest, each."""
    committed = {one["txn"] for one in events_of(members, "epoch-committed")}
    found, ids = [], set()
    for _, _, _, line in lines_of(members, _SINK):
        if "txn" in line and line["txn"] not in committed:
            continue
        if "id" in line:
            if line["id"] in ids:
                continue
            ids.add(line["id"])
        found.append(line)
    return found


def delivered(members: Mapping[str, bytes]) -> Counter[tuple[Any, ...]]:
    """How often each source record arrived outside, by its lineage."""
    return Counter(tuple(map(tuple, line["source"])) for line in outside(members))


def read(members: Mapping[str, bytes]) -> set[tuple[Any, ...]]:
    """Every source record, as the lineage of what a pass-through job makes of it."""
    return {((task, line["offset"]),) for task, _, _, line in lines_of(members, _SOURCE)}


def faults(members: Mapping[str, bytes]) -> list[str]:
    """What is wrong with the writes and transactions themselves, whatever was to be delivered."""
    return [*_faults_of_transactions(members), *_faults_of_ids(members), *_faults_of_numbers(members)]


def _faults_of_transactions(members: Mapping[str, bytes]) -> list[str]:
    found, owner = [], {}
    records: Counter[int] = Counter()
    for task, attempt, epoch, line in lines_of(members, _SINK):
        if "txn" in line:
            records[line["txn"]] += 1
            if owner.setdefault(line["txn"], (task, attempt, epoch)) != (task, attempt, epoch):
                found.append(f"txn {line['txn']} is of {owner[line['txn']]} and of {(task, attempt, epoch)}")
    ended: dict[int, str] = {}
    sealed: dict[int, int] = {}
    for one in events_of(members, "epoch-precommitted", "epoch-committed", "epoch-aborted"):
        txn, kind = one["txn"], one["type"]
        if kind == "epoch-precommitted":
            if txn in sealed:
                found.append(f"txn {txn} was sealed twice")
            sealed[txn] = one["records"]
        elif txn in records and ended.setdefault(txn, kind) != kind:
            found.append(f"txn {txn} was {ended[txn]} and {kind}")
        if kind == "epoch-committed" and txn not in sealed:
            found.append(f"txn {txn} was committed and never sealed")
        if txn in records and kind != "epoch-aborted" and one["records"] != records[txn]:
            found.append(f"txn {txn}: {kind} says {one['records']} records, {records[txn]} were written")
    found += [f"txn {txn} was neither committed nor aborted" for txn in sealed if txn in records and txn not in ended]
    return found


def _faults_of_ids(members: Mapping[str, bytes]) -> list[str]:
    found, known = [], {}
    for task, attempt, _, line in lines_of(members, _SINK):
        if "id" in line:
            content = (line["record"], line["source"])
            if known.setdefault(line["id"], content) != content:
                found.append(f"{task} attempt {attempt}: id {line['id']} stands for two writes")
    return found


def _faults_of_numbers(members: Mapping[str, bytes]) -> list[str]:
    numbers: dict[tuple[str, int], list[int]] = {}
    for task, attempt, _, line in lines_of(members, _SINK):
        numbers.setdefault((task, attempt), []).append(line["n"])
    return [f"{who} has lines numbered {ns}" for who, ns in numbers.items() if sorted(ns) != list(range(len(ns)))]
