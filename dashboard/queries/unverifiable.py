"""What keeps every replay of an attempt from being identical: what its recorder left out, and what was redacted."""

from __future__ import annotations

from dashboard import measures
from dashboard.queries.gaps import gaps_of_attempt
from ingest.lake.readers import Lake

# A token as the recorder writes it; and as it reads in bytes that were made a text.
_TOKEN = r'\{"redacted": ?"[0-9a-f]{32}"\}'
_TOKEN_IN_BYTES = _TOKEN.replace('"', r"\\x22")
_SQL = """
SELECT EXISTS (SELECT 1 FROM sources WHERE task = $task AND attempt = $attempt
               AND (regexp_matches(value, $token) OR regexp_matches(key, $token)))
    OR EXISTS (SELECT 1 FROM sinks WHERE task = $task AND attempt = $attempt
               AND (regexp_matches(value, $token) OR regexp_matches(key, $token)))
    OR EXISTS (SELECT 1 FROM determinants WHERE task = $task AND attempt = $attempt
               AND regexp_matches(payload::VARCHAR, $token_in_bytes))
"""


def unverifiable(lake: Lake, *, job: str, task: str, attempt: int) -> str:
    """In words; nothing where all of it can be held against a replay."""
    _, gaps = gaps_of_attempt(lake, job=job, task=task, attempt=attempt)
    if gaps:
        return f"its log has {measures.count(gaps)} {'gap' if gaps == 1 else 'gaps'}"
    named = {"task": task, "attempt": attempt, "token": _TOKEN, "token_in_bytes": _TOKEN_IN_BYTES}
    return "it holds redacted values" if lake.rows(_SQL, named, job=job)[0][0] else ""
