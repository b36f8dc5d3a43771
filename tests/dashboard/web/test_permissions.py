"""Who may do what, at every address: the rows are compared with the resolver, so a new address without a row fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.dashboard.web.people import World, ask

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
LOGIN = 401_302  # a page's way to say 401: it leads to the login page
Expected = dict[str, int]


def api(well: int, shared: int | None = None, other: int = 404) -> Expected:
    """Of the API: `shared` is what one gets with whom the job is shared; others cannot tell it from nothing."""
    shared = well if shared is None else shared
    return {
        "owner": well,
        "token": well,
        "shared": shared,
        "shared-token": shared,
        "other": other,
        "other-token": other,
        "staff": other,
        "anonymous": 401,
        "revoked": 401,
    }


def page(well: int, shared: int | None = None, other: int = 404, staff: int = 404) -> Expected:
    """Of a page: tokens open none."""
    shared = well if shared is None else shared
    people = {"owner": well, "shared": shared, "other": other, "staff": staff}
    return people | dict.fromkeys(("token", "shared-token", "other-token", "revoked", "anonymous"), LOGIN)


def everybody(status: int) -> Expected:
    return dict.fromkeys(api(0), status)


def staff_page(well: int) -> Expected:
    return page(404, 404, 404, staff=well)


@dataclass(frozen=True)
class Row:
    expected: Expected
    sent: dict[str, Any] = field(default_factory=dict)
    query: str = ""


def own(status: int) -> Expected:
    """For everybody with an account: it is about themselves."""
    return api(status, status, status)


def own_page(status: int) -> Expected:
    return page(status, status, status, status)


FORM = {"files": {"bundle": ("x.zip", b"not a bundle")}}
PIECE = {"headers": {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}, "content": b"12345"}

ROWS: dict[tuple[str, str], Row] = {
    # -- the API
    ("GET", "api/"): Row(everybody(404)),
    ("GET", "api/docs"): Row(own_page(200)),
    ("GET", "api/openapi.json"): Row(own_page(200)),
    ("GET", "api/v1/jobs"): Row(own(200)),
    ("POST", "api/v1/jobs"): Row(own(422), FORM),
    ("GET", "api/v1/jobs/<job_id>"): Row(api(200)),
    ("DELETE", "api/v1/jobs/<job_id>"): Row(api(204, 403)),
    ("GET", "api/v1/jobs/<job_id>/holders"): Row(api(409), query="?task=map-1.0&t_us=1"),
    ("GET", "api/v1/jobs/<job_id>/measures"): Row(api(409), query="?by=records"),
    ("GET", "api/v1/jobs/<job_id>/curves"): Row(api(409)),
    ("GET", "api/v1/jobs/<job_id>/bundle"): Row(api(404)),
    ("GET", "api/v1/jobs/<job_id>/trace"): Row(api(409)),
    ("POST", "api/v1/jobs/<job_id>/cancel"): Row(api(200, 403)),
    ("POST", "api/v1/jobs/<job_id>/retry"): Row(api(409, 403)),
    ("PUT", "api/v1/jobs/<job_id>/tags"): Row(api(200, 403), {"json": {"tags": ["a"]}}),
    ("GET", "api/v1/jobs/<job_id>/tables/<table>"): Row(api(409)),
    ("POST", "api/v1/jobs/<job_id>/sql"): Row(api(409), {"json": {"sql": "SELECT 1"}}),
    ("POST", "api/v1/jobs/<job_id>/sql/<kind>"): Row(api(409), {"json": {"sql": "SELECT 1"}}),
    ("GET", "api/v1/jobs/<job_id>/paths/<task>"): Row(api(409)),
    ("GET", "api/v1/jobs/<job_id>/paths/<task>/sharing"): Row(api(409)),
    ("GET", "api/v1/jobs/<job_id>/recovery"): Row(api(409)),
    ("GET", "api/v1/jobs/<job_id>/recovery/what-if"): Row(api(409), query="?load=0.5"),
    ("GET", "api/v1/jobs/<job_id>/spacetime"): Row(api(409), query="?from_us=0&to_us=1"),
    ("GET", "api/v1/jobs/<job_id>/cuts"): Row(api(409), query="?from_us=0&to_us=1"),
    ("GET", "api/v1/jobs/<job_id>/audit"): Row(api(200)),
    ("POST", "api/v1/jobs/<job_id>/audit"): Row(api(409)),
    ("POST", "api/v1/jobs/<job_id>/audit/cancel"): Row(api(200, 403)),
    ("GET", "api/v1/jobs/<job_id>/audit/document"): Row(api(404)),
    ("GET", "api/v1/jobs/<job_id>/audit/failing"): Row(api(409), query="?failed=map.0&at_ms=1"),
    ("GET", "api/v1/jobs/<job_id>/replays"): Row(api(200)),
    ("POST", "api/v1/jobs/<job_id>/replays"): Row(api(409), {"json": {"failure": 0}}),
    # Where forms with a file of steps end up: sent there by itself nothing of a job is looked at.
    ("POST", "api/v1/jobs/<job_id>/replays/steps"): Row(own(415)),
    ("GET", "api/v1/replays/<replay_id>"): Row(api(200)),
    ("DELETE", "api/v1/replays/<replay_id>"): Row(api(204, 403)),
    ("POST", "api/v1/replays/<replay_id>/cancel"): Row(api(200, 403)),
    ("POST", "api/v1/replays/<replay_id>/retry"): Row(api(409, 403)),
    ("GET", "api/v1/replays/<replay_id>/steps"): Row(api(409)),
    ("GET", "api/v1/replays/<replay_id>/state"): Row(api(409), query="?step=0"),
    ("GET", "api/v1/replays/<replay_id>/why"): Row(api(409), query="?step=0"),
    ("GET", "api/v1/replays/<replay_id>/effects"): Row(api(409), query="?step=0"),
    ("GET", "api/v1/replays/<replay_id>/find"): Row(api(409), query="?after=0"),
    ("GET", "api/v1/replays/<replay_id>/hits"): Row(api(409), query="?where=sent"),
    ("GET", "api/v1/replays/<replay_id>/go"): Row(api(409), query="?to=last"),
    ("GET", "api/v1/replays/<replay_id>/breakpoints"): Row(api(200)),
    ("POST", "api/v1/replays/<replay_id>/breakpoints"): Row(api(201, 403), {"json": {"search": "sent"}}),
    ("PATCH", "api/v1/replays/<replay_id>/breakpoints/<breakpoint_id>"): Row(
        api(200, 403), {"json": {"enabled": False}}
    ),
    ("DELETE", "api/v1/replays/<replay_id>/breakpoints/<breakpoint_id>"): Row(api(204, 403)),
    ("GET", "api/v1/replays/<replay_id>/excerpt"): Row(api(409)),
    ("GET", "api/v1/replays/<replay_id>/forks"): Row(api(200)),
    ("POST", "api/v1/replays/<replay_id>/forks"): Row(api(409), {"json": {"step": 0, "change": {"change": "lost"}}}),
    ("GET", "api/v1/replays/<replay_id>/changes"): Row(api(409), query="?step=0"),
    ("GET", "api/v1/compare"): Row(api(409), query="?job=<job_id>&task=map-1.0"),
    ("GET", "api/v1/replays/<replay_id>/notes"): Row(api(200)),
    # Of a replay without steps there is nothing to write on.
    ("POST", "api/v1/replays/<replay_id>/notes"): Row(api(409, 403), {"json": {"text": "here", "first": 0}}),
    ("PATCH", "api/v1/replays/<replay_id>/notes/<note_id>"): Row(api(200, 403), {"json": {"text": "there"}}),
    ("DELETE", "api/v1/replays/<replay_id>/notes/<note_id>"): Row(api(204, 403)),
    ("POST", "api/v1/uploads"): Row(own(201), {"json": {"name": "x.zip", "size": 5}}),
    ("HEAD", "api/v1/uploads/<upload_id>"): Row(api(200, 404)),
    ("PATCH", "api/v1/uploads/<upload_id>"): Row(api(204, 404), PIECE),
    ("DELETE", "api/v1/uploads/<upload_id>"): Row(api(204, 404)),
    ("POST", "api/v1/uploads/<upload_id>/finish"): Row(api(409, 404)),
    # -- who sees a job and its payloads, and how long it is kept; staff learn of it that it is there
    ("GET", "api/v1/jobs/<job_id>/shares"): Row(api(200)),
    ("PUT", "api/v1/jobs/<job_id>/shares/<username>"): Row(api(200, 403), {"json": {"payloads": False}}),
    # What is shared may be given up by whom it is shared with.
    ("DELETE", "api/v1/jobs/<job_id>/shares/<username>"): Row(api(204)),
    ("GET", "api/v1/jobs/<job_id>/looks"): Row(api(200, 403) | {"staff": 200}),
    ("GET", "api/v1/jobs/<job_id>/hold"): Row(api(404)),
    ("PUT", "api/v1/jobs/<job_id>/hold"): Row(api(200, 403) | {"staff": 200}, {"json": {"reason": "evidence"}}),
    ("DELETE", "api/v1/jobs/<job_id>/hold"): Row(api(409) | {"staff": 409}),
    # -- signing in and out; whoever is signed in already is led on
    ("GET", "healthz"): Row(everybody(200)),
    ("GET", "login/"): Row(everybody(200) | dict.fromkeys(("owner", "shared", "other", "staff"), 302)),
    ("POST", "login/"): Row(everybody(200) | dict.fromkeys(("owner", "shared", "other", "staff"), 302)),
    ("POST", "logout/"): Row(everybody(LOGIN)),  # where everybody ends, signed in before or not
    ("GET", "enter/"): Row(everybody(200)),
    ("POST", "enter/"): Row(everybody(403), {"data": {"secret": "never-issued"}}),
    ("GET", "invitation/"): Row(everybody(200)),
    ("POST", "invitation/"): Row(everybody(403), {"data": {"secret": "never-issued"}}),
    ("GET", "reset/"): Row(everybody(200)),
    ("POST", "reset/"): Row(everybody(403), {"data": {"secret": "never-issued"}}),
    # -- one's own account
    ("GET", "account/"): Row(own_page(200)),
    ("POST", "account/password/"): Row(own_page(422)),
    ("POST", "account/tokens/"): Row(own_page(201), {"data": {"name": "a script"}}),
    ("POST", "account/tokens/<int:token_id>/revoke/"): Row(page(302, 404)),
    # -- running the place
    ("GET", "people/"): Row(staff_page(200)),
    ("POST", "people/invite/"): Row(staff_page(201), {"data": {"username": "newcomer"}}),
    ("GET", "people/audit/"): Row(staff_page(200)),
    ("POST", "people/<int:user_id>/reset/"): Row(staff_page(201)),
    ("POST", "people/<int:user_id>/quota/"): Row(staff_page(302), {"data": {"quota_gib": "3"}}),
    # -- sharing: what is shared may be given up by whom it is shared with
    ("GET", "jobs/<str:job_id>/sharing/"): Row(page(200)),
    ("POST", "jobs/<str:job_id>/share/"): Row(page(302, 404), {"data": {"username": "other"}}),
    ("POST", "jobs/<str:job_id>/unshare/<int:user_id>/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/looks/"): Row(page(200, 404)),
    ("POST", "jobs/<str:job_id>/hold/"): Row(page(302, 404), {"data": {"reason": "evidence"}}),
    ("POST", "jobs/<str:job_id>/hold/lift/"): Row(page(302)),
    # -- pages of jobs and replays
    ("GET", ""): Row(own_page(200)),
    ("GET", "jobs/<str:job_id>/"): Row(page(200)),
    # Of a job that is not ready they lead back to its page, which says why.
    ("GET", "jobs/<str:job_id>/logs/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/paths/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/recovery/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/spacetime/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/audit/"): Row(page(200)),
    ("POST", "jobs/<str:job_id>/audit/"): Row(page(302)),
    ("POST", "jobs/<str:job_id>/audit/cancel/"): Row(page(302, 403)),
    ("GET", "jobs/<str:job_id>/audit/failing/"): Row(page(200)),
    ("GET", "jobs/<str:job_id>/evidence/"): Row(page(302)),
    ("GET", "jobs/<str:job_id>/sql/"): Row(page(302)),
    ("POST", "jobs/<str:job_id>/sql/download/"): Row(page(409), {"data": {"q": "SELECT 1", "kind": "csv"}}),
    ("GET", "jobs/<str:job_id>/replays/"): Row(page(200)),
    ("POST", "jobs/<str:job_id>/replays/"): Row(page(302), {"data": {"failure": "0"}}),
    ("GET", "jobs/<str:job_id>/log/"): Row(page(200)),
    ("POST", "jobs/<str:job_id>/cancel/"): Row(page(302, 403)),
    ("POST", "jobs/<str:job_id>/follow/"): Row(page(302, 403)),
    ("POST", "jobs/chosen/"): Row(own_page(302), {"data": {"do": "cancel"}}),
    ("POST", "jobs/<str:job_id>/retry/"): Row(page(302, 403)),
    ("GET", "jobs/<str:job_id>/delete/"): Row(page(200, 403)),
    ("POST", "jobs/<str:job_id>/delete/"): Row(page(302, 403)),
    ("GET", "replays/<str:replay_id>/"): Row(page(200)),
    ("GET", "replays/<str:replay_id>/strip/"): Row(page(409)),
    ("GET", "replays/<str:replay_id>/rows/<str:name>/"): Row(page(409)),
    ("GET", "replays/<str:replay_id>/hits/"): Row(page(409)),
    ("GET", "replays/<str:replay_id>/breakpoints/"): Row(page(200)),
    ("POST", "replays/<str:replay_id>/breakpoints/"): Row(page(302, 403), {"data": {"search": "sent"}}),
    ("POST", "replays/<str:replay_id>/breakpoints/<int:breakpoint_id>/"): Row(
        page(302, 403), {"data": {"delete": "1"}}
    ),
    ("GET", "replays/<str:replay_id>/excerpt/"): Row(page(409)),
    ("POST", "replays/<str:replay_id>/forks/"): Row(page(302), {"data": {"step": "0", "change": "lost"}}),
    ("GET", "compare/"): Row(page(200, 200, 200, 200)),
    ("GET", "replays/<str:replay_id>/notes/"): Row(page(200)),
    ("POST", "replays/<str:replay_id>/notes/"): Row(page(302, 403), {"data": {"text": "here", "first": "0"}}),
    ("POST", "replays/<str:replay_id>/notes/<int:note_id>/"): Row(page(302, 403), {"data": {"delete": "1"}}),
    ("POST", "replays/<str:replay_id>/cancel/"): Row(page(302, 403)),
    ("POST", "replays/<str:replay_id>/retry/"): Row(page(302, 403)),
    ("GET", "replays/<str:replay_id>/delete/"): Row(page(200, 403)),
    ("POST", "replays/<str:replay_id>/delete/"): Row(page(302, 403)),
}


def routes(patterns: Any = None, before: str = "") -> Iterator[str]:
    """Every address that the resolver knows."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def ours() -> list[str]:
    return [route for route in routes() if not route.startswith("admin/")]


