"""What an importer told of what it read: batches, what follows from them, what can't be said; and the state after one.

The member may be anybody's: what does not fit is taken as not there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dashboard import bundles, payloads
from ingest.lake.sealing import SIGN
from replay.bundle.pack import Pack
from replay.errors import ReplayError
from replay.model.record import read_json

TOLD = "imported.json"
MOST_TOLD_BYTES = 32 << 20
MOST_STATE_BYTES = 8 << 20
BATCHES_SHOWN = 50
KEYS_SHOWN = 50
MOST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Batch:
    batch: int
    planned_ms: int
    watermark_ms: int
    committed: bool
    offsets: list[str]


@dataclass(frozen=True, slots=True)
class Imported:
    """`batches`: those that are shown, the newest first, of `total`."""

    importer: str
    query: str
    says: list[str]
    lacks: list[str]
    batches: list[Batch]
    total: int
    earlier: int | None


@dataclass(frozen=True, slots=True)
class StateRow:
    """A key of a task's state after a batch; `changed` where it is not as the batch found it, None where that is not
    known."""

    task: str
    store: str
    key: str
    value: str
    changed: bool | None


@dataclass(frozen=True, slots=True)
class StateAfter:
    """`tasks`: (task, keys, shown) of those whose state is known; `unread`: what could not be shown, and why."""

    rows: list[StateRow]
    tasks: list[tuple[str, int, int]]
    unread: list[str]


def imported(job_id: str, *, before: int | None = None) -> Imported | None:
    """None where the job was recorded, and not imported."""
    try:
        with bundles.opened(job_id) as pack:
            if TOLD not in pack or pack.size(TOLD) > MOST_TOLD_BYTES:
                return None
            return _read(read_json(pack.read(TOLD)), before, hidden=not payloads.opened(job_id))
    except (FileNotFoundError, ReplayError, ValueError, RecursionError):
        return None


def state_after(job_id: str, batch: int, tasks: list[str]) -> StateAfter:
    """Of the tasks that have a state at checkpoint batch + 1."""
    rows: list[StateRow] = []
    known: list[tuple[str, int, int]] = []
    unread: list[str] = []
    hidden = not payloads.opened(job_id)
    with bundles.opened(job_id) as pack:
        for task in tasks:
            try:
                found = _state(pack, task, batch + 1)
                if found is None:
                    continue
                earlier = _state(pack, task, batch) if batch else {}
            except ReplayError as fault:
                unread.append(str(fault))
                continue
            shown = sorted(found)[: max(0, KEYS_SHOWN - len(rows))]
            known.append((task, len(found), len(shown)))
            for place in shown:
                changed = None if earlier is None else earlier.get(place) != found[place]
                said = (place[0], SIGN, SIGN) if hidden else (*place, found[place])
                rows.append(StateRow(task, *said, changed))
    return StateAfter(rows, known, unread)


def _read(document: Any, before: int | None, *, hidden: bool) -> Imported | None:
    if not isinstance(document, dict):
        return None
    listed = document.get("batches")
    batches = [
        one for entry in (listed if isinstance(listed, list) else []) if (one := _batch(entry, hidden)) is not None
    ]
    newest_first = [one for one in batches[::-1] if before is None or one.batch < before]
    shown = newest_first[:BATCHES_SHOWN]
    earlier = shown[-1].batch if len(newest_first) > len(shown) else None
    importer, query = (str(document.get(name, ""))[:200] for name in ("importer", "query"))
    says, lacks = (_texts(document.get(name)) for name in ("says", "lacks"))
    return Imported(importer, query, says, lacks, shown, len(batches), earlier)


def _batch(entry: Any, hidden: bool) -> Batch | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("offsets"), list):
        return None
    numbers = [one for name in ("batch", "planned_ms", "watermark_ms") if type(one := entry.get(name)) is int]
    if len(numbers) != 3 or not all(-(1 << 63) <= one < 1 << 63 for one in numbers):
        return None
    batch, planned_ms, watermark_ms = numbers
    offsets = ["nothing new" if one is None else SIGN if hidden else _text(one) for one in entry["offsets"]]
    return Batch(batch, planned_ms, watermark_ms, entry.get("committed") is True, offsets)


def _texts(found: Any) -> list[str]:
    return [one[:MOST_TEXT] for one in found if isinstance(one, str)][:100] if isinstance(found, list) else []


def _state(pack: Pack, task: str, checkpoint: int) -> dict[tuple[str, str], str] | None:
    """{(store, key): value}, each as JSON; None where the bundle has none."""
    name = f"tasks/{task}/0/state/{checkpoint}.json"
    if name not in pack:
        return None
    if pack.size(name) > MOST_STATE_BYTES:
        raise ReplayError(f"the state has more than {MOST_STATE_BYTES >> 20} MiB and is not shown here", path=name)
    try:
        stores = read_json(pack.read(name))["operator"]
        return {(str(one), _text(key)): _text(value) for one, rows in stores.items() for key, value in rows}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise ReplayError("the state is not what an importer writes", path=name) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:MOST_TEXT]
