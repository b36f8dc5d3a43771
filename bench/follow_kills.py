"""Kills `ingest --follow` with -9 at random moments while the folder that it follows grows, and starts it again.

After each kill what is published is a whole version, and `doctor` finds no damage and names all that lies about; in the
end the job has the tables that an ingest of the whole folder makes. Alone, the command does the ingests itself, and its
driver and JVM are killed too; `--mode served` has them done by a server, which is killed as well. The last line is one
JSON object; the exit status is 0 only if nothing was wrong. `python -m bench.follow_kills --times 200 --seed 1`
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.growing import Growth, members_of
from bench.kill_checks import Checks
from bench.kill_system import System
from bench.kills import work_folder
from bench.server_process import ROOT, NotInTime, begin_command, processes_of, run_command, wait_until

RECORDINGS = (
    ("--events", "3000", "--checkpoint-interval-ms", "300"),
    ("--events", "6000", "--checkpoint-interval-ms", "500", "--parallelism", "3", "--delta-layout", "grouping"),
)
KILLS_OF_ONE = 10
"""Of a job; then it may come to its end."""
WITHIN_S = 240.0
# After which so much time goes by: from before there is a job to within a version, or just after one.
LONGEST_WAIT_S = {"start": 3.0, "claimed": 2.0, "staging": 0.8, "version": 1.2}
MOMENTS = ("start", "claimed", *["staging"] * 4, *["version"] * 3)
OFTEN = 0.6
"""It is the command that is killed, whatever else there is."""
SHARE, EVERY_S = 0.01, 0.6
MOST_PUT_ASIDE = 3
"""Who kills the driver of one version twice has it put aside, in words; the command then tries again."""


@dataclass
class Tally:
    """What happened, for the last line."""

    kills: Counter[str] = field(default_factory=Counter)
    versions: int = 0
    jobs: int = 0
    left: int = 0
    put_aside: int = 0
    wrong: list[str] = field(default_factory=list)


class Bench:
    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.data = folder, folder / "data"
        self.random = random.Random(options.seed)
        self.times = options.times
        self.tally = Tally()
        self.system = System(self.data)
        self.served = options.mode == "served"
        self.checks = Checks(self.data, self.system.environment)

    def run(self) -> None:
        from bench.follow_checks import Whole

        wholes = {}
        for number, line in enumerate(RECORDINGS):
            recording = recorded(self.folder, number, line)
            wholes[recording] = Whole.of(recording, self.folder / f"whole-{number}")
        while self.killed < self.times and not self.tally.wrong:
            recording = self.random.choice(sorted(wholes))
            with ExitStack() as ending:
                Life(self, recording, wholes[recording]).run(ending)
            self.tally.jobs += 1
            self.checks.delete_all()

    @property
    def killed(self) -> int:
        return sum(self.tally.kills.values())

    def end(self) -> None:
        for one in processes_of(self.data):
            os.kill(one.pid, signal.SIGKILL)
        self.system.end()


class Life:
    """One job, from the first look at its folder to its last version."""

    def __init__(self, bench: Bench, recording: Path, whole: Any) -> None:
        self.bench, self.random, self.whole = bench, bench.random, whole
        self.folder = bench.folder / f"growing-{bench.tally.jobs}"
        manifest, members = members_of(recording)
        rng = random.Random(self.random.random())
        self.growth = Growth(manifest, members, self.folder, rng, epochwise=rng.random() < 0.7)
        self.command: subprocess.Popen[str] | None = None
        self.versions = set[str]()

    def run(self, ending: ExitStack) -> None:
        ending.callback(self._kill_the_command)
        begun = self.bench.killed
        with self.growth.growing(SHARE, EVERY_S) as writer:
            while self.bench.killed < self.bench.times and self.bench.killed - begun < KILLS_OF_ONE:
                self._round()
                if not writer.is_alive() and self.random.random() < 0.5:
                    self.growth.write_manifest(complete=True)
        self.growth.grow(1)
        self.growth.write_manifest(complete=True)
        self._end()

    def _round(self) -> None:
        self._ensure_running()
        self._wait()
        victims = self._victims()
        if not victims:
            return
        kind = (
            "command" if "command" in victims and self.random.random() < OFTEN else self.random.choice(sorted(victims))
        )
        chosen = self.random.choice(victims[kind])
        os.kill(chosen, signal.SIGKILL)
        self.bench.tally.kills[kind] += 1
        self._await_end(chosen)
        self._look(kind)

    def _ensure_running(self) -> None:
        if self.bench.served:
            self.bench.system.ensure_running()
        if self.command is None or self.command.poll() is not None:
            line = ["ingest", str(self.folder), "--follow", "--json"]
            self.command = begin_command(self.bench.data, *line, environment=self.bench.system.environment)

    def _wait(self) -> None:
        """Until a moment that is worth a kill."""
        moment = self.random.choice(MOMENTS)
        looks = {"claimed": self._claimed, "staging": self._staging, "version": self._new_version}
        reached = looks.get(moment, lambda: True)
        command = self.command
        # Where nothing more is written there may be no version to wait for.
        with suppress(NotInTime):
            wait_until(
                lambda: reached() or command is None or command.poll() is not None,
                moment,
                60 if self.growth.left else 3,
                every_s=0.02,
            )
        time.sleep(self.random.uniform(0, LONGEST_WAIT_S[moment]))

    def _claimed(self) -> bool:
        from dashboard.models import Work

        return Work.objects.filter(state=Work.State.RUNNING).exists()

    def _staging(self) -> bool:
        """Whether tables are being written."""
        return any((self.bench.data / "staging").glob("*/*"))

    def _new_version(self) -> bool:
        links = [path for path in (self.bench.data / "lake").glob("j_*") if path.is_symlink()]
        found = {os.readlink(path) for path in links}
        fresh = found - self.versions
        self.versions |= found
        self.bench.tally.versions += len(fresh)
        return bool(fresh)

    def _victims(self) -> dict[str, list[int]]:
        kinds = ("driver", "jvm", *(("web",) if self.bench.served else ()))
        found: dict[str, list[int]] = {}
        for one in processes_of(self.bench.data):
            if one.kind in kinds:
                found.setdefault(one.kind, []).append(one.pid)
        if self.command is not None and self.command.poll() is None:
            found["command"] = [self.command.pid]
        return found

    def _await_end(self, pid: int) -> None:
        if self.command is not None and self.command.pid == pid:
            self.command.communicate()
        else:
            self.bench.system.await_end(pid)

    def _look(self, kind: str) -> None:
        """What is there while nobody works on it; while somebody does, only what is published."""
        self._new_version()
        alone = kind == "command" and not self.bench.served
        if alone:
            wait_until(lambda: not list(processes_of(self.bench.data)), "the end of the command's children", 20)
            self._ask_doctor()
        for job in self._jobs():
            self.bench.tally.wrong += self.whole.wrong_in(self.bench.data, job.id)

    def _ask_doctor(self) -> None:
        from dashboard.stored import damages

        left = self.bench.checks.leftovers()
        self.bench.tally.left += len(left)
        named = [str(one) for one in damages(checksums=True, mend=False)]
        self.bench.tally.wrong += [f"{path} is not named" for path in left if not any(path in one for one in named)]
        self.bench.tally.wrong += [one for one in named if not any(path in one for path in left)]
        if self.random.random() < 0.5:
            list(damages(checksums=False, mend=True))
            self.bench.tally.wrong += [f"{path} is not mended" for path in self.bench.checks.leftovers()]

    def _jobs(self) -> list[Any]:
        """Those that have a version."""
        from dashboard.models import Job
        from dashboard.models.status import READABLE

        return list(Job.objects.filter(status__in=READABLE))

    def _end(self) -> None:
        """Started once more, the command comes to its end; what it made is what a whole ingest makes."""
        wrong, ended = self.bench.tally.wrong, self._ended()
        for _ in range(MOST_PUT_ASIDE):
            if "it is put aside" in ended:
                self.bench.tally.put_aside += 1
                ended = self._ended()
        wrong += [ended] if ended else []
        jobs = self._jobs()
        if [(job.status, job.following, job.content_id) for job in jobs] != [("ready", False, self.whole.content_id)]:
            wrong.append(f"in the end there are {[(job, job.status, job.following, job.message) for job in jobs]}")
        for job in jobs:
            wrong += self.whole.different_in(self.bench.data, job.id)
        if not self.bench.served:
            self._ask_doctor()

    def _ended(self) -> str:
        """What the command ended with, if that was not well."""
        self._ensure_running()
        if self.command is None:
            raise NotInTime("the command was not started")
        out, err = self.command.communicate(timeout=WITHIN_S)
        told = json.loads(out.splitlines()[-1]) if out else {}
        well = self.command.returncode == 0 and told.get("status") == "ready"
        return "" if well else f"the command ended with {self.command.returncode}: {out} {err}"

    def _kill_the_command(self) -> None:
        if self.command is not None and self.command.poll() is None:
            self.command.kill()
            self.command.communicate()


def recorded(folder: Path, number: int, line: tuple[str, ...]) -> Path:
    """A recording with a failure, as a folder."""
    out = folder / f"recording-{number}"
    if not out.exists():
        options = ["--seed", str(number), "--kill", "map-1.0@700", *line, "--out", str(out)]
        ran = run_command(folder, "record", "pass-through", *options)
        if ran.status:
            raise NotInTime(f"recording failed: {ran.err}")
    return out


def main() -> int:
    options = _options()
    began = time.monotonic()
    with work_folder(options.data) as folder:
        bench = Bench(folder, options)
        try:
            bench.run()
        except NotInTime as late:
            bench.tally.wrong.append(f"{late}; {bench.checks.story()}")
        finally:
            bench.end()
    tally = bench.tally
    report = {
        "kills": bench.killed, "by_victim": dict(sorted(tally.kills.items())), "jobs": tally.jobs,
        "versions": tally.versions, "left_lying": tally.left, "put_aside": tally.put_aside, "wrong": tally.wrong,
        "mode": options.mode, "seed": options.seed, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    print(json.dumps(report, separators=(",", ":")))
    return 1 if tally.wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200, help="how many kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mode", choices=("alone", "served"), default="alone")
    parser.add_argument("--data", type=Path, help="a folder to work in; kept afterwards")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
