"""Pages about recordings that hold next to nothing, and addresses of no part of one: what they say is true."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.models import Job
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.made import manifest_of

Shelved = Callable[[Path], Job]


def of_manifest_alone(shelved: Shelved, folder: Path, **changes: Any) -> Job:
    bundle = folder / "alone"
    bundle.mkdir()
    (bundle / "job.json").write_text(json.dumps(manifest_of(1) | changes))
    return shelved(bundle)


def test_a_recording_without_events_has_no_length(shelved: Shelved, owner: User, tmp_path: Path) -> None:
    of_manifest_alone(shelved, tmp_path)
    shown = as_seen_by(owner).get("/").content.decode()
    assert "no times" in shown and "0 µs" not in shown


@pytest.mark.parametrize(
    ("changes", "rejects", "said"),
    [
        ({}, 0, "logs</a> are whole."),
        ({}, 2, "What could be read of its"),
        ({"tasks": [], "edges": []}, 0, "It names no task either."),
    ],
)
def test_only_logs_that_are_there_and_read_are_called_whole(
    shelved: Shelved, owner: User, tmp_path: Path, changes: dict[str, Any], rejects: int, said: str
) -> None:
    job = of_manifest_alone(shelved, tmp_path, **changes)
    Job.objects.filter(id=job.id).update(rejects=rejects)
    shown = as_seen_by(owner).get(f"/jobs/{job.id}/spacetime/").content.decode()
    assert said in shown and shown.count("are whole") == said.count("are whole")


def test_an_address_of_no_part_of_a_recording_leads_to_its_job_and_not_to_another_try(
    shelved: Shelved, owner: User, tmp_path: Path
) -> None:
    job = of_manifest_alone(shelved, tmp_path)
    answer = as_seen_by(owner).get(f"/jobs/{job.id}/evidence/", {"of": "nothing of the kind"})
    shown = answer.content.decode()
    assert answer.status_code == 404
    assert "There is no such thing" in shown and f'href="/jobs/{job.id}/"' in shown and "Try again" not in shown
