"""A page of determinants over many logs: the roll-ups say which logs have any, and only the files of these are read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ingest.lake.engine import Row
from ingest.lake.errors import QueryTooLong
from ingest.lake.readers import PublishedJob

LOG = ("task", "attempt", "thread", "epoch")
LOGS_AT_ONCE = 256
_NAMES = ", ".join(LOG)
# With a kind the roll-up by kind passes over all logs that have none of it.
_LOGS_SQL = """
SELECT {names}, sum(determinants)::BIGINT FROM {rollup} WHERE determinants > 0 {where}
GROUP BY {names} ORDER BY {names} LIMIT {limit}
"""
Log = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a page begins: at a number of a log, of which so many rows were given before."""

    log: Log
    seq: int
    skip: int


@dataclass(frozen=True, slots=True)
class Conditions:
    """What rows must meet, with values by name; `of_logs` are those about columns of the log, or its kind.

    `from_seq` is given where they say nothing but which logs, and from which number on: then every number from there
    on is a row of the page, and it is known where it ends.
    """

    all: Sequence[str]
    of_logs: Sequence[str]
    params: Mapping[str, Any]
    from_seq: int | None


def walk(job: PublishedJob, columns: str, asked: Conditions, begin: Begin | None, limit: int) -> list[Row]:
    """`limit` rows in the order of their key."""
    until, found = time.monotonic() + job.limits.timeout_s, list[Row]()
    skip = begin.skip if begin else 0
    wanted = limit + skip
    for group in _groups(job, asked, begin, wanted):
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise QueryTooLong(f"the query took longer than {job.limits.timeout_s:g} s. Ask for a narrower range.")
        sql, bound = _query(job, columns, asked, begin, group, wanted - len(found))
        found += job.rows(sql, bound, timeout_s=left_s)
        if len(found) >= wanted:
            break
    return found[skip:]


def _groups(job: PublishedJob, asked: Conditions, begin: Begin | None, wanted: int) -> Iterator[list[Log]]:
    """Logs one after the other, as many at once as have what is wanted; and more each time, where few rows of them
    meet other conditions."""
    group, held = list[Log](), 0
    for *log, determinants in _logs(job, asked, begin.log if begin else None):
        group.append(tuple(log))
        held += determinants
        if held >= wanted or len(group) == LOGS_AT_ONCE:
            yield group
            group, held, wanted = [], 0, wanted * 2
    if group:
        yield group


def _logs(job: PublishedJob, asked: Conditions, after: Log | None) -> Iterator[Row]:
    rollup = "counts" if any(one.startswith('"kind"') for one in asked.of_logs) else "epochs"
    compared = ">="
    while True:
        where = list(asked.of_logs)
        bound = {name: value for name, value in asked.params.items() if any(one.endswith(f"${name}") for one in where)}
        if after is not None:
            where.append(f"ROW({_NAMES}) {compared} ROW($l0, $l1, $l2, $l3)")
            bound |= {f"l{n}": value for n, value in enumerate(after)}
        conditions = "".join(f" AND {one}" for one in where)
        sql = _LOGS_SQL.format(names=_NAMES, rollup=rollup, where=conditions, limit=LOGS_AT_ONCE)
        rows = job.rows(sql, bound)
        yield from rows
        if len(rows) < LOGS_AT_ONCE:
            return
        after, compared = rows[-1][:4], ">"


def _query(
    job: PublishedJob, columns: str, asked: Conditions, begin: Begin | None, group: list[Log], limit: int
) -> tuple[str, dict[str, Any]]:
    """Of logs that follow one another. Runs of them that lie in the same files are read by one look at these."""
    parts, bound = [], dict(asked.params)
    runs = groupby(group, key=lambda log: (job.log_source(*log), begin is not None and log == begin.log))
    for n, ((source, begins), run) in enumerate(runs):
        logs = list(run)
        where = list(asked.all)
        if begin is not None and begins:
            where.append("seq >= $begin")
            bound["begin"] = begin.seq
        if len(logs) == 1:
            where += [f"{name} = $r{n}{name}" for name in LOG]
            bound |= {f"r{n}{name}": value for name, value in zip(LOG, logs[0], strict=True)}
            if asked.from_seq is not None:
                # Of the other columns nothing is read then but what the page shows.
                where.append(f"seq < $end{n}")
                bound[f"end{n}"] = max(asked.from_seq, begin.seq if begin and begins else 0) + limit
        else:
            chosen = ", ".join(f"unnest($r{n}{name}) AS {name}" for name in LOG)
            source += f" SEMI JOIN (SELECT {chosen}) USING ({_NAMES})"
            bound |= {f"r{n}{name}": list(column) for name, column in zip(LOG, zip(*logs, strict=True), strict=True)}
        parts.append(f"SELECT {columns} FROM {source}" + (f" WHERE {' AND '.join(where)}" if where else ""))
    order = "seq" if len(group) == 1 else f"{_NAMES}, seq"
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY {order} LIMIT {limit}", bound
