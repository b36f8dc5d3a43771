"""Addresses that ask for what a recording does not have: the page shows another, and says so."""

from django.contrib.auth.models import User

from dashboard.models import Job
from tests.dashboard.pages.conftest import as_seen_by

ASKED = {
    "": {"task": "nobody.3"},
    "logs/": {"task": "nobody.3", "attempt": "7", "thread": "out-9", "epoch": "99999999999999999999999"},
    "paths/": {"task": "nobody.3", "attempt": "7", "holder": "nobody.3/0"},
    "recovery/": {"failure": "99", "lane": "nobody.3/0"},
}
THERE = {
    "": {"task": "map-1.0"},
    "logs/": {"task": "sink.0", "attempt": "0", "thread": "main", "epoch": "0", "kind": "order"},
    "paths/": {"attempt": "0", "holder": "sink.0/0"},
    "recovery/": {"failure": "0", "lane": "map-1.0/1"},
}
SAID = "This recording has none such; here is another."


def test_what_is_not_there_is_said_by_name_and_what_is_there_is_not(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    for page, asked in ASKED.items():
        shown = client.get(f"/jobs/{job.id}/{page}", asked).content.decode()
        for name, value in asked.items():
            assert f"The address asks for {name} {value}. {SAID}" in shown, page
        for query in ({}, THERE[page], dict.fromkeys(asked, "")):
            assert SAID not in client.get(f"/jobs/{job.id}/{page}", query).content.decode(), (page, query)


def test_an_epoch_that_another_attempt_has_is_not_there(job: Job, owner: User) -> None:
    shown = as_seen_by(owner).get(f"/jobs/{job.id}/logs/", {"task": "map-1.0", "attempt": "0", "epoch": "2"})
    assert f"The address asks for epoch 2. {SAID}" in shown.content.decode()


def test_where_no_such_kind_is_known_all_are_shown(job: Job, owner: User) -> None:
    shown = as_seen_by(owner).get(f"/jobs/{job.id}/logs/", {"kind": "nix"}).content.decode()
    assert "The address asks for kind nix. This recording has none such; here are all kinds." in shown


def test_space_and_time_says_what_it_can_not_leave_out_or_show(job: Job, owner: User) -> None:
    client, page = as_seen_by(owner), f"/jobs/{job.id}/spacetime/"
    shown = client.get(page, {"hidden": "sink.0,a.1,a.2,a.3,a.4", "folded": "map-1,nix", "from": "999999999999"})
    told = shown.content.decode()
    assert (
        "The address asks for hidden a.1, a.2, a.3 and 1 more. This recording has none such; nothing is hidden" in told
    )
    assert "The address asks for folded nix. This recording has none such; nothing is folded for it." in told
    assert "The address asks for what was from 277 h 46 min on. This recording ends at" in told
    for query in ({}, {"hidden": "sink.0", "folded": "-", "from": "1000", "to": "2000"}, {"folded": "map-1"}):
        assert "The address asks for" not in client.get(page, query).content.decode(), query


def test_what_is_no_number_is_said_and_left_out(job: Job, owner: User) -> None:
    client, page = as_seen_by(owner), f"/jobs/{job.id}/logs/"
    told = client.get(page, {"seq": "ten", "size_to": "<i>9", "value_from": "1.5", "channel": "0"}).content.decode()
    for said in ("seq ten", "size_to &lt;i&gt;9", "value_from 1.5"):
        assert f"The address asks for {said}, no whole number of up to 19 digits; it is left out." in told
    assert told.count("no whole number") == 3
    right = client.get(page, {"seq": "1,000", "value_from": "-3", "size_from": " 2 "}).content.decode()
    assert "no whole number" not in right


def test_what_an_address_says_is_shown_as_text(job: Job, owner: User) -> None:
    shown = as_seen_by(owner).get(f"/jobs/{job.id}/", {"task": "<b>\x00" + "a" * 500}).content.decode()
    assert "asks for task &lt;b&gt;\\x00aaa" in shown and "a" * 61 not in shown
