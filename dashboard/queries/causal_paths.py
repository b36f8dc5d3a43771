"""The causal path of one attempt, worked out by a child process under limits, and kept per published content."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard import store
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.turns import Turns
from ingest.lake.publish import published_folder

log = logging.getLogger("clonoscope.paths")

SECONDS = 60
MEMORY_KIB = 2 << 20
ANSWER_BYTES = 64 << 20
AT_ONCE = 2
CACHE_VERSION = 1

_turns = Turns("Too many causal paths are being worked out. Try again in a minute.", at_once=AT_ONCE, wait_s=SECONDS)
_guard = threading.Lock()
_under_way: dict[Path, threading.Lock] = {}


def causal_path(job: Job, task: str, attempt: int) -> Any:
    """What `python -m replay.causality` says of this attempt; Problem where it cannot say."""
    kept = _kept_at(job, task, attempt)
    with _one_at_a_time(kept):
        if kept.exists():
            return json.loads(kept.read_bytes())
        answer = _worked_out(store.pack_path(job.id), task, attempt)
        path = json.loads(answer)
        _keep(kept, answer)
        return path


def _kept_at(job: Job, task: str, attempt: int) -> Path:
    """Beside the tables of the version that is published: it goes when they go. The task's name becomes no path."""
    asked = sha256(f"{CACHE_VERSION}\0{task}\0{attempt}".encode()).hexdigest()[:24]
    return published_folder(settings.LAKE_ROOT, job.id) / "paths" / f"{asked}.json"


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
    with _turns.taken():
        return _child(pack, task, attempt)


def _child(pack: Path, task: str, attempt: int) -> bytes:
    command = [sys.executable, "-m", "replay.causality", str(pack), f"--task={task}", f"--attempt={attempt}"]
    limited = ["/bin/sh", "-c", f'ulimit -v {MEMORY_KIB} && ulimit -t {SECONDS} && exec "$@"', "sh", *command]
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
        out.seek(0)
        answer = out.read(ANSWER_BYTES + 1)
    if done.returncode < 0 or b"MemoryError" in done.stderr or len(answer) > ANSWER_BYTES:
        raise _too_much()
    if done.returncode == 1 and answer:
        raise Problem(404, json.loads(answer)["error"], code="no-causal-path")
    if done.returncode != 0:
        log.error("causal path of %s/%s in %s: %s", task, attempt, pack.name, done.stderr.decode("utf-8", "replace"))
        raise Problem(500, "The causal path could not be worked out; the server's log says why.")
    return answer


def _keep(kept: Path, answer: bytes) -> None:
    fresh = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        kept.parent.mkdir(exist_ok=True)
        fresh.write_bytes(answer)
        os.replace(fresh, kept)
    except OSError as error:
        # The job was deleted or ingested anew meanwhile, or the disk is full: the answer is good all the same.
        fresh.unlink(missing_ok=True)
        log.warning("a causal path is not kept: %s", error)


def _too_much() -> Problem:
    limits = f"{SECONDS} seconds and {MEMORY_KIB >> 20} GiB"
    return Problem(422, f"This causal path needs more than {limits}. Choose an attempt that ran shorter.")
