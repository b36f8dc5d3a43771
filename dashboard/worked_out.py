"""Answers that need the whole bundle: worked out by a child process under limits, and kept per published content."""

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
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard import bundles, store
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.turns import Turns
from ingest.lake.publish import published_folder

log = logging.getLogger("clonoscope.worked-out")

SECONDS = 60
MEMORY_KIB = 2 << 20
ANSWER_BYTES = 64 << 20
AT_ONCE = 2
# Reading a whole bundle takes a while: above this size the page comes first and the answer after it.
AT_ONCE_BYTES = 24 << 20


@dataclass(frozen=True, slots=True)
class Question:
    """What a module of the runtime answers as one line of JSON, given a bundle; an error as `{"error": sentence}`.

    `version` counts up where answers come out otherwise than before; `what` it is in words, `remedy` for
    who asks too much.
    """

    module: str
    version: int
    folder: str
    what: str
    remedy: str
    code: str
    refused_with: int = 404

    def asked_of(self, job: Job, *arguments: str) -> Any:
        """The answer; Problem where there is none."""
        kept = self._kept_at(job, arguments)
        with _one_at_a_time(kept):
            if kept.exists():
                return json.loads(kept.read_bytes())
            answer = self._worked_out(job, arguments)
            told = json.loads(answer)
            self._keep(kept, answer)
            return told

    def asked_anew_of(self, job: Job, *arguments: str) -> Any:
        """The same, and no file of it: for what is asked in so many ways that nobody asks the same for long."""
        return json.loads(self._worked_out(job, arguments))

    def _worked_out(self, job: Job, arguments: tuple[str, ...]) -> bytes:
        with _turns.taken(), bundles.bundle(job.id) as pack:
            return self._child(pack, arguments)

    def _kept_at(self, job: Job, arguments: tuple[str, ...]) -> Path:
        """Beside the tables of the version that is published: it goes when they go. No argument becomes a path.

        Of tables in a bucket it is kept in a folder of the version's name, which the sweeper removes after them.
        """
        asked = sha256("\0".join((str(self.version), *arguments)).encode()).hexdigest()[:24]
        published = published_folder(settings.LAKE_ROOT, job.id)
        beside = published if isinstance(published, Path) else store.kept_paths() / published.name
        return beside / self.folder / f"{asked}.json"

    def _child(self, pack: Path, arguments: tuple[str, ...]) -> bytes:
        command = [sys.executable, "-m", self.module, str(pack), *arguments]
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
                raise self._too_much() from None
            out.seek(0)
            answer = out.read(ANSWER_BYTES + 1)
        if done.returncode < 0 or b"MemoryError" in done.stderr or len(answer) > ANSWER_BYTES:
            raise self._too_much()
        if done.returncode == 1 and answer:
            raise Problem(self.refused_with, json.loads(answer)["error"], code=self.code)
        if done.returncode != 0:
            log.error("%s of %s: %s", self.what, pack.name, done.stderr.decode("utf-8", "replace"))
            raise Problem(500, f"The {self.what} could not be worked out; the server's log says why.")
        return answer

    def _keep(self, kept: Path, answer: bytes) -> None:
        fresh = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        try:
            _make_folder(kept.parent)
            fresh.write_bytes(answer)
            os.replace(fresh, kept)
        except OSError as error:
            # The job was deleted or ingested anew meanwhile, or the disk is full: the answer is good all the same.
            fresh.unlink(missing_ok=True)
            log.warning("%s is not kept: %s", self.what, error)

    def _too_much(self) -> Problem:
        limits = f"{SECONDS} seconds and {MEMORY_KIB >> 20} GiB"
        return Problem(422, f"This {self.what} needs more than {limits}. {self.remedy}")


def _make_folder(folder: Path) -> None:
    """Of tables in a folder theirs is there, or they were replaced, and it must not come back."""
    folder.mkdir(exist_ok=True, parents=folder.parent.parent == store.kept_paths())


_turns = Turns("Too many answers are being worked out. Try again in a minute.", at_once=AT_ONCE, wait_s=SECONDS)
_guard = threading.Lock()
_under_way: dict[Path, threading.Lock] = {}


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
