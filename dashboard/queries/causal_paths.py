"""The causal path of one attempt, worked out by a child process under limits, and kept per published content."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard import store
from dashboard.models import Job
from dashboard.problems import Problem

SECONDS = 60
MEMORY_KIB = 2 << 20
ANSWER_BYTES = 64 << 20
AT_ONCE = 2
CACHE_VERSION = 1

_places = threading.BoundedSemaphore(AT_ONCE)
_guard = threading.Lock()
_under_way: dict[Path, threading.Lock] = {}


def causal_path(job: Job, task: str, attempt: int) -> Any:
    """What `python -m replay.causality` says of this attempt; Problem 422 where it cannot say."""
    kept = _kept_at(job, task, attempt)
    with _one_at_a_time(kept):
        if not kept.exists():
            _keep(kept, _worked_out(store.pack_path(job.id), task, attempt))
        return json.loads(kept.read_bytes())


def forget(job_id: str) -> None:
    """The job is gone."""
    for path in _folder().glob(f"{job_id}.*"):
        path.unlink(missing_ok=True)


def _folder() -> Path:
    return settings.DATA / "cache" / "paths"


def _kept_at(job: Job, task: str, attempt: int) -> Path:
    """The bundle decides, and a job's bundle never changes; the task's name becomes no path."""
    from hashlib import sha256

    asked = sha256(f"{CACHE_VERSION}\0{job.content_id}\0{task}\0{attempt}".encode()).hexdigest()[:24]
    return _folder() / f"{job.id}.{asked}.json"


@contextmanager
def _one_at_a_time(kept: Path) -> Iterator[None]:
    with _guard:
        lock = _under_way.setdefault(kept, threading.Lock())
    with lock:
        try:
            yield
        finally:
            with _guard:
                _under_way.pop(kept, None)


def _worked_out(pack: Path, task: str, attempt: int) -> bytes:
    if not _places.acquire(timeout=SECONDS):
        raise Problem(503, "Too many causal paths are being worked out. Try again in a minute.")
    try:
        return _child(pack, task, attempt)
    finally:
        _places.release()


def _child(pack: Path, task: str, attempt: int) -> bytes:
    command = [sys.executable, "-m", "replay.causality", str(pack), "--task", task, "--attempt", str(attempt)]
    limited = ["/bin/sh", "-c", f'ulimit -v {MEMORY_KIB} -t {SECONDS}; exec "$@"', "sh", *command]
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(
                limited,
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _too_much() from None
        if done.returncode < 0 or b"MemoryError" in done.stderr:
            raise _too_much()
        if done.returncode != 0:
            raise Problem(422, _last_sentence(done.stderr), code="no-causal-path")
        size = out.seek(0, os.SEEK_END)
        if size > ANSWER_BYTES:
            raise _too_much()
        out.seek(0)
        return out.read()


def _keep(kept: Path, answer: bytes) -> None:
    json.loads(answer)  # half an answer must not be kept for ever
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    fresh.write_bytes(answer)
    os.replace(fresh, kept)


def _too_much() -> Problem:
    limits = f"{SECONDS} seconds and {MEMORY_KIB >> 20} GiB"
    return Problem(422, f"This causal path needs more than {limits}. Choose an attempt that ran shorter.")


def _last_sentence(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:1000] if lines else "The causal path could not be worked out."
