"""What is kept with a replay, as its breakpoints and notes: so many and no more, and all who watch are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import models, transaction

from dashboard.jobs import Refused
from dashboard.models import Breakpoint, Note, Replay
from dashboard.progress import tell_news


@contextmanager
def one_more(
    replay: Replay, kept: models.QuerySet[Breakpoint] | models.QuerySet[Note], most: int, news: str
) -> Iterator[None]:
    """Room for one more of them, for as long as it is made. Raises `Refused` where there are too many."""
    with transaction.atomic():
        Replay.objects.select_for_update().get(id=replay.id)
        if kept.count() >= most:
            raise Refused(f"A replay keeps at most {most} {news}. Delete one that is no longer needed.")
        tell(replay.id, news)
        yield


def delete(one: Breakpoint | Note, news: str) -> None:
    replay_id = one.replay_id
    one.delete()
    tell(replay_id, news)


def tell(replay_id: str, news: str) -> None:
    """As soon as it is in the database."""
    transaction.on_commit(lambda: tell_news(replay_id, news))
