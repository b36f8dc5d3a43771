"""A real server process for the browser: its address, its one-time links, bundles made by the record command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.server_process import ROOT, ServerProcess, run_command

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
KILLED = "map-1.0"
KILLED_AT_MS = 1500
SHARE = """
import sys
import django
django.setup()
from django.contrib.auth.models import User
from dashboard.models import Job
from dashboard.people import sharing
job = Job.objects.select_related("owner").get(id=sys.argv[1])
User.objects.get_or_create(username="reader")
sharing.share(job, by=job.owner, username="reader", payloads=True)
"""


@dataclass
class Site:
    folder: Path
    url: str = ""
    process: ServerProcess | None = None
    jobs: dict[str, str] = field(default_factory=dict)
    signed_in: Path | None = None
    replay: str = ""
    large_replay: str = ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Returns when it serves; the operating system chose the port."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Audits are asked for where they are looked at: of every job they would take longer than all else.
        environment = {"CLONOSCOPE_AUDIT_UNASKED_BYTES": "0"}
        self.process = ServerProcess(self.data, "--no-demo", environment=environment, makes_a_link=False)
        self.url = self.process.start().address

    def stop(self) -> None:
        if self.process is not None:
            self.process.end()

    def login_link(self) -> str:
        return str(self.command("login-link", "admin")["link"])

    def reader_link(self, job: str) -> str:
        """A link for somebody with whom the job is shared, and who owns nothing of it."""
        environment = {**os.environ, "CLONOSCOPE_DATA": str(self.data), "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        subprocess.run([sys.executable, "-c", SHARE, job], cwd=ROOT, env=environment, check=True)
        return str(self.command("login-link", "reader")["link"])

    def command(self, *arguments: str) -> dict[str, Any]:
        """A command of manage.py on this site's data; its JSON object."""
        done = run_command(self.data, *arguments, "--json")
        if done.status:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.status}:\n{done.out}\n{done.err}")
        answer = json.loads(done.out.strip().splitlines()[-1])
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
