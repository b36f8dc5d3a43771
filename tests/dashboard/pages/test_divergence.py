"""The divergence on a replay's page: both sides, the place, the line, the reason, and steps to go to."""

import re
from html import unescape
from pathlib import Path

from django.contrib.auth.models import User

from replay.bundle.frames import BUFFER_HEAD_BYTES
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from tests.dashboard.pages.conftest import as_seen_by
from tests.dashboard.pages.test_ledger import data, shown

__all__ = ["data"]


def test_everything_that_is_known_of_a_divergence_is_drawn(data: Path, owner: User) -> None:
    outcome, row = shown(data, owner, damaged_at=BUFFER_HEAD_BYTES + 44)
    assert outcome.verdict == "diverged"
    page = as_seen_by(owner).get(f"/replays/{row.id}/").content.decode()
    panel = page[page.index('id="divergence"') : page.index('aria-labelledby="strip-title"')]
    text = unescape(re.sub(r"<[^>]+>", "", panel))
    detail = outcome.detail
    for part in (detail["member"], detail["reason"]["words"], *detail["reason"]["evidence"], detail["line"]["text"]):
        assert part in text, part
    assert f"{detail['line']['file']}:{detail['line']['line']}" in text
    assert detail["asked_record"] in text and "<mark>" in panel
    steps = {int(step) for step in re.findall(r'href="\?step=(\d+)"', panel)}
    led = {one["step"] for one in detail["predecessors"]}
    assert {detail["step"], detail["last_agreeing"]["step"]} | led <= steps


def test_a_link_past_the_end_says_where_it_ended_and_why(data: Path, owner: User) -> None:
    outcome, row = shown(data, owner, damaged_at=BUFFER_HEAD_BYTES + 44)
    page = as_seen_by(owner).get(f"/replays/{row.id}/?step=99999").content.decode()
    last = f"{outcome.detail['step']:,}"
    assert f"no step 99,999: its last one is step {last}, where the replay and the recording differ." in page


def test_a_text_from_a_recording_stays_a_text(data: Path, owner: User) -> None:
    _, row = shown(data, owner, damaged_at=BUFFER_HEAD_BYTES + 44)
    evil = "<script>alert(1)</script>"
    made = {"file": evil, "line": 1, "function": evil, "text": evil}
    row.detail |= {"asked_record": evil + "a", "logged_record": evil + "b", "member": evil, "line": made}
    row.save()
    page = as_seen_by(owner).get(f"/replays/{row.id}/").content.decode()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_the_smallest_bundle_that_still_diverges_is_given_away(data: Path, owner: User, tmp_path: Path) -> None:
    outcome, row = shown(data, owner, damaged_at=BUFFER_HEAD_BYTES + 44)
    page = as_seen_by(owner).get(f"/replays/{row.id}/").content.decode()
    assert f'href="/replays/{row.id}/excerpt/"' in page
    given = as_seen_by(owner).get(f"/replays/{row.id}/excerpt/")
    assert (given.status_code, given["Content-Type"]) == (200, "application/zip")
    assert given["Content-Disposition"] == f'attachment; filename="j_1-{row.id}.zip"'
    (tmp_path / "excerpt.zip").write_bytes(given.content)
    assert len(given.content) < 20_000
    with open_bundle(tmp_path / "excerpt.zip") as bundle:
        of = bundle.manifest.raw["excerpt"]
        again = replay(bundle, task=of["task"], attempt=bundle.attempts(of["task"])[-1])
    assert again.verdict == "diverged" and again.detail["logged_record"] == outcome.detail["logged_record"]

    stranger = User.objects.create_user("stranger", password="long enough for it")
    assert as_seen_by(stranger).get(f"/replays/{row.id}/excerpt/").status_code == 404
    for verdict, change, said in (
        ("identical", None, "Only a replay that diverged"),
        ("diverged", {}, "A fork differs"),
    ):
        row.verdict, row.change = verdict, change
        row.save()
        refused = as_seen_by(owner).get(f"/replays/{row.id}/excerpt/")
        assert refused.status_code == 409 and said in refused.content.decode()
        assert f'href="/replays/{row.id}/excerpt/"' not in as_seen_by(owner).get(f"/replays/{row.id}/").content.decode()
