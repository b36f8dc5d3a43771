"""A recording with precise retries says on its page what they guarantee, how far each went, and why it ended."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

import clonoscope
from dashboard.models import Job
from tests.clonoscope.recorded import recording
from tests.clonoscope.retried import chance, epoch_of
from tests.dashboard.pages.conftest import as_seen_by


@pytest.fixture
def shown(owner: User, tmp_path: Path, shelved: Callable[[Path], Job]) -> str:
    """An epoch that was executed once more, with a record and an output that are others; and the job's page."""
    for fails in (True, False):
        with epoch_of(tmp_path / "recorded", fails=fails, sync=True) as task:
            clonoscope.external(chance, name="<b>price</b>")
            task.output(["k", 0, chance()])
            task.take(1, topic="in", data=b"one" if fails else b"other")
            clonoscope.random()
    with recording(tmp_path / "recorded") as made:
        bundle = made.dump(tmp_path / "orders.zip")
    return as_seen_by(owner).get(f"/jobs/{shelved(bundle).id}/").content.decode()


def test_the_page_says_what_is_guaranteed_and_how_far_it_went(shown: str) -> None:
    assert "Precise retries" in shown and "1 epoch given again" in shown
    assert "Every answer was in the recording before the job had it" in shown
    # The process that only wrote the bundle did not ask for retries.
    assert "Some of this recording&#x27;s processes did not do so" in shown
    assert "is another record than that of attempt 0, by its hash" in shown
    assert "1 output differs" in shown and "something decides that is not recorded" in shown


def test_a_recording_without_says_nothing_of_it(owner: User, tmp_path: Path) -> None:
    from dashboard.queries.retries import guarantee
    from replay.bundle.reader import open_bundle

    def told(**settings: object) -> list[str]:
        with recording(tmp_path, name=f"job{len(settings)}", **settings) as made, made.task("p").epoch(0):
            clonoscope.time()
        with open_bundle(made.dump()) as bundle:
            return guarantee(bundle.manifest)

    assert told() == []
    assert len(told(retry="replay")) == 3 and "loss of power may have cost" in told(retry="replay")[1]
    synced = told(retry="replay", sync=True)
    assert len(synced) == 3 and "it outlived a loss of power as well" in synced[1]
