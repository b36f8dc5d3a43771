"""Copies of bundles in a bucket: made by one for all, whole or not there, held while they are read, bounded."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard import bundles, copies, jobs, store
from dashboard.models import Job
from dashboard.work import leftovers
from ingest.lake.places import InBucket
from ingest.launch import IngestCancelled
from replay.bundle.pack import Pack
from tests.dashboard.work.conftest import write_bundle

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def three(owner: User, store_in_bucket: InBucket, tmp_path: Path, settings) -> list[Job]:
    """Of the same size, and room for two of them; the first one's copy was used last."""
    made = []
    for name in ("one", "two", "six"):
        folder = write_bundle(tmp_path / name, name)
        (folder / "notes").write_bytes(os.urandom(1 << 20))
        made.append(jobs.create_job_from_file(owner, folder, name))
    settings.BUNDLE_CACHE_BYTES = 5 << 19
    for job in made:
        copies.remove(job.id)
    return made


@contextmanager
def held(*wanted: Job) -> Iterator[list[Path]]:
    with ExitStack() as stack:
        yield [stack.enter_context(bundles.bundle(job.id)) for job in wanted]


def there() -> set[str]:
    return {path.stem for path in copies.folder().iterdir()}


def test_those_go_first_that_were_not_used_for_longest(three: list[Job]):
    one, two, six = three
    for job in (one, two, one, six):
        with held(job):
            pass
    assert there() == {one.id, six.id}


def test_what_is_held_stays_and_what_is_open_is_read_to_its_end(three: list[Job]):
    one, two, six = three
    with held(one, two, six) as paths:
        assert there() == {one.id, two.id, six.id}
        pack = Pack(paths[0])
    with closing(pack):
        copies.trim()
        assert there() == {two.id, six.id}
        assert len(pack.read("notes")) == 1 << 20 and pack.changed() is None


def test_one_that_is_larger_than_all_room_is_fetched_all_the_same(three: list[Job], settings):
    settings.BUNDLE_CACHE_BYTES = 1
    with held(three[0]) as (path,):
        assert path.exists()
    copies.trim()
    assert there() == set()


def test_who_is_stopped_leaves_no_part(three: list[Job]):
    with pytest.raises(IngestCancelled), bundles.bundle(three[0].id, lambda: True):
        pass
    assert there() == set()


def test_parts_of_the_dead_and_copies_of_the_deleted_are_swept(three: list[Job]):
    one, two, _ = three
    with held(one):
        pass
    left = [copies.folder() / name for name in (f".{two.id}.0a.part", f".{two.id}.lock", f"j_{'0' * 12}.pack")]
    for path in left:
        path.write_bytes(b"x")
    guard = store.locked_now(left[1])
    assert guard is not None
    leftovers.remove()
    assert [path.exists() for path in left] == [True, True, False]
    os.close(guard)
    leftovers.remove()
    assert there() == {one.id}


FETCH = """
import sys
import django
django.setup()
from dashboard import bundles, copies
fetch = copies._fetched
def told(*of):
    print("fetches", flush=True)
    return fetch(*of)
copies._fetched = told
print("begins", flush=True)
with bundles.bundle(sys.argv[1]) as path:
    print(path.stat().st_ino, flush=True)
"""


def test_of_two_processes_one_fetches_and_the_other_waits(three: list[Job], store_in_bucket: InBucket, data: Path):
    job = three[0]
    own = {
        "CLONOSCOPE_DATA": str(data),
        "STORE_URI": str(store_in_bucket),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    }
    guard = store.locked_now(copies.folder() / f".{job.id}.lock")
    assert guard is not None
    command = [sys.executable, "-c", FETCH, job.id]
    both = [
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        assert [one.stdout.readline() for one in both if one.stdout] == ["begins\n"] * 2
        assert not copies.copy_path(job.id).exists()
        os.close(guard)
        said = [one.communicate(timeout=60)[0].split() for one in both]
    finally:
        for one in both:
            one.kill()
            one.wait()
    assert sorted(len(words) for words in said) == [1, 2]
    assert {words[-1] for words in said} == {str(copies.copy_path(job.id).stat().st_ino)}
