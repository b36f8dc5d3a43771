"""`clonoscope replay --pdb`: a person at a real terminal, before a record and where the replay diverges."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clonoscope.jobs_on_site import PRICING, ROOT, Site, run_pricing

PROMPT = "(clonoscope) "
PATIENCE_S = 60


class Terminal:
    """What a process shows on its terminal, and how a person types there."""

    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process, self._end, self._shown = process, end, ""

    def until(self, text: str) -> str:
        """All that is shown up to there."""
        latest_s = time.monotonic() + PATIENCE_S
        while text not in self._shown:
            assert select.select([self._end], [], [], max(0, latest_s - time.monotonic()))[0], self._shown
            self._shown += self._read()
        before, _, self._shown = self._shown.partition(text)
        return before

    def _read(self) -> str:
        try:
            data = os.read(self._end, 4096)
        except OSError:  # the other side is closed
            data = b""
        assert data, f"it ended: {self._shown}"
        return data.decode()

    def type(self, line: str) -> str:
        """What is shown for it, up to the next prompt."""
        os.write(self._end, line.encode() + b"\n")
        self.until("\n")
        return self.until(PROMPT)

    def leave(self, line: str) -> tuple[str, int]:
        """The last words, and the exit status."""
        os.write(self._end, line.encode() + b"\n")
        shown = self._shown
        try:
            while data := os.read(self._end, 4096):
                shown += data.decode()
        except OSError:
            pass
        return shown, self.process.wait(PATIENCE_S)


@contextmanager
def at_terminal(site: Site, *arguments: Any) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clonoscope", "replay", *map(str, arguments)],
        cwd=site.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.write("pricing", PRICING)
    return made


@pytest.mark.parametrize("form", ["generator", "function", "batch"])
def test_it_opens_before_the_record_and_goes_on_to_the_verdict(site: Site, form: str) -> None:
    bundle = site.record("a", run_pricing)
    if form == "function":
        site.write("pricing", PRICING.replace("yield [", "return ["))
    elif form == "batch":
        head, _, body = PRICING.partition("        key, at, value = record")
        inner = body.replace("\n        ", "\n            ")
        loop = "        for record in records:\n            key, at, value = record"
        site.write("pricing", f"{head.replace('(record)', '(records)')}{loop}{inner}")
    with at_terminal(site, bundle, "--at", "4", "--pdb") as terminal:
        opened = terminal.until(PROMPT)
        assert "pricing.py" in opened and "process(" in opened, opened
        for _ in range(3 if form == "batch" else 2):
            if "'k4'" in terminal.type("p locals().get('record')"):
                break
            terminal.type("n")
        assert "'k4'" in terminal.type("p record")
        # Nothing is taken from the recording by who looks around, and the network is theirs.
        assert "at the prompt" in terminal.type("p clonoscope.time_ns()")
        assert "socket" in terminal.type("p __import__('socket').create_server(('127.0.0.1', 0))")
        shown, status = terminal.leave("c")
        assert status == 0 and "identical: Attempt 0 of orders.0 gives the same again: 6 outputs" in shown, shown


def test_it_opens_where_the_replay_diverges(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace('name="price"', 'name="cost" if key == "k3" else "price"'))
    with at_terminal(site, bundle, "--pdb") as terminal:
        opened = terminal.until(PROMPT)
        assert "process()" in opened and 'name="cost"' in opened, opened
        assert "'k3'" in terminal.type("p key")
        shown, status = terminal.leave("q")
        assert status == 3 and "diverged: " in shown and "'cost'" in shown, shown


def test_it_opens_where_an_output_is_another(site: Site) -> None:
    bundle = site.record("a", run_pricing)
    site.write("pricing", PRICING.replace('"price": price', '"price": price + (key == "k2")'))
    with at_terminal(site, bundle, "--pdb") as terminal:
        assert "yield [key" in terminal.until(PROMPT)
        assert "'k2'" in terminal.type("p key")
        _, status = terminal.leave("c")
        assert status == 3


def test_whoever_has_seen_enough_leaves(site: Site) -> None:
    with at_terminal(site, site.record("a", run_pricing), "--at", "1", "--pdb") as terminal:
        terminal.until(PROMPT)
        shown, status = terminal.leave("q")
        assert status == 3 and "Left at the debugger's prompt" in shown, shown
