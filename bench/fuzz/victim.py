"""What the product does with a bundle, from upload to deletion, in a process of its own that may not use much."""

from __future__ import annotations

import json
import os
import resource
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from bench.fuzz.bases import members_of
from bench.without_spark import ingest_here
from dashboard import jobs, store
from dashboard.management.commands.export import export
from dashboard.models import Job, Status, Work
from dashboard.queries.lake import lake
from dashboard.queries.tables import KEYS, table_page
from dashboard.work import lease, leftovers, supervise_ingest
from dashboard.work.claim import claim
from ingest.lake.places import place_of
from ingest.launch import IngestFailed, IngestRequest, IngestResult, Progress
from ingest.transforms.growth import kernels
from replay.errors import ReplayError

CPU_S = 10
MEMORY_BYTES = 512 << 20
"""On top of what its libraries take."""
STOPPED_BYTES = 1 << 30
PAGES = ("", "logs/", "?task=source.0")
TOLD_WITHOUT_A_PLACE = (jobs.OverQuota,)


class _Driver:
    """The decoder and everything around it, without Spark; what is no operating fault gets through to the top."""

    def get(self) -> _Driver:
        return self

    def ingest(self, request: IngestRequest, tell: Callable[[Progress], None], cancelled: object) -> IngestResult:
        try:
            result = ingest_here(request.job, request.pack, place_of(str(request.staging)))
        except ReplayError as fault:
            raise IngestFailed(str(fault)) from fault
        return IngestResult(result["status"], result["rejects"], result["facts"])


def load() -> None:
    """What every case needs, before the first process is forked."""
    kernels.warm_up()
    Client(SERVER_NAME="localhost").get("/login/")


def suffer(path: Path, out: Path) -> dict[str, Any]:
    """What became of the bundle; raises whatever the product let through."""
    user = User.objects.get()
    try:
        job = jobs.create_job_from_file(user, path, path.name)
    except ReplayError as refused:
        return {"end": "refused", "path": refused.path, "offset": refused.offset, "why": refused.why}
    except TOLD_WITHOUT_A_PLACE as refused:
        return {"end": "over quota", "path": path.name, "why": str(refused)}
    work = Work.objects.get(target=job.id)
    held = claim(work.id)
    if held is None:
        raise AssertionError("nobody else works here, and the work could not be claimed")
    # Nobody else works here either, so that nobody need keep the lease.
    supervise_ingest.supervise(held, _kept(held), _Driver())  # type: ignore[arg-type]
    job.refresh_from_db()
    told = {"end": str(job.status), "path": "", "why": job.message, "content_id": job.content_id}
    if job.status in (Status.READY, Status.READY_PARTIAL):
        told |= _read(job) | _exported(job, out)
        _look_at_pages(job, user)
    jobs.delete_job(job, user)
    return told


def _kept(held: Any) -> lease.Lease:
    import threading

    return lease.Lease(held, threading.Event())


def _read(job: Job) -> dict[str, Any]:
    """The first page of every table, as the API gives it; what was rejected, and where."""
    published = lake().job(job.id)
    for table in KEYS:
        page = table_page(published, table, {}, "", 200)
        json.dumps(page.rows, allow_nan=False).encode()
        if page.cursor:
            table_page(published, table, {}, page.cursor, 200)
    return {"rejects": published.rows('SELECT path, "offset", why FROM rejects')}


def _look_at_pages(job: Job, user: User) -> None:
    """What a person sees first; an exception in a view comes through."""
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    for page in PAGES:
        answer = client.get(f"/jobs/{job.id}/{page}", follow=True)
        if answer.status_code != 200:
            raise AssertionError(f"{page or 'the page of the job'} answers {answer.status_code}")


def _exported(job: Job, out: Path) -> dict[str, Any]:
    export(store.pack_path(job.id), out)
    return {"exported": out.name}


def leftovers_of(folder: Path, temporary: Path) -> list[str]:
    """What lies where nothing may lie once the job is gone."""
    settled = [settings.STORE, settings.STAGING, settings.LAKE, settings.DATA / "logs" / "jobs", temporary]
    found = [str(path.relative_to(folder)) for one in settled for path in one.rglob("*") if not path.is_dir()]
    found += [str(path.relative_to(folder)) for path in settings.STAGING.glob("*")]
    found += [str(path.relative_to(folder)) for path in (settings.LAKE / ".versions").glob("*")]
    return [*found, *(f"row of {one.id}" for one in Job.objects.all())]


def clean() -> None:
    """After a case that ended badly, so that the next one is judged by itself."""
    Job.objects.all().delete()
    Work.objects.all().delete()
    leftovers.remove()


def in_child(action: Callable[[], dict[str, Any]], answer: Path) -> int:
    """Forks; the child writes what the action gave, or the trace of what it raised, and ends. The child's id."""
    connections.close_all()
    answer.unlink(missing_ok=True)
    pid = os.fork()
    if pid:
        return pid
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + STOPPED_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told = action()
        told["grown_bytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        answer.write_text(json.dumps(told))
    except BaseException:
        answer.write_text(json.dumps({"end": "crash", "path": "", "why": traceback.format_exc()[-4000:]}))
    os._exit(0)


def _data_bytes() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    return int(line.split()[1]) << 10


def same_members(one: Path, other: Path) -> bool:
    return dict(members_of(one)) == dict(members_of(other))
