"""A real server process for the browser: its address, its one-time links, bundles made by the record command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0
STOP_S = 30.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
KILLED = "map-1.0"
KILLED_AT_MS = 1500


@dataclass
class Site:
    folder: Path
    url: str = ""
    process: subprocess.Popen[str] | None = None
    jobs: dict[str, str] = field(default_factory=dict)
    replay: str = ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Returns when it serves; the operating system chose the port."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = open(self.folder / "server.log", "w")  # noqa: SIM115 - the process keeps it
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--data", str(self.data), "--no-demo", "--port", "0"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        log.close()
        self.url = self._address()

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def login_link(self) -> str:
        return str(self.command("login-link", "admin")["link"])

    def command(self, *arguments: str) -> dict[str, Any]:
        """A command of manage.py on this site's data; its JSON object."""
        command = [sys.executable, "manage.py", *arguments, "--data", str(self.data), "--json"]
        # As a person would run it: no settings of the test run leak in.
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        # login-link prints its address with the port it knows; the browser needs the one that serves.
        if "link" in answer:
            answer["link"] = ADDRESS.sub(self.url, answer["link"])
        return dict(answer)

    def bundle(self, name: str, *options: str) -> Path:
        """A recording by the record command, made once."""
        path = self.folder / name
        if not path.exists():
            self.command("record", "pass-through", "--out", str(path), *options)
        return path

    def killed_bundle(self, seed: int = 7) -> Path:
        return self.bundle(f"killed-{seed}.tar.zst", "--seed", str(seed), "--kill", f"{KILLED}@{KILLED_AT_MS}")

    def faulty_bundle(self) -> Path:
        """One log has an unknown tag in it: kept up to there, ready-partial."""
        path = self.folder / "faulty.tar"
        if not path.exists():
            folder = self.bundle("to-be-faulty", "--seed", "11", "--events", "2000")
            member = sorted(folder.glob("tasks/map-1.0/0/main/*.det"))[0]
            member.write_bytes(member.read_bytes()[:20] + b"\x63" + member.read_bytes()[21:])
            with tarfile.open(path, "w") as archive:
                for file in sorted(one for one in folder.rglob("*") if one.is_file()):
                    archive.add(file, file.relative_to(folder))
        return path

    def flipped_bundle(self) -> Path:
        """One bit of one buffer that the killed task had sent is another one."""
        folder = self.folder / "flipped"
        if not folder.exists():
            self.bundle("flipped", "--seed", "21", "--kill", f"{KILLED}@{KILLED_AT_MS}")
            member = sorted(folder.glob(f"tasks/{KILLED}/0/sent-0/*.buf"))[-1]
            data = bytearray(member.read_bytes())
            data[len(data) // 2] ^= 1
            member.write_bytes(data)
        return folder

    def job(self, path: Path) -> str:
        """The id of the bundle's job, ingested."""
        if path.name not in self.jobs:
            self.jobs[path.name] = str(self.command("ingest", str(path))["job"])
        return self.jobs[path.name]

    def _address(self) -> str:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            said = (self.folder / "server.log").read_text()
            if found := ADDRESS.search(said):
                return found.group()
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode}:\n{said}")
            time.sleep(0.05)
        raise RuntimeError(f"the server did not say its address within {START_S:.0f} s:\n{said}")
