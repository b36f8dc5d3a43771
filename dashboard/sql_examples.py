"""Questions to begin with: each shows something of the tables, and runs as it stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    sql: str


EXAMPLES = (
    Example(
        "What logging costs, by task and kind",
        "SELECT task, kind, sum(determinants) AS determinants, sum(bytes) AS bytes\n"
        "FROM counts\nGROUP BY task, kind\nORDER BY bytes DESC",
    ),
    Example(
        "How long each failure took to recover from",
        "SELECT failure, task, failed_us / 1e6 AS failed_s,\n"
        "       (detected_us - failed_us) / 1e3 AS detected_after_ms,\n"
        "       (running_us - failed_us) / 1e3 AS running_after_ms\n"
        "FROM failures\nORDER BY failure",
    ),
    Example(
        "Buffers that were sent more than once",
        "SELECT channel, attempt, seq, count(*) AS times, min(sent_us) AS first_us, max(sent_us) AS last_us\n"
        "FROM sendings\nGROUP BY channel, attempt, seq\nHAVING count(*) > 1\nORDER BY times DESC, channel, seq",
    ),
    Example(
        "Sent, and never taken",
        "SELECT channel, attempt, count(*) AS sendings\n"
        "FROM sendings\nWHERE taken_us IS NULL OR taken_us < 0\nGROUP BY channel, attempt\nORDER BY sendings DESC",
    ),
    Example(
        "Determinants that travelled, by whose log and on which channel",
        "SELECT task AS whose, thread, channel, sum(length) AS bytes, count(*) AS deltas\n"
        "FROM deltas\nGROUP BY ALL\nORDER BY bytes DESC",
    ),
    Example(
        "How long checkpoints took, task by task",
        "SELECT checkpoint, task, (acknowledged_us - triggered_us) / 1e3 AS after_ms, bytes\n"
        "FROM checkpoints\nWHERE acknowledged_us IS NOT NULL\nORDER BY after_ms DESC",
    ),
    Example(
        "What happened around the first failure",
        'SELECT n, t_us, type, coalesce(task, "at") AS task, attempt, channel\n'
        "FROM events\nWHERE t_us BETWEEN (SELECT min(failed_us) - 100_000 FROM failures)\n"
        "               AND (SELECT min(failed_us) + 500_000 FROM failures)\n"
        "  AND type <> 'metric'\nORDER BY n",
    ),
    Example(
        "Records a second at the sinks",
        "SELECT t_us // 1_000_000 AS second, count(*) AS records\nFROM sinks\nGROUP BY second\nORDER BY second",
    ),
    Example(
        "Where one task's choices and another's buffers meet",
        "SELECT b.channel, b.seq, b.bytes, s.receiver_attempt, s.taken_count AS record, s.taken_us\n"
        "FROM buffers b\nJOIN sendings s USING (channel, attempt, seq)\n"
        "WHERE s.taken_us >= 0\nORDER BY s.taken_us\nLIMIT 100",
    ),
)
