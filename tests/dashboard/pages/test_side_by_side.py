"""Two recordings side by side: what differs first, and recoveries at one scale."""

from collections.abc import Callable
from pathlib import Path

from django.contrib.auth.models import User

from bench.without_spark import ingest_here
from dashboard import store
from dashboard.models import Job
from dashboard.queries.side_by_side import NOT_TOLD, beside, flattened
from ingest.lake.publish import publish
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from tests.dashboard.pages.conftest import as_seen_by
from tests.dashboard.pages.test_recovery import written
from tests.ingest.importers.checkpoints import imported
from tests.ingest.importers.test_measurements import published


def second_of(first: Job, bundle: Path, data: Path) -> Job:
    pack = store.pack_path("j_2")
    with open_container(bundle) as container:
        write_pack(container, pack)
    ingest_here("j_2", pack, data / "staging-2")
    publish(data, data / "staging-2", "j_2", "w", 0)
    first.pk, first.name = "j_2", "without standby"
    first.save(force_insert=True)
    return first


def test_two_jobs_are_held_against_each_other(
    tmp_path: Path, shelved: Callable[[Path], Job], owner: User, guest: User
) -> None:
    kills = {"kills": ("map-1.0@900",)}
    first = shelved(written(tmp_path / "one", **kills))
    second_of(first, written(tmp_path / "other", standby=0, **kills), tmp_path)
    client = as_seen_by(owner)
    page = client.get("/compare/?job=j_1&other_job=j_2").content.decode()
    differing = page[page.index('id="recordings"') : page.index("the same</summary>")]
    assert ">standby</th><td>1</td><td>0</td>" in differing and "checkpoint_interval_ms" not in differing
    assert page.count("until all was done again") == 2 and "standby or reschedule" in page
    assert 'id="recordings"' not in client.get("/compare/?job=j_1&other_job=j_1").content.decode()
    assert 'id="recordings"' not in as_seen_by(guest).get("/compare/?job=j_1&other_job=j_2").content.decode()


def test_what_only_one_of_them_names_is_not_told_of_the_other() -> None:
    rows = beside({"a": "1", "b": "2"}, {"b": "2", "c": "3"})
    assert [(row.name, row.first, row.second, row.differs) for row in rows] == [
        ("a", "1", NOT_TOLD, True),
        ("b", "2", "2", False),
        ("c", NOT_TOLD, "3", True),
    ]
    assert list(flattened({"a": {"b": 1}, "c": [2]})) == [("a.b", "1"), ("c", "[2]")]


def test_measured_runs_are_drawn_into_one_picture(tmp_path: Path, shelved: Callable[[Path], Job], owner: User) -> None:
    for n, name in enumerate(("one", "other")):
        published(tmp_path / name, seed=n)
        assert imported(tmp_path / name, tmp_path / f"{name}-bundle") == {"kind": "measurements"}
    first = shelved(tmp_path / "one-bundle")
    client = as_seen_by(owner)
    page = client.get("/jobs/j_1/").content.decode()
    assert "was killed" in page and "their vertices" in page and "end not told" in page
    second_of(first, tmp_path / "other-bundle", tmp_path)
    beside = client.get("/compare/?job=j_1&other_job=j_2").context["beside"]
    assert [one["name"] for one in beside["curves"]] == ["throughput at the sinks", "latency at the sinks, p99"]
    assert all(one["aligned"] and len(one["paths"]) == 2 and one["zero"] for one in beside["curves"])
