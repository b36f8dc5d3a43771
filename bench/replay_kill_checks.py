"""What the bench that kills replays asks for, and how it holds them to undisturbed ones."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb

from bench.kill_checks import Checks
from bench.server_process import wait_until

INGESTED_WITHIN_S = 180.0
MANIFEST = "manifest.json"
# Forks are made of a few steps, so that few undisturbed ones are needed.
FORKED_AT = 4


class ReplayChecks:
    """Every kind of replay is done once by a child of this process, which nobody kills: others are held to that."""

    def __init__(self, checks: Checks, folder: Path, recording: Path) -> None:
        self._checks, self._folder = checks, folder
        self._kept = folder / "kept"
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._took_s: dict[str, float] = {}
        self._names: dict[str, str] = {}
        checks.create(recording, "killed")
        wait_until(checks.ready_jobs, "the ingest", INGESTED_WITHIN_S, 0.3)
        self._job_id = checks.ready_jobs()[0]
        self._parent = self._start("plain", None)
        wait_until(lambda: not checks.pending(), "the first replay", INGESTED_WITHIN_S, 0.1)
        self._forks = self._offered()

    def start(self, kind: str, chance: random.Random) -> str:
        """Its id; the undisturbed one of its kind is there before it begins."""
        fork = chance.choice(self._forks) if kind == "fork" else None
        name = kind if fork is None else f"fork-{fork[0]}"
        if name not in self._outcomes:
            self._do_undisturbed(name, kind, fork)
        replay_id = self._start(kind, fork)
        self._names[replay_id] = name
        self._took_s[kind] = self._took_s[name]
        return replay_id

    def took_s(self, kind: str) -> float:
        return self._took_s[kind]

    def pending(self) -> list[str]:
        return self._checks.pending()

    def leftovers(self) -> list[str]:
        return self._checks.leftovers()

    def story(self) -> str:
        return self._checks.story()

    def retry(self, replay_id: str) -> None:
        self._checks.retry(replay_id)

    def state(self, replay_id: str) -> tuple[str, str, int]:
        """(status, message, how many children died over it)."""
        from dashboard.models import Replay, Work

        replay = Replay.objects.get(id=replay_id)
        return replay.status, replay.message, sum(work.deaths for work in Work.objects.filter(target=replay_id))

    def is_compacting(self, replay_id: str) -> bool:
        """Whether files of the sorted tables are being written, or the last manifest waits to be told of."""
        folder = self._folder_of(replay_id)
        return any(folder.glob("*/*all*")) if folder.is_dir() else False

    def keep_what_lies_there(self, replay_id: str) -> None:
        """By further links to the same files: the sweeper may take the first ones at any time."""
        shutil.rmtree(self._kept, ignore_errors=True)
        folder = self._folder_of(replay_id)
        if folder.is_dir():
            shutil.copytree(folder, self._kept, copy_function=os.link)

    def what_was_readable(self, kind: str, replay_id: str) -> tuple[int, list[str]]:
        """(1 where steps could be read, what was wrong with them)."""
        if not (self._kept / MANIFEST).exists():
            return 0, []
        manifest = json.loads((self._kept / MANIFEST).read_bytes())
        whole = self._folder / self._names[replay_id]
        wrong = [f"{kind}: {why}" for why in _differs(self._kept, whole, whole_too=False)]
        return int(manifest["steps"] > 0), wrong

    def faults(self, replay_id: str, kind: str) -> list[str]:
        """What of a replay that has ended is not as in the undisturbed one."""
        from dashboard.models import Replay

        replay = Replay.objects.get(id=replay_id)
        name = self._names[replay_id]
        undisturbed = self._outcomes[name]
        if replay.status != "ready":
            return [f"{kind} {replay_id} is {replay.status}: {replay.message}"]
        found = [
            f"{kind} {replay_id}: {what} is {getattr(replay, what)!r}, not {undisturbed[what]!r}"
            for what in ("verdict", "sentence", "steps")
            if getattr(replay, what) != undisturbed[what] and not (kind == "hunt" and what == "sentence")
        ]
        folder = self._folder_of(replay_id)
        found += [f"{kind} {replay_id}: {why}" for why in _differs(folder, self._folder / name, whole_too=True)]
        return found + [f"{kind} {replay_id}: {path} is left" for path in _unnamed(folder)]

    def _start(self, kind: str, fork: tuple[int, Any] | None) -> str:
        from dashboard import forks
        from dashboard.models import Job, Replay

        job = Job.objects.get(id=self._job_id)
        if fork is not None:
            parent = Replay.objects.get(id=self._parent)
            return str(forks.start(job.owner, parent, fork[0], fork[1]).id)
        task = "" if kind == "joint" else job.facts["failures"][0]["task"]
        failure = job.facts["failures"][0]["failure"]
        return str(self._checks.jobs.start_replay(job.owner, job, task, failure, hunt=kind == "hunt").id)

    def _offered(self) -> list[tuple[int, Any]]:
        from dashboard import forks
        from dashboard.models import Replay

        parent = Replay.objects.get(id=self._parent)
        found: list[tuple[int, Any]] = []
        for step in range(parent.steps // 3, parent.steps, 97):
            offered = {one.change: one for one in forks.offered_at(parent, step)}
            if "lost" in offered:
                found.append((step, {"change": "lost"}))
            elif "failure" in offered:
                found.append((step, {"change": "failure", "task": offered["failure"].choices[0]}))
            if len(found) == FORKED_AT:
                break
        return found

    def _do_undisturbed(self, name: str, kind: str, fork: tuple[int, Any] | None) -> None:
        from dashboard import store
        from dashboard.models import Replay
        from dashboard.work.supervise_replay import request_of
        from ingest.launch import run_replay

        asked = self._start(kind, fork)
        wait_until(lambda: not self.pending(), "the replay before the kills", INGESTED_WITHIN_S, 0.1)
        began = time.monotonic()
        replay = Replay.objects.get(id=asked)
        request = request_of(replay, store.pack_path(replay.job_id), self._folder / name)
        self._outcomes[name] = run_replay(request, self._folder / "replay.log")
        self._took_s[name] = time.monotonic() - began

    def _folder_of(self, replay_id: str) -> Path:
        from dashboard import store

        return store.replay_path(replay_id).resolve()


def _differs(folder: Path, whole: Path, *, whole_too: bool) -> list[str]:
    """Tables whose rows are not all in the whole replay's; with `whole_too`, nor the other way round."""
    files, expected = _files(folder), _files(whole)
    found = []
    with duckdb.connect() as lake:
        for table in sorted(set(files) | set(expected) if whole_too else set(files)):
            here, there = files.get(table, []), expected.get(table, [])
            if not here or not there:
                found += [f"{table} has no rows here"] if whole_too and there else []
                found += [f"{table} has rows that nothing wrote"] if here and not there else []
                continue
            pairs = [(here, there), (there, here)] if whole_too else [(here, there)]
            for one, other in pairs:
                question = f"SELECT count(*) FROM (FROM read_parquet({one}) EXCEPT ALL FROM read_parquet({other}))"
                strange = lake.execute(question).fetchall()[0][0]
                found += [f"{strange} rows of {table} are not those of an undisturbed replay"] if strange else []
    return found


def _files(folder: Path) -> dict[str, list[str]]:
    named = json.loads((folder / MANIFEST).read_bytes())["files"]
    return {table: [str(folder / path) for path in paths] for table, paths in named.items() if paths}


def _unnamed(folder: Path) -> list[str]:
    named = {folder / MANIFEST} | {Path(path) for paths in _files(folder).values() for path in paths}
    return sorted(str(path) for path in folder.rglob("*") if path.is_file() and path not in named)
