"""Tags of jobs: what may be one, and putting them on jobs and taking them off."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import transaction

from dashboard.jobs import Refused
from dashboard.models import Job, JobTag
from dashboard.models.tags import MOST_TAGS, TAG_LENGTH


def names_in(text: str) -> list[str]:
    """Tags that stand in a text with commas between them."""
    return checked(text.split(","))


def checked(names: Iterable[str]) -> list[str]:
    """Each once, as it is kept: words with single spaces between them. Raises `Refused` for what is no tag."""
    kept = sorted({tag for name in names if (tag := " ".join(name.split()))})
    for tag in kept:
        if len(tag) > TAG_LENGTH or not tag.isprintable() or "," in tag:
            raise Refused(
                f"A tag has at most {TAG_LENGTH} letters, none of them a comma or a control character: {tag[:60]!r}."
            )
    if len(kept) > MOST_TAGS:
        raise Refused(f"A job has at most {MOST_TAGS} tags.")
    return kept


def put_on(job: Job, names: list[str]) -> None:
    _keep(job, lambda held: held | set(names))


def take_off(job: Job, names: list[str]) -> None:
    _keep(job, lambda held: held - set(names))


def replace(job: Job, names: list[str]) -> None:
    _keep(job, lambda held: set(names))


def of(job: Job) -> list[str]:
    return [tag.name for tag in job.tags.all()]


def _keep(job: Job, wanted: Callable[[set[str]], set[str]]) -> None:
    """The job's row is locked meanwhile: of two who put tags on it at once, neither goes past the limit."""
    with transaction.atomic():
        Job.objects.select_for_update().get(id=job.id)
        held = set(JobTag.objects.filter(job=job).values_list("name", flat=True))
        after = wanted(held)
        if len(after) > MOST_TAGS:
            raise Refused(f"A job has at most {MOST_TAGS} tags; take some off first.")
        JobTag.objects.filter(job=job, name__in=held - after).delete()
        JobTag.objects.bulk_create([JobTag(job=job, name=name) for name in sorted(after - held)])