def filled(route: str, things: dict[str, Any]) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(things[found[1]]), route)


@pytest.fixture
def world(sqlite: str, settings: Any) -> World:
    settings.ALLOWED_HOSTS = ["testserver.invalid"]
    return World()


def status_of(response: httpx.Response) -> int:
    leads_to_login = response.headers.get("location", "").startswith("/login/")
    return LOGIN if response.status_code == 302 and leads_to_login else response.status_code


def test_every_address_has_a_row() -> None:
    known = {route for _, route in ROWS}
    assert set(ours()) - known == set(), "addresses without a row"
    assert known - set(ours()) == set(), "rows without an address"


@pytest.mark.parametrize(("method", "route"), ROWS, ids=lambda value: value or "/")
def test_who_may(world: World, method: str, route: str) -> None:
    row = ROWS[method, route]
    expected = dict(row.expected)
    if method not in ("GET", "HEAD"):
        # A stranger's page that makes the owner's browser send this gets nothing done.
        expected["forged"] = 403
        if not route.startswith("api/"):
            # Nor does a script that knows only of tokens.
            expected |= dict.fromkeys(("token", "shared-token", "other-token", "revoked"), 403)
    got = {name: status_of(_send(world, name, method, route, row)) for name in expected}
    assert got == expected


@pytest.mark.parametrize("route", sorted({route for _, route in ROWS}), ids=lambda value: value or "/")
def test_other_methods_do_nothing(world: World, route: str) -> None:
    listed = {method for method, known in ROWS if known == route}
    if "GET" in listed:
        listed.add("HEAD")
    unlisted = [method for method in METHODS if method not in listed]
    got = {method: _send(world, "owner", method, route, Row({})).status_code for method in unlisted}
    # Staff pages do not exist for the owner; the API's root exists for nobody; who is signed in need not sign in.
    assert set(got.values()) <= {404, 405} | ({302} if route == "login/" else set()), got


@pytest.mark.parametrize("name", ["owner", "anonymous", "token"])
def test_the_administration_lets_in_only_staff(world: World, name: str) -> None:
    things = {"app_label": "dashboard", "object_id": 1, "id": 1, "content_type_id": 1, "url": "x", **world.things()}
    for route in (route for route in routes() if route.startswith("admin/")):
        if "(?P" in route or "login" in route:
            continue
        response = ask("GET", filled(route, things), world.visitors[name].headers)
        assert response.status_code in (302, 403, 404), (route, response.status_code)


def test_errors_of_the_api_have_one_shape(world: World) -> None:
    for (method, route), row in ROWS.items():
        if not route.startswith("api/v1/") or method == "HEAD":
            continue
        for name in ("other", "anonymous", "forged"):
            response = _send(world, name, method, route, row)
            if response.status_code >= 400:
                assert set(response.json()) == {"error"}, (method, route)
                assert set(response.json()["error"]) == {"code", "message", "detail"}, (method, route)


def _send(world: World, name: str, method: str, route: str, row: Row) -> httpx.Response:
    path = filled(route + row.query, world.things())
    sent = dict(row.sent)
    headers = world.visitors[name].headers | sent.pop("headers", {})
    return ask(method, path, headers, **sent)
