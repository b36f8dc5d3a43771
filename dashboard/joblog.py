"""The readable log of a job: what was done with it, when, and why it went wrong."""

from __future__ import annotations

from django.utils import timezone

from dashboard import store


def write(job_id: str, sentence: str) -> None:
    path = store.log_path(job_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = " ".join(sentence.split())
    with open(path, "a", encoding="utf-8") as log:
        log.write(f"{timezone.now():%Y-%m-%d %H:%M:%S} {line}\n")


def read(job_id: str, *, last_bytes: int = 64 << 10) -> str:
    path = store.log_path(job_id)
    if not path.exists():
        return ""
    with open(path, "rb") as log:
        size = log.seek(0, 2)
        log.seek(max(0, size - last_bytes))
        return log.read().decode("utf-8", errors="replace")
