"""Jobs that are still being recorded: a folder becomes a job, and what is new in it becomes the job's next version."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from dashboard import bundles, joblog, store
from dashboard.jobs import NAME_LENGTH, Refused, Room
from dashboard.models import Job, Work, new_job_id
from dashboard.progress import push_state, tell_news
from dashboard.work.queue import enqueue
from ingest.masters import is_cluster
from replay.bundle.containers import open_container
from replay.bundle.content import content_id
from replay.bundle.growing_folder import GrowingFolder
from replay.bundle.growing_pack import GrowingPack
from replay.bundle.limits import Limits
from replay.bundle.members import MANIFEST
from replay.bundle.pack import PackSummary, write_pack
from replay.bundle.reader import open_bundle
from replay.errors import BundleError

LOOK_S = 0.5
QUIET_LOOKS = 4
"""So often nothing new was seen, then a recording that says it is complete has ended."""
FAR_FROM_TASKS = (
    "Bundles or tables lie in a bucket (STORE_URI, LAKE_URI): those of a recording that still grows are files of this "
    "machine, where tasks of a cluster (SPARK_MASTER) can't reach them. Ingest it when it is complete."
)
LOOK_AGAIN = "Look at the folder, then delete the job and follow the folder again"


class Following:
    """One job and its folder, while this process is the only one that looks at it."""

    def __init__(self, job_id: str, path: Path, user: Any) -> None:
        self.job_id = job_id
        self.path = path
        self.user = user
        self.pack = GrowingPack(store.pack_path(job_id))
        self.folder = GrowingFolder(path, self.pack, _limits())
        self.quiet = 0

    def close(self) -> None:
        self.pack.close()

    def look(self) -> bool:
        """Whether there is anything that the job has not yet; raises `BundleError`."""
        changed = self.folder.look()
        self.quiet = 0 if changed else self.quiet + 1
        return changed

    @property
    def begun(self) -> bool:
        """Whether there is a manifest, so that it can be read."""
        return MANIFEST in self.pack

    @property
    def ended(self) -> bool:
        return self.folder.complete and self.quiet >= QUIET_LOOKS

    def store(self) -> PackSummary:
        """What was taken in is in the store."""
        Room(self.user, besides=self.job_id).check_quota(sum(map(self.pack.size, self.pack.names())))
        return self.pack.publish()

    def settle(self) -> PackSummary:
        """Nothing more comes: the store holds the folder as it is, as one file that does not grow."""
        self.folder.settle()
        followed = self.store()
        fresh = store.incoming() / f"{self.job_id}.pack"
        with closing(open_container(self.path, _limits())) as container:
            whole = write_pack(container, fresh, _limits())
        if whole.content_id != followed.content_id:
            fresh.unlink()
            raise BundleError("a member has other bytes than when they came", path=str(self.path), remedy=LOOK_AGAIN)
        bundles.settle(self.job_id, fresh)
        return whole


@contextmanager
def following(job: Job) -> Iterator[Following | None]:
    """None where another process looks at it, or where its bundle grows no more."""
    with store.trying_to_enter(job.id) as entered:
        if not entered or not grows(job):
            if entered and job.following:  # it was killed when all was taken in and nobody told yet
                complete(job, _stored(job))
            yield None
            return
        with closing(Following(job.id, Path(job.followed), job.owner)) as one:
            yield one


@contextmanager
def beginning(user: User, path: Path, stop: threading.Event) -> Iterator[tuple[Job, Following] | None]:
    """A new job of the folder, as soon as it can be read; None if it was stopped before that."""
    in_bucket = settings.STORE_BUCKET is not None or not isinstance(settings.LAKE_ROOT, Path)
    if in_bucket and is_cluster(settings.SPARK_MASTER):
        raise Refused(FAR_FROM_TASKS)
    job_id = new_job_id()
    with store.entering(job_id), closing(Following(job_id, path, user)) as one:
        one.look()
        while not one.begun:
            if stop.wait(LOOK_S):
                store.data_path(job_id).unlink(missing_ok=True)
                yield None
                return
            one.look()
        yield _entered(job_id, user, path, one.store()), one


def _entered(job_id: str, user: User, path: Path, stored: PackSummary) -> Job:
    with transaction.atomic():
        job = Job.objects.create(
            id=job_id,
            owner=user,
            name=path.name[:NAME_LENGTH],
            content_id=stored.content_id,
            bytes=stored.bytes,
            container="dir",
            followed=str(path),
            following=True,
        )
        enqueue(Work.Kind.INGEST, job_id)
    joblog.write(job_id, f"Following “{path}”, which is still recorded into.")
    return job


def followed_before(user: User, path: Path) -> Job | None:
    """The job of a folder that this user has followed: one that more may come to, or that holds all of the folder."""
    jobs = Job.objects.filter(owner=user, followed=str(path)).order_by("-created_at")
    going_on = next((job for job in jobs if grows(job) or job.following), None)
    if going_on is not None or not jobs:
        return going_on
    try:
        with open_bundle(path) as bundle:
            held = content_id(bundle)
    except BundleError:  # it may be on the way to become another recording
        return None
    return next((job for job in jobs if job.content_id == held), None)


def grows(job: Job) -> bool:
    """Whether more may come."""
    return bool(job.followed) and bundles.grows(job.id)


def complete(job: Job, stored: PackSummary) -> Work | None:
    """Nothing more comes, and all that came is in the store; its last version is queued."""
    with transaction.atomic():
        end(job.id, "")
        return next_version(job, stored)


def last_version(job: Job) -> Work | None:
    """Of a job that nothing more comes to, what is still to be waited for, or to be made once more."""
    under_way = version_under_way(job)
    if under_way is not None or job.facts.get("complete"):
        return under_way
    return next_version(job, _stored(job))


def _stored(job: Job) -> PackSummary:
    with bundles.opened(job.id) as pack:
        return PackSummary(pack.content_id, len(pack), pack.unpacked_bytes)


def version_under_way(job: Job) -> Work | None:
    """The one that is waited for before the next can be made."""
    under_way = Work.objects.filter(state__in=[Work.State.QUEUED, Work.State.RUNNING])
    return under_way.filter(target=job.id, kind=Work.Kind.INGEST).first()


def next_version(job: Job, stored: PackSummary) -> Work | None:
    """Queues it; None while the last one is being made, or where the job has gone."""
    with transaction.atomic():
        row = Job.objects.select_for_update().filter(id=job.id).first()
        if row is None or version_under_way(row) is not None:
            return None
        # There would be thousands, and none tells more than the next.
        Work.objects.filter(target=job.id, kind=Work.Kind.INGEST).delete()
        Job.objects.filter(id=job.id).update(content_id=stored.content_id, bytes=stored.bytes)
        return enqueue(Work.Kind.INGEST, job.id)


def switch(job: Job, on: bool, who: object) -> Job:
    """Follow, or follow no more; raises `Refused`."""
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if not grows(row):
            raise Refused("The job was stored as a whole, so there is no folder that it could grow from.")
        if row.following != on:
            _set(row.id, on, "", f"{who} {'follows' if on else 'stopped following'} “{row.followed}”.")
    return row


def end(job_id: str, why: str) -> None:
    """It is followed no more; what was taken in by then stays."""
    _set(job_id, False, why, f"Followed no more. {why}".strip())


def _set(job_id: str, on: bool, message: str, said: str) -> None:
    fields = {"message": message} if message else {}
    if not Job.objects.filter(id=job_id).update(following=on, **fields):
        return
    joblog.write(job_id, said)
    transaction.on_commit(lambda: push_state(job_id))
    transaction.on_commit(lambda: tell_news(job_id, "following"))


def _limits() -> Limits:
    return Limits(max_bytes=settings.MAX_UNPACKED_BYTES)
