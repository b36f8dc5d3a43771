"""Children of `multiprocessing`, most of which end without what a process does at its end."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clonoscope.reading import processes_of
from tests.clonoscope.jobs_on_site import ROOT
from tests.clonoscope.recorded import values_of


def closed_by(job: str, folder: Path, *arguments: str) -> list[bool]:
    """Whether each of the job's processes closed its recording."""
    (folder / "job.py").write_text(textwrap.dedent(job))
    command = [sys.executable, str(folder / "job.py"), str(folder), *arguments]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [one.closed for one in processes_of(folder / "orders")]


def test_one_that_was_given_a_recording_closes_its_own(tmp_path: Path) -> None:
    job = """
        import multiprocessing, sys
        import clonoscope

        def work(recording):
            with recording.task("child").epoch(0):
                clonoscope.time()

        recording = clonoscope.start("orders", dir=sys.argv[1])
        child = multiprocessing.get_context("fork").Process(target=work, args=(recording,))
        child.start()
        child.join()
        recording.close()
    """
    assert closed_by(job, tmp_path) == [True, True]
    assert len(values_of(tmp_path / "orders", "child.0")) == 1


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_one_that_began_its_own_closes_it(method: str, tmp_path: Path) -> None:
    job = """
        import multiprocessing, sys
        import clonoscope

        def work(folder):
            with clonoscope.start("orders", dir=folder).task("child").epoch(0):
                clonoscope.time()

        if __name__ == "__main__":
            child = multiprocessing.get_context(sys.argv[2]).Process(target=work, args=(sys.argv[1],))
            child.start()
            child.join()
    """
    assert closed_by(job, tmp_path, method) == [True]
    assert len(values_of(tmp_path / "orders", "child.0")) == 1
