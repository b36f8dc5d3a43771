"""Kills the children of replays, forks, hunts and joint replays with -9, at work and waiting, at random moments.

What was readable when a child was killed must be true; what is begun again must come to the verdict and the tables of
an undisturbed one; what is killed twice must fail with words and succeed when it is tried again; and nothing may be
left. The last line is one JSON object. `python -m bench.replay_kills --times 100 --seed 1`
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.kill_checks import Checks
from bench.kill_system import System, embedded
from bench.replay_kill_checks import ReplayChecks
from bench.server_process import ROOT, NotInTime, Process, processes_of, run_command, wait_until

SETTLE_WITHIN_S = 120.0
RECORDING = ("pass-through", "--seed", "1", "--parallelism", "2", "--depth", "4")
KINDS = ("plain", "joint", "fork", "hunt")
# Of ten kills of a kind: so many while the tables are put in order, so many of the spare, of what surrounds a hunt,
# and of the web process; the rest at any moment of the replay.
HOW = ("any", "any", "any", "compacting", "compacting", "compacting", "twice", "spare", "perturbed", "web")


class Bench:
    def __init__(self, system: System, checks: ReplayChecks, seed: int) -> None:
        self.system, self.checks, self.random = system, checks, random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.of_kind: Counter[str] = Counter()
        self.readable = self.failed_with_words = 0
        self.half: list[str] = []

    def round(self, number: int) -> None:
        self.system.ensure_running()
        kind, how = KINDS[number % len(KINDS)], HOW[self.random.randrange(len(HOW))]
        if how == "spare":
            self._kill_spare(kind)
        replay_id = self.checks.start(kind, self.random)
        for _ in range({"spare": 0, "twice": 2}.get(how, 1)):
            self._kill_at_work(replay_id, kind, how)
            self.system.ensure_running()
        wait_until(lambda: not self.checks.pending(), "the end of all replays", SETTLE_WITHIN_S, every_s=0.05)
        self._hold_to_policy(replay_id)
        self.half += self.checks.faults(replay_id, kind)
        wait_until(lambda: not self.checks.leftovers(), "the removal of leftovers", 60, every_s=0.2)
        wait_until(lambda: self._alive("spare"), "a new spare", 20, every_s=0.1)

    def _hold_to_policy(self, replay_id: str) -> None:
        status, message, deaths = self.checks.state(replay_id)
        if status == "failed" and deaths >= 2 and "2 times" in message:
            self.failed_with_words += 1
            self.checks.retry(replay_id)
            wait_until(lambda: not self.checks.pending(), "the end of what was tried again", SETTLE_WITHIN_S)
        elif status == "failed":
            self.half.append(f"{replay_id} failed after {deaths} deaths: {message}")

    def _kill_spare(self, kind: str) -> None:
        for one in self._alive("spare")[:1]:
            self._kill(one, kind, "spare")

    def _kill_at_work(self, replay_id: str, kind: str, how: str) -> None:
        """Nothing is killed where it is over before its moment came."""
        wait_until(
            lambda: self._alive("replay") or replay_id not in self.checks.pending(), "a replay at work", 60, 0.002
        )
        begun_s, wait_s = time.monotonic(), self.random.uniform(0, self.checks.took_s(kind))
        while replay_id in self.checks.pending():
            if how == "compacting":
                due = self.checks.is_compacting(replay_id)
            elif how == "perturbed" and kind == "hunt":
                due = bool(self._alive("perturbed"))
            else:
                due = time.monotonic() - begun_s >= wait_s
            if due:
                break
            time.sleep(0.001)
        time.sleep(self.random.uniform(0, 0.05) if how in ("compacting", "perturbed") else 0)
        victim = {"web": "web", "perturbed": "perturbed"}.get(how, "replay")
        victim = "replay" if victim == "perturbed" and kind != "hunt" else victim
        for one in self._alive(victim)[:1]:
            told = "compacting" if victim == "replay" and self.checks.is_compacting(replay_id) else victim
            self._kill(one, kind, told, replay_id)

    def _kill(self, victim: Process, kind: str, told: str, replay_id: str = "") -> None:
        """Stopped first: what then lies in its folder is what a kill leaves there, and is looked at in peace."""
        try:
            os.kill(victim.pid, signal.SIGSTOP)
            if replay_id and victim.kind == "replay":
                self.checks.keep_what_lies_there(replay_id)
            os.kill(victim.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.system.await_end(victim.pid)
        self.kills[told] += 1
        self.of_kind[kind] += 1
        if replay_id and victim.kind == "replay":
            read, wrong = self.checks.what_was_readable(kind, replay_id)
            self.readable += read
            self.half += wrong

    def _alive(self, kind: str) -> list[Process]:
        return [one for one in processes_of(self.system.data) if one.kind == kind]


def main() -> int:
    options = _options()
    began = time.monotonic()
    folder = (options.data or Path(tempfile.mkdtemp(prefix="clonoscope-kills-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    recording = folder / "recording.tar.zst"
    events = "--events", str(options.events)
    ran = run_command(folder, "record", *RECORDING, *events, *_failures(options.events), "--out", str(recording))
    if ran.status != 0:
        raise NotInTime(f"recording failed: {ran.err}")
    try:
        with embedded(folder / "data") as system:
            system.ensure_running()
            checks = ReplayChecks(Checks(system.data, system.environment), folder / "undisturbed", recording)
            bench = Bench(system, checks, options.seed)
            number = 0
            while sum(bench.kills.values()) < options.times and not bench.half:
                try:
                    bench.round(number)
                except NotInTime as late:
                    bench.half.append(f"round {number}: {late}; {checks.story()}")
                print(f"round {number}: {dict(bench.kills)}, half done: {bench.half}", flush=True)
                number += 1
    finally:
        if options.data is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(_report(bench, options, time.monotonic() - began), separators=(",", ":")))
    return 1 if bench.half else 0


def _failures(events: int) -> tuple[str, ...]:
    """Two tasks at once, far from the checkpoint before: there is much to replay."""
    at = events * 7 // 20
    return "--kill", f"map-1.0@{at}+map-2.0@{at}", "--checkpoint-interval-ms", str(events * 3 // 10)


def _report(bench: Bench, options: argparse.Namespace, took_s: float) -> dict[str, object]:
    return {
        "kills": sum(bench.kills.values()),
        "by_victim": dict(sorted(bench.kills.items())),
        "by_kind": dict(sorted(bench.of_kind.items())),
        "readable_at_the_kill": bench.readable,
        "failed_with_words": bench.failed_with_words,
        "half_done": bench.half,
        "seed": options.seed,
        "seconds": round(took_s, 1),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="how many kills")
    parser.add_argument("--events", type=int, default=20_000, help="of the recording: how long replays are at work")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--data", type=Path, help="a folder to work in; kept afterwards")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
