"""Where the evidence of an audit can be looked at."""

from __future__ import annotations

from urllib.parse import urlencode

from replay.guarantees.reporting.evidence import evidence


def address_of(job_id: str, name: str) -> str | None:
    """None where no page shows it: what was found outside, and what has no known form."""
    found = evidence(name)
    if found is None or found.kind == "outside":
        return None
    return f"/jobs/{job_id}/evidence/?{urlencode({'of': name})}"
