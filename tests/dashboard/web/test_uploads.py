"""Uploads to a real server process: refused early, streamed, resumed, cut off, killed, and on a full disk."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.server_process import processes_of, wait_until
from tests.dashboard.web import bundles
from tests.dashboard.web.server import Person, RealServer, status_line

MIB = 1 << 20
MOST = 8 * MIB
PIECE = "application/offset+octet-stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(
        tmp_path_factory.mktemp("web") / "data", environment={"CLONOSCOPE_MAX_UPLOAD_BYTES": str(MOST)}
    )
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(server: RealServer) -> dict[str, Person]:
    return server.people(ada=None, bob=None, poor=MIB)


def post(server: RealServer, person: Person | None, data: bytes, **headers: str) -> httpx.Response:
    with server.client(person) as client:
        return client.post("/api/v1/jobs", files={"bundle": ("it.zip", data)}, headers=headers)


def begin(server: RealServer, person: Person, size: int) -> str:
    with server.client(person) as client:
        answer = client.post("/api/v1/uploads", json={"name": "pieces.zip", "size": size})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"])


def patch(server: RealServer, person: Person, url: str, offset: int, data: bytes, **headers: str) -> httpx.Response:
    with server.client(person) as client:
        sent = {"Upload-Offset": str(offset), "Content-Type": PIECE, **headers}
        return client.patch(url, content=data, headers=sent)


def offset_of(server: RealServer, person: Person, url: str) -> int:
    with server.client(person) as client:
        answer = client.head(url)
    assert answer.status_code == 200
    return int(answer.headers["Upload-Offset"])


def test_a_bundle_in_one_form_becomes_a_job(server: RealServer, people: dict[str, Person]) -> None:
    answer = post(server, people["ada"], bundles.padded(3 * MIB, "in one form"))
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert job["name"] == "it.zip" and job["mine"] and not job["repeated"]
    assert server.files("bundles") == [f"{job['id']}.pack"]
    assert server.files("uploads") == []


def test_the_same_content_is_recognised(server: RealServer, people: dict[str, Person]) -> None:
    first = post(server, people["ada"], bundles.good("twice")).json()
    again = post(server, people["ada"], bundles.good("twice")).json()
    others = post(server, people["bob"], bundles.good("twice")).json()
    assert again["id"] == first["id"] and again["repeated"]
    # That somebody else has it already must not show.
    assert others["id"] != first["id"] and not others["repeated"]


@pytest.mark.parametrize(
    ("who", "length", "status"),
    [("anonymous", 1 << 30, "401"), ("ada", MOST + 1, "413"), ("poor", 2 * MIB, "413"), ("ada", 0, "411")],
)
def test_refused_before_the_first_byte(
    server: RealServer, people: dict[str, Person], who: str, length: int, status: str
) -> None:
    """Told to wait for `100 Continue`, the client never sends its body."""
    token = f"Authorization: Bearer {people[who].token}" if who in people else "X-Nobody: 1"
    size = f"Content-Length: {length}" if length else "Transfer-Encoding: chunked"
    head = f"POST /api/v1/jobs HTTP/1.1\nContent-Type: multipart/form-data; boundary=xyz\nExpect: 100-continue\n{size}"
    with server.raw(f"{head}\n{token}") as connection:
        assert status_line(connection).split()[1] == status
    assert server.files("uploads") == []


def test_over_quota_says_how_much_is_used(server: RealServer, people: dict[str, Person]) -> None:
    error = post(server, people["poor"], bundles.padded(2 * MIB)).json()["error"]
    assert error["code"] == "over-quota" and error["detail"]["quota_bytes"] == MIB
    with server.client(people["poor"]) as client:
        answer = client.post("/api/v1/uploads", json={"name": "x", "size": 2 * MIB})
    assert answer.status_code == 413


def test_uploads_under_way_count_against_the_quota(server: RealServer) -> None:
    eve = server.people(eve=3 * MIB)["eve"]
    url = begin(server, eve, 2 * MIB)
    with server.client(eve) as client:
        refused = client.post("/api/v1/uploads", json={"name": "x", "size": 2 * MIB})
        assert refused.status_code == 413
        assert client.delete(url).status_code == 204
        assert client.post("/api/v1/uploads", json={"name": "x", "size": 2 * MIB}).status_code == 201


def test_a_cookie_needs_the_csrf_token_and_our_own_origin(server: RealServer, people: dict[str, Person]) -> None:
    session = people["ada"].session
    secret = "a" * 32
    cookie = f"clonoscope_session={session}; clonoscope_csrf={secret}"
    data = bundles.good("by cookie")
    assert post(server, None, data, Cookie=cookie).status_code == 403
    assert post(server, None, data, Cookie=cookie, **{"X-CSRFToken": "b" * 32}).status_code == 403
    stranger = {"X-CSRFToken": secret, "Origin": "https://elsewhere.example"}
    assert post(server, None, data, Cookie=cookie, **stranger).status_code == 403
    ours = {"X-CSRFToken": secret, "Origin": server.url}
    assert post(server, None, data, Cookie=cookie, **ours).status_code == 202


def test_a_page_without_scripts_sends_its_token_as_a_field(server: RealServer, people: dict[str, Person]) -> None:
    secret = "a" * 32
    cookie = f"clonoscope_session={people['ada'].session}; clonoscope_csrf={secret}"
    with server.client() as client:
        answer = client.post(
            "/api/v1/jobs",
            data={"csrfmiddlewaretoken": secret},
            files={"bundle": ("it.zip", bundles.good("by a plain form"))},
            headers={"Cookie": cookie},
        )
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith("/jobs/j_")


def test_an_upload_in_pieces(server: RealServer, people: dict[str, Person]) -> None:
    ada, data = people["ada"], bundles.padded(2 * MIB, "in pieces")
    url = begin(server, ada, len(data))
    for start in range(0, len(data), MIB):
        answer = patch(server, ada, url, start, data[start : start + MIB])
        assert answer.status_code == 204, answer.text
        assert answer.headers["Tus-Resumable"] == "1.0.0"
        assert int(answer.headers["Upload-Offset"]) == min(start + MIB, len(data))
    with server.client(ada) as client:
        done = client.post(f"{url}/finish")
        assert done.status_code == 202 and done.json()["name"] == "pieces.zip"
        assert client.post(f"{url}/finish").status_code == 404
        assert client.head(url).status_code == 404


@pytest.mark.spark
def test_the_driver_warms_up_while_a_bundle_arrives(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "data")
    server.start()
    try:
        ada = server.people(ada=None)["ada"]
        url = begin(server, ada, 2 * MIB)
        assert not [one for one in processes_of(server.data) if one.kind == "driver"]
        assert patch(server, ada, url, 0, b"x" * MIB).status_code == 204
        wait_until(lambda: any(one.kind == "driver" for one in processes_of(server.data)), "the driver", 30)
    finally:
        server.stop()


def test_a_piece_goes_where_the_last_one_ended(server: RealServer, people: dict[str, Person]) -> None:
    ada = people["ada"]
    url = begin(server, ada, 10)
    assert patch(server, ada, url, 0, b"12345").status_code == 204
    for wrong in (0, 4, 6):
        answer = patch(server, ada, url, wrong, b"x")
        assert answer.status_code == 409 and answer.json()["error"]["detail"] == {"offset": 5}
    assert patch(server, ada, url, 5, b"678901").status_code == 413
    assert patch(server, ada, url, 5, b"6", **{"Content-Type": "text/plain"}).status_code == 415
    assert patch(server, ada, url, 5, b"6", **{"Tus-Resumable": "0.2.2"}).status_code == 412
    assert patch(server, people["bob"], url, 5, b"6").status_code == 404
    with server.client(ada) as client:
        assert client.post(f"{url}/finish").status_code == 409
    assert offset_of(server, ada, url) == 5


def test_of_two_pieces_at_once_one_is_refused(server: RealServer, people: dict[str, Person]) -> None:
    ada = people["ada"]
    url = begin(server, ada, 2 * MIB)
    part = server.data / "store" / "uploads" / url.rpartition("/")[2]
    with server.raw(_patch_head(ada, url, 0, 2 * MIB)) as connection:
        connection.sendall(b"x" * MIB)
        # Asking whether it is refused would be a piece as well, and the first might come second.
        wait_until(lambda: part.stat().st_size, "the first piece is being written", 20)
        assert patch(server, ada, url, 0, b"y" * 10).status_code == 423
        with server.client(ada) as client:
            assert client.post(f"{url}/finish").status_code == 423
        connection.sendall(b"x" * MIB)
        assert status_line(connection).split()[1] == "204"
    assert offset_of(server, ada, url) == 2 * MIB
    assert part.read_bytes() == b"x" * (2 * MIB)


def test_racing_pieces_leave_the_bytes_of_one(server: RealServer, people: dict[str, Person]) -> None:
    ada = people["ada"]
    url = begin(server, ada, 64 * 1024)
    answers: list[int] = []

    def send(letter: bytes) -> None:
        answers.append(patch(server, ada, url, 0, letter * 64 * 1024).status_code)

    senders = [threading.Thread(target=send, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert answers.count(204) == 1 and set(answers) <= {204, 409, 423}, answers
    landed = (server.data / "store" / "uploads" / url.rpartition("/")[2]).read_bytes()
    assert len(set(landed)) == 1 and len(landed) == 64 * 1024


def test_a_lost_connection_keeps_what_came(server: RealServer, people: dict[str, Person]) -> None:
    ada, data = people["ada"], bundles.padded(2 * MIB, "lost and found")
    url = begin(server, ada, len(data))
    with server.raw(_patch_head(ada, url, 0, len(data))) as connection:
        connection.sendall(data[:MIB])
    came = wait_until(lambda: offset_of(server, ada, url), "what came is written down", 20)
    assert came == MIB
    assert patch(server, ada, url, came, data[came:]).status_code == 204
    with server.client(ada) as client:
        assert client.post(f"{url}/finish").status_code == 202


def test_a_form_that_breaks_off_leaves_nothing(server: RealServer, people: dict[str, Person]) -> None:
    before = set(server.files("uploads"))
    head = (
        "POST /api/v1/jobs HTTP/1.1\nContent-Type: multipart/form-data; boundary=xyz\n"
        f"Content-Length: {4 * MIB}\nAuthorization: Bearer {people['ada'].token}"
    )
    with server.raw(head) as connection:
        connection.sendall(b'--xyz\r\nContent-Disposition: form-data; name="bundle"; filename="a"\r\n\r\n' + b"x" * MIB)
        wait_until(lambda: set(server.files("uploads")) - before, "the upload has begun", 20)
    wait_until(lambda: set(server.files("uploads")) == before, "its file is gone", 20)
    assert "Traceback" not in server.said()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing like a form",
        b"--xyz\r\nno colon\r\n\r\nx\r\n--xyz--\r\n",
        b'--xyz\r\nContent-Disposition: form-data; name="bundle"\r\n\r\nx',
        b'--xyz\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--xyz--\r\n',
        b'--xyz\r\nContent-Disposition: form-data; name="bundle"\r\nA: ' + b"a" * 20_000,
        b'--xyz\r\nContent-Disposition: form-data; name="bundle"\r\n\r\nx\r\n'
        b'--xyz\r\nContent-Disposition: form-data; name="bundle"\r\n\r\ny\r\n--xyz--\r\n',
    ],
)
def test_a_malformed_form_is_refused(server: RealServer, people: dict[str, Person], body: bytes) -> None:
    before = server.files("uploads"), server.files("bundles")
    with server.client(people["ada"]) as client:
        headers = {"Content-Type": "multipart/form-data; boundary=xyz"}
        answer = client.post("/api/v1/jobs", content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert (server.files("uploads"), server.files("bundles")) == before


@pytest.mark.parametrize("kind", bundles.REFUSED)
def test_a_bad_bundle_is_refused_whole(server: RealServer, people: dict[str, Person], kind: str) -> None:
    before = server.files("uploads"), server.files("bundles"), server.files("incoming")
    data = bundles.REFUSED[kind]
    answer = post(server, people["bob"], data)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error["code"] in ("bad-bundle", "invalid") and len(error["message"]) > 20, error
    assert "/store/" not in answer.text and "u_" not in error["message"], error
    if error["code"] == "bad-bundle":
        # A sentence that names the file, and the offset where there is one.
        assert error["detail"]["path"] in error["message"]
        assert error["detail"]["offset"] is None or str(error["detail"]["offset"]) in error["message"]
    assert (server.files("uploads"), server.files("bundles"), server.files("incoming")) == before
    if data:
        url = begin(server, people["bob"], len(data))
        assert patch(server, people["bob"], url, 0, data).status_code == 204
        with server.client(people["bob"]) as client:
            finished = client.post(f"{url}/finish")
            assert finished.status_code == 422
            assert client.head(url).status_code == 404
    assert (server.files("uploads"), server.files("bundles"), server.files("incoming")) == before


def test_no_more_uploads_at_once_than_anybody_needs(server: RealServer) -> None:
    mallory = server.people(mallory=None)["mallory"]
    with server.client(mallory) as client:
        statuses = [client.post("/api/v1/uploads", json={"name": "x", "size": 1}).status_code for _ in range(101)]
    assert statuses == [201] * 100 + [429]


def test_another_host_name_is_refused(server: RealServer, people: dict[str, Person]) -> None:
    answer = post(server, people["ada"], bundles.good("for another host"), Host="elsewhere.example")
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "bad-request"


def test_other_requests_may_not_bring_much(server: RealServer, people: dict[str, Person]) -> None:
    large = b"x" * (3 * MIB)
    with server.client() as client:
        assert client.post("/login/", content=large).status_code == 413
        chunks = (large[start : start + 65536] for start in range(0, len(large), 65536))
        answer = client.post("/api/v1/uploads", content=chunks, headers=people["ada"].bearer)
        assert answer.status_code == 413 and answer.json()["error"]["code"] == "too-large"


def test_a_killed_server_keeps_what_was_written_down(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "data")
    server.start()
    try:
        ada = server.people(ada=None)["ada"]
        data = bundles.padded(3 * MIB, "killed")
        url = begin(server, ada, len(data))
        assert patch(server, ada, url, 0, data[:MIB]).status_code == 204
        part = server.data / "store" / "uploads" / url.rpartition("/")[2]
        with server.raw(_patch_head(ada, url, MIB, len(data) - MIB)) as connection:
            connection.sendall(data[MIB : 2 * MIB])
            wait_until(lambda: part.stat().st_size > MIB, "more bytes are in the file", 20)
            server.stop(signal.SIGKILL)
        server.start()
        came = offset_of(server, ada, url)
        assert came == MIB, "what was not written down counts as never received"
        assert patch(server, ada, url, came, data[came:]).status_code == 204
        with server.client(ada) as client:
            assert client.post(f"{url}/finish").status_code == 202
    finally:
        server.stop()


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """The kernel refuses to let the server's files grow: in the middle of an upload, as a full disk does."""
    server = RealServer(tmp_path / "data", most_file_bytes=4 * MIB)
    server.start()
    try:
        ada = server.people(ada=None)["ada"]
        answer = post(server, ada, bundles.padded(6 * MIB, "too much"))
        assert answer.status_code == 507, answer.text
        assert answer.json()["error"]["code"] == "store-full"
        assert server.files("uploads") == server.files("bundles") == server.files("incoming") == []
        # It lands, but what it unpacks to does not fit.
        answer = post(server, ada, bundles.zipped({"job.json": bundles.named("unpacked"), "notes.bin": b"n" * 6 * MIB}))
        assert answer.status_code == 507, answer.text
        assert server.files("uploads") == server.files("bundles") == server.files("incoming") == []
        url = begin(server, ada, 6 * MIB)
        assert patch(server, ada, url, 0, b"x" * 6 * MIB).status_code == 507
        came = offset_of(server, ada, url)
        assert came < 6 * MIB
        assert os.stat(server.data / "store" / "uploads" / url.rpartition("/")[2]).st_size == came
        assert post(server, ada, bundles.good("small enough")).status_code == 202
    finally:
        server.stop()


def _patch_head(person: Person, url: str, offset: int, length: int) -> str:
    return (
        f"PATCH {url} HTTP/1.1\nContent-Type: {PIECE}\nUpload-Offset: {offset}\n"
        f"Content-Length: {length}\nAuthorization: Bearer {person.token}"
    )
