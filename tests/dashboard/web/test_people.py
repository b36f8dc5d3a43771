"""Signing in, one-time links, tokens, sharing, invitations, and what the audit trail keeps."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.models import ApiToken, AuditEntry, Job, JobShare, LoginFailure, OneTimeLink, Quota
from dashboard.people import links, throttle, tokens
from dashboard.people.links import Purpose

pytestmark = pytest.mark.slow

PASSWORD = "a long enough pass phrase"


@pytest.fixture
def ada(database: str) -> User:
    return User.objects.create_user("ada", password=PASSWORD)


@pytest.fixture
def chief(database: str) -> User:
    return User.objects.create_superuser("chief")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def sign_in(name: str, password: str, address: str = "10.0.0.1") -> Any:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password})


def secret_of(link: str) -> str:
    return link.partition("#")[2]


def as_if_they_failed_soon() -> None:
    """However long this machine takes for an attempt, the wait is not over before the next."""
    LoginFailure.objects.update(at=timezone.now() + timedelta(minutes=5))


def test_a_wrong_name_a_wrong_password_and_a_closed_account_read_the_same(ada: User) -> None:
    User.objects.create_user("closed", password=PASSWORD, is_active=False)
    pages = [sign_in(*tried) for tried in (("ada", "wrong"), ("nobody", "wrong"), ("closed", PASSWORD))]
    said = {re.sub(r'value="[^"]*"|token" content="[^"]*"', "", page.content.decode()) for page in pages}
    assert {page.status_code for page in pages} == {200}
    assert len(said) == 1


def test_failures_slow_down_an_account_whether_it_exists_or_not(ada: User) -> None:
    for name in ("ada", "nobody"):
        for number in range(throttle.ACCOUNT.free):
            assert sign_in(name, "wrong", f"10.1.0.{number}").status_code == 200
        as_if_they_failed_soon()
        slowed = sign_in(name, PASSWORD, "10.1.1.1")
        assert slowed.status_code == 429 and int(slowed.headers["Retry-After"]) > 0
    # The wait is over by itself, so nobody is locked out for good.
    LoginFailure.objects.update(at=timezone.now() - timedelta(seconds=throttle.ACCOUNT.most_s + 1))
    assert sign_in("ada", PASSWORD, "10.1.1.1").status_code == 302
    assert not LoginFailure.objects.filter(name="ada").exists()


def test_failures_slow_down_an_address_that_tries_many_accounts(ada: User) -> None:
    for number in range(throttle.ADDRESS.free):
        assert sign_in(f"guess-{number}", "wrong").status_code == 200
    as_if_they_failed_soon()
    assert sign_in("ada", PASSWORD).status_code == 429
    assert sign_in("ada", PASSWORD, "10.0.0.2").status_code == 302


class _Long(throttle.Slowing):
    """However long the attempts take, none of them has waited long enough."""

    def wait_s(self, failures: int) -> int:
        return 3600 if super().wait_s(failures) else 0


def test_attempts_at_once_do_not_outrun_the_count(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "ACCOUNT", _Long(throttle.ACCOUNT.free, throttle.ACCOUNT.most_s))
    many = 4 * throttle.ACCOUNT.free
    together = Barrier(many)

    def attempt(number: int) -> int:
        together.wait()
        try:
            return int(sign_in("ada", "wrong", f"10.2.0.{number}").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(many) as pool:
        statuses = list(pool.map(attempt, range(many)))
    assert statuses.count(200) == throttle.ACCOUNT.free


def test_a_login_link_works_once(ada: User) -> None:
    secret = secret_of(links.issue(ada, Purpose.LOGIN))
    client = Client(enforce_csrf_checks=False)
    shown = client.get("/enter/")
    assert shown.status_code == 200 and "sessionid" not in client.cookies
    # Stricter, and the browser would send `Origin: null` with the page's own form.
    assert shown.headers["Referrer-Policy"] == "same-origin" and "no-store" in shown.headers["Cache-Control"]
    assert client.post("/enter/", {"secret": secret}).status_code == 302
    assert client.get("/account/").status_code == 200
    again = Client()
    assert again.post("/enter/", {"secret": secret}).status_code == 403
    assert again.get("/account/").status_code == 302


def test_of_many_uses_at_once_one_gets_in(ada: User) -> None:
    secret = secret_of(links.issue(ada, Purpose.LOGIN))
    many = 8
    together = Barrier(many)

    def use(_: int) -> int:
        together.wait()
        try:
            return int(Client().post("/enter/", {"secret": secret}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(many) as pool:
        statuses = list(pool.map(use, range(many)))
    assert sorted(statuses) == [302] + [403] * (many - 1)


def test_a_link_has_256_bits_and_is_kept_as_a_digest(ada: User) -> None:
    link = links.issue(ada, Purpose.LOGIN)
    secret = secret_of(link)
    assert link.startswith("/enter/#"), "in the fragment no server and no log gets to see it"
    assert len(secret) >= 43
    kept = OneTimeLink.objects.get()
    assert secret not in str(vars(kept)) and len(kept.digest) == 64
    assert timedelta(minutes=9) < kept.expires_at - timezone.now() <= timedelta(minutes=10)


def test_a_link_ends(ada: User) -> None:
    secret = secret_of(links.issue(ada, Purpose.LOGIN))
    OneTimeLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().post("/enter/", {"secret": secret}).status_code == 403


def test_a_link_is_good_for_its_purpose_only(ada: User) -> None:
    for purpose, path in ((Purpose.RESET, "/enter/"), (Purpose.INVITE, "/reset/"), (Purpose.LOGIN, "/invitation/")):
        secret = secret_of(links.issue(ada, purpose))
        filled = {"secret": secret, "new_password1": PASSWORD + "!", "new_password2": PASSWORD + "!"}
        assert Client().post(path, filled).status_code == 403


def test_a_closed_account_has_no_links(ada: User) -> None:
    secret = secret_of(links.issue(ada, Purpose.LOGIN))
    User.objects.update(is_active=False)
    assert Client().post("/enter/", {"secret": secret}).status_code == 403


def test_an_invitation_makes_an_account_with_its_own_password(chief: User) -> None:
    page = signed_in(chief).post("/people/invite/", {"username": "newcomer", "quota_gib": "3"})
    assert page.status_code == 201 and "no-store" in page.headers["Cache-Control"]
    secret = re.search(r"/invitation/#([\w-]+)", page.content.decode())[1]  # type: ignore[index]
    newcomer = Client()
    weak = newcomer.post("/invitation/", {"secret": secret, "new_password1": "1234", "new_password2": "1234"})
    assert weak.status_code == 422, "a refused password does not use the link up"
    assert f'value="{secret}"' in weak.content.decode(), "the next try needs the secret, and the address has lost it"
    filled = {"secret": secret, "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert newcomer.post("/invitation/", filled).status_code == 302
    assert newcomer.get("/account/").status_code == 200
    assert sign_in("newcomer", PASSWORD).status_code == 302
    assert Client().post("/invitation/", filled).status_code == 403
    assert Quota.objects.get(user__username="newcomer").max_bytes == 3 << 30
    assert AuditEntry.objects.filter(actor=chief, action="person.invite", target="newcomer").exists()


def test_a_reset_link_ends_the_earlier_one_and_all_sessions(ada: User, chief: User) -> None:
    adas = signed_in(ada)
    issued = [signed_in(chief).post(f"/people/{ada.pk}/reset/").content.decode() for _ in range(2)]
    first, second = (re.search(r"/reset/#([\w-]+)", page)[1] for page in issued)  # type: ignore[index]
    filled = {"new_password1": PASSWORD + "!", "new_password2": PASSWORD + "!"}
    assert Client().post("/reset/", {"secret": first, **filled}).status_code == 403
    assert Client().post("/reset/", {"secret": second, **filled}).status_code == 302
    assert adas.get("/account/").status_code == 302, "who knew the old password is out"
    assert sign_in("ada", PASSWORD).status_code == 200
    assert sign_in("ada", PASSWORD + "!").status_code == 302


def test_staff_do_not_reset_those_above_them(ada: User, chief: User) -> None:
    ada.is_staff = True
    ada.save()
    client = signed_in(ada)
    assert client.post(f"/people/{chief.pk}/reset/").status_code == 404
    client.post("/people/invite/", {"username": "newcomer", "is_staff": "on"})
    assert not User.objects.get(username="newcomer").is_staff


def test_a_token_is_shown_once_and_kept_as_a_digest(ada: User) -> None:
    client = signed_in(ada)
    page = client.post("/account/tokens/", {"name": "nightly"}).content.decode()
    secret = re.search(r"clo_[\w-]{43}", page)[0]  # type: ignore[index]
    assert secret not in client.get("/account/").content.decode()
    token = ApiToken.objects.get()
    assert secret not in str(vars(token))
    assert tokens.token_of(secret) == token and tokens.token_of(secret + "x") is None
    client.post(f"/account/tokens/{token.id}/revoke/")
    assert tokens.token_of(secret) is None
    actions = AuditEntry.objects.filter(actor=ada).values_list("action", flat=True)
    assert set(actions) == {"token.create", "token.revoke"}


def test_a_token_of_a_closed_account_holds_no_longer(ada: User) -> None:
    _, secret = tokens.issue(ada, "x")
    User.objects.update(is_active=False)
    assert tokens.token_of(secret) is None


def test_sharing_is_granted_taken_back_and_remembered(ada: User, chief: User) -> None:
    bob = User.objects.create_user("bob")
    job = Job.objects.create(owner=ada, name="shared job", content_id="c" * 64)
    client = signed_in(ada)
    assert not Job.objects.visible_to(bob).exists()
    assert client.post(f"/jobs/{job.id}/share/", {"username": "bob"}).status_code == 302
    assert Job.objects.visible_to(bob).get() == job
    for wrong in ("ada", "nobody", ""):
        assert client.post(f"/jobs/{job.id}/share/", {"username": wrong}).status_code == 422
    assert signed_in(bob).post(f"/jobs/{job.id}/share/", {"username": "chief"}).status_code == 404
    assert client.post(f"/jobs/{job.id}/unshare/{bob.pk}/").status_code == 302
    assert not Job.objects.visible_to(bob).exists() and not JobShare.objects.exists()
    trail = list(AuditEntry.objects.filter(target=job.id).order_by("id").values_list("actor__username", "action"))
    assert trail == [("ada", "job.share"), ("ada", "job.unshare")]
    assert "bob" in signed_in(chief).get("/people/audit/").content.decode()
    assert "job.unshare" in client.get(f"/jobs/{job.id}/sharing/").content.decode()


def test_whom_it_is_shared_with_can_give_it_up(ada: User) -> None:
    bob = User.objects.create_user("bob")
    job = Job.objects.create(owner=ada, name="shared job", content_id="c" * 64)
    JobShare.objects.create(job=job, user=bob, granted_by=ada)
    assert signed_in(bob).post(f"/jobs/{job.id}/unshare/{bob.pk}/").status_code == 302
    assert not Job.objects.visible_to(bob).exists()


def test_deleting_an_account_deletes_its_jobs_and_says_so(ada: User, chief: User) -> None:
    job = Job.objects.create(owner=ada, name="ada's", content_id="c" * 64)
    client = signed_in(chief)
    assert client.post(f"/admin/auth/user/{ada.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="ada").exists() and not Job.objects.exists()
    assert AuditEntry.objects.filter(action="job.delete", target=job.id, actor=chief).exists()


def test_the_administration_shows_every_kind_of_row(ada: User, chief: User) -> None:
    tokens.issue(ada, "x")
    links.issue(ada, Purpose.LOGIN)
    client = signed_in(chief)
    for name in (
        "job",
        "replay",
        "work",
        "auditentry",
        "jobshare",
        "upload",
        "loginfailure",
        "onetimelink",
        "apitoken",
    ):
        page = client.get(f"/admin/dashboard/{name}/")
        assert page.status_code == 200, name
    token = ApiToken.objects.get()
    assert token.digest not in client.get(f"/admin/dashboard/apitoken/{token.pk}/change/").content.decode()


def test_a_changed_password_ends_other_sessions_but_not_this_one(ada: User) -> None:
    here, elsewhere = signed_in(ada), signed_in(ada)
    filled = {"old_password": PASSWORD, "new_password1": PASSWORD + "!", "new_password2": PASSWORD + "!"}
    assert here.post("/account/password/", filled).status_code == 302
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302


def test_next_leads_to_no_other_site(ada: User) -> None:
    client = Client()
    answer = client.post("/login/?next=//elsewhere.example/", {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 302 and answer.headers["Location"] == "/"


def test_every_page_forbids_inline_code(ada: User) -> None:
    for path in ("/login/", "/account/", "/api/docs", "/nothing/", "/healthz"):
        response = signed_in(ada).get(path) if path != "/login/" else Client().get(path)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert not re.search(rb"<script(?![^>]*(src=|application/json))|<[^>]+ (on\w+|style)=", response.content), path
