"""What causes of steps name in the recording: a determinant, a delta on a buffer, an event; each with a sentence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dashboard.queries.lake import lake
from ingest.lake.errors import NotPublished
from ingest.lake.readers import PublishedJob

DETERMINANT = re.compile(
    r"det:(?P<task>.+)/(?P<attempt>[0-9]{1,18})/(?P<thread>main|out-[0-9]{1,18})/(?P<epoch>[0-9]{1,18})#(?P<seq>[0-9]{1,18})"
)
DELTA = re.compile(r"delta:(?P<channel>.+)#(?P<seq>[0-9]{1,18})/(?P<task>[^/]+)/(?P<thread>main|out-[0-9]{1,18})")
EVENT = re.compile(r"event:(?P<n>[0-9]{1,18})")
SHOWN = (
    "channel",
    "value",
    "record_count",
    "timestamp",
    "callback",
    "checkpoint",
    "buffer_bytes",
    "first_offset",
    "records",
)


def sentence_of_event(event: Mapping[str, Any]) -> str:
    """What happened when, and at whom."""
    who = event.get("task") or event.get("at") or event.get("channel") or "the coordinator"
    return f"Event {event['n']} at {event['t_us'] / 1e6:.6f} s: {event['type']}, {who}."


def rows_of(job_id: str, refs: list[str]) -> list[dict[str, Any]]:
    """In the order asked. What the lake does not hold (any more) keeps its name and says so."""
    try:
        job: PublishedJob | None = lake().job(job_id)
    except NotPublished:
        job = None
    found = {} if job is None else {**_determinants(job, refs), **_deltas(job, refs), **_events(job, refs)}
    return [found.get(ref) or _missing(ref) for ref in refs]


def _determinants(job: PublishedJob, refs: list[str]) -> dict[str, dict[str, Any]]:
    by_log: dict[tuple[str, int, str, int], dict[int, str]] = defaultdict(dict)
    for ref in refs:
        if match := DETERMINANT.fullmatch(ref):
            log = (match["task"], int(match["attempt"]), match["thread"], int(match["epoch"]))
            by_log[log][int(match["seq"])] = ref
    found = {}
    for (task, attempt, thread, epoch), wanted in by_log.items():
        sql = (
            f"SELECT * FROM {job.log_source(task, attempt, thread, epoch)} WHERE task = $task AND attempt = $attempt "
            "AND thread = $thread AND epoch = $epoch AND seq IN (SELECT unnest($seqs))"
        )
        params = {"task": task, "attempt": attempt, "thread": thread, "epoch": epoch, "seqs": sorted(wanted)}
        for row in _dicts(job, sql, params):
            said = ", ".join(f"{name.replace('_', ' ')} {row[name]}" for name in SHOWN if row[name] is not None)
            what = f"{row['kind']}, {said}" if said else row["kind"]
            text = f"Determinant {row['seq']} of {task}'s {thread} log in epoch {epoch}: {what}."
            ref = wanted[row["seq"]]
            found[ref] = {"ref": ref, "kind": row["kind"], "text": text, "row": row}
    return found


def _deltas(job: PublishedJob, refs: list[str]) -> dict[str, dict[str, Any]]:
    """A delta may have been sent twice; the first sending is the one that told something new."""
    found = {}
    for ref in refs:
        if not (match := DELTA.fullmatch(ref)):
            continue
        sql = (
            "SELECT * FROM deltas WHERE channel = $channel AND seq = $seq AND task = $task AND thread = $thread "
            "ORDER BY attempt, sending, epoch LIMIT 1"
        )
        params = {**match.groupdict(), "seq": int(match["seq"])}
        for row in _dicts(job, sql, params):
            text = (
                f"Buffer {row['seq']} on {row['channel']} carried {row['length']} bytes of {row['task']}'s "
                f"{row['thread']} log, epoch {row['epoch']}, from offset {row['offset']}."
            )
            found[ref] = {"ref": ref, "kind": "delta", "text": text, "row": row}
    return found


def _events(job: PublishedJob, refs: list[str]) -> dict[str, dict[str, Any]]:
    wanted = {int(match["n"]): ref for ref in refs if (match := EVENT.fullmatch(ref))}
    if not wanted:
        return {}
    found = {}
    sql = "SELECT * FROM events WHERE n IN (SELECT unnest($ns)) ORDER BY n"
    for row in _dicts(job, sql, {"ns": sorted(wanted)}):
        row = {name: value for name, value in row.items() if value is not None}
        text = sentence_of_event(row)
        found[wanted[row["n"]]] = {"ref": wanted[row["n"]], "kind": row["type"], "text": text, "row": row}
    return found


def _dicts(job: PublishedJob, sql: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    columns, rows = job.columns_and_rows(sql, params)
    return [{name: _plain(value) for name, value in zip(columns, row, strict=True)} for row in rows]


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _missing(ref: str) -> dict[str, Any]:
    return {"ref": ref, "kind": "missing", "text": f"{ref}: not in this recording's tables.", "row": None}
