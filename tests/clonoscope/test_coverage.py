"""`clonoscope coverage`: a job runs for a while, and what it asks past the recorder is listed, by line."""

import http.server
import json
import os
import ssl
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clonoscope.jobs_on_site import PRICING, ROOT, Site, run_pricing

CERTIFICATE = Path(__file__).parent / "localhost.pem"
JOB = """
    import os
    import sys
    import threading
    import time
    import uuid
    import random
    import socket
    from datetime import datetime
    from time import time as now

    import clonoscope

    os.environ.get("AT_THE_START")
    made = clonoscope.start("covered", dir="recordings")
    task = made.task("p")

    def outside():
        time.time()                                     # covered: within external
        return open(__file__).readline()                # covered: within external

    async def outside_awaited():
        return time.time()                              # covered: within external

    def in_a_thread():
        time.monotonic()  # UNCOVERED clock

    def process(record):
        clonoscope.time_ns()
        clonoscope.uuid4()
        clonoscope.external(outside)
        now()  # UNCOVERED clock
        datetime.now()  # UNCOVERED clock
        uuid.uuid4()  # UNCOVERED random
        random.Random(7).random()
        os.environ["HOME"]  # UNCOVERED environment
        open(__file__).close()  # UNCOVERED files
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))  # UNCOVERED network
        os.getpid()  # UNCOVERED machine
        id(record)  # UNCOVERED identity
        sorted([3, 1])

    for epoch in range(3):
        with task.epoch(epoch):
            process(epoch)
            if epoch == 1:
                import asyncio
                asyncio.run(clonoscope.external(outside_awaited))
                thread = threading.Thread(target=in_a_thread)  # UNCOVERED not
                thread.start()  # UNCOVERED threads
                thread.join()
    made.close()
"""


# One connection is made before any task begins, and used within.
CONNECTED = """
    import socket
    import sys
    import urllib.request
    import clonoscope

    port = int(sys.argv[1])
    kept = socket.create_connection(("127.0.0.1", port))
    one, other = socket.socketpair()

    def ask(connection):
        connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return connection.recv(1000).decode()

    with clonoscope.start("connected", dir="recordings") as made:
        with made.task("p").epoch(0):
            assert clonoscope.external(ask, socket.create_connection(("127.0.0.1", port)))  # UNCOVERED network
            kept.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")  # UNCOVERED network
            assert b"200" in kept.recv(1000)  # UNCOVERED network
            one.sendall(b"to itself")
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}/?key=s3cret").read()  # UNCOVERED network
            assert clonoscope.external(urllib.request.urlopen, f"http://127.0.0.1:{port}/", encode=lambda _: "a cup")
"""


# One connection is wrapped before any task begins, and used within; another is a library's own.
SECURE = """
    import socket
    import ssl
    import sys
    import urllib.request
    import clonoscope

    port, trusted = int(sys.argv[1]), ssl.create_default_context(cafile=sys.argv[2])

    def connected():
        return trusted.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")

    def ask(connection):
        connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return connection.recv(1000).decode()

    def fetched():
        page = urllib.request.urlopen(f"https://localhost:{port}/?key=s3cret", context=trusted)  # UNCOVERED network
        return page.read().decode()  # UNCOVERED network

    kept, covered = connected(), connected()
    with clonoscope.start("secure", dir="recordings") as made:
        with made.task("p").epoch(0):
            assert clonoscope.external(ask, covered)
            kept.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")  # UNCOVERED network
            assert b"200" in kept.recv(1000)  # UNCOVERED network
            assert clonoscope.external(fetched) == "a cup"
            assert fetched() == "a cup"
"""


class Shop(http.server.BaseHTTPRequestHandler):
    """Answers whoever connects."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a cup")

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as the server calls it
        """Nobody reads that."""


@pytest.fixture
def shop() -> Iterator[int]:
    """A real server's port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        yield from serving(server)


@pytest.fixture
def secure_shop() -> Iterator[int]:
    """The same, of a server that speaks TLS."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secured.load_cert_chain(CERTIFICATE)
        server.socket = secured.wrap_socket(server.socket, server_side=True)
        yield from serving(server)


def serving(server: http.server.ThreadingHTTPServer) -> Iterator[int]:
    """Its port."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.write("job", JOB)
    return made


def heard(site: Site, *arguments: Any, **environment: str) -> tuple[list[dict[str, Any]], int]:
    done = site.command("coverage", "--json", *arguments, **environment)
    line = next(one for one in reversed(done.stdout.splitlines()) if one.startswith("{"))
    return json.loads(line)["uncovered"], done.returncode


def planted(site: Site, name: str) -> set[tuple[str, int]]:
    """(kind, line), as the source itself says."""
    lines = (site.folder / f"{name}.py").read_text().splitlines()
    marked = ((n, one.partition("# UNCOVERED ")[2]) for n, one in enumerate(lines, 1))
    return {(kind, n) for n, kind in marked if kind and kind != "not"}


def test_all_that_nothing_covers_is_listed_and_nothing_else(site: Site) -> None:
    found, status = heard(site, "--", sys.executable, "job.py")
    # What asyncio asks for its own loop is asked on behalf of the line that runs it.
    own = [one for one in found if one["file"] == str(site.folder / "job.py") and "asyncio" not in one["text"]]
    assert status == 3
    # What a thread asks that entered no task is outside of tasks.
    assert {(one["kind"], one["line"]) for one in own if one["line"] > 20} == planted(site, "job"), own
    in_tasks = [one for one in own if one["within"] == "task"]
    assert {one["count"] for one in in_tasks if one["line"] < 46} == {2}  # 3 times: told at the first and the second
    assert all(one["text"] and one["function"] in ("process", "<module>") for one in in_tasks)
    outside = {(one["kind"], one["function"]) for one in own if one["within"] == "outside"}
    assert outside == {("environment", "<module>"), ("clock", "in_a_thread")}


def test_connections_are_named_with_the_line_that_uses_them(site: Site, shop: int) -> None:
    site.write("connected", CONNECTED)
    found, status = heard(site, "--", sys.executable, "connected.py", shop)
    in_tasks = [one for one in found if one["within"] == "task" and one["kind"] == "network"]
    assert status == 3 and {("network", one["line"]) for one in in_tasks} == planted(site, "connected"), in_tasks
    assert {one["file"] for one in in_tasks} == {str(site.folder / "connected.py")}
    named = {(one["call"], one["text"].partition("(")[0].strip()): one["detail"] for one in in_tasks}
    place = f"127.0.0.1:{shop}"
    assert named["socket.sendall", "kept.sendall"] == named["socket.recv", 'assert b"200" in kept.recv'] == place
    assert named["socket.connect", "assert clonoscope.external"] == place
    assert named["urllib.Request", "assert urllib.request.urlopen"] == place
    assert "s3cret" not in str([one["detail"] for one in found])
    # Before a task begins.
    outside = {one["call"] for one in found if one["within"] == "outside" and one["file"].endswith("connected.py")}
    assert "socket.connect" in outside, found


def test_what_passes_by_tls_is_heard_and_put_down_to_the_jobs_line(site: Site, secure_shop: int) -> None:
    site.write("secure", SECURE)
    found, status = heard(site, "--", sys.executable, "secure.py", secure_shop, CERTIFICATE)
    in_tasks = [one for one in found if one["within"] == "task" and one["kind"] == "network"]
    assert status == 3 and {("network", one["line"]) for one in in_tasks} == planted(site, "secure"), in_tasks
    calls = {(one["call"], one["text"].partition("(")[0]): one["detail"] for one in in_tasks}
    place = f"127.0.0.1:{secure_shop}"
    assert calls["ssl.write", "kept.sendall"] == calls["ssl.read", 'assert b"200" in kept.recv'] == place, calls
    assert calls["urllib.Request", "page = urllib.request.urlopen"] == f"localhost:{secure_shop}", calls
    assert "s3cret" not in str([one["detail"] for one in found])


def test_the_list_says_what_to_do(site: Site) -> None:
    done = site.command("coverage", "--", sys.executable, "job.py")
    assert f"{site.folder / 'job.py'}:" in done.stdout and "now()  # UNCOVERED clock" in done.stdout
    assert "clock: clonoscope.time_ns() or time(), or intercept()" in done.stdout and "(HOME)" in done.stdout


def test_what_is_intercepted_is_covered(site: Site) -> None:
    site.write("job", JOB.replace("made = clonoscope.start", "clonoscope.intercept()\n    made = clonoscope.start"))
    found, _ = heard(site, "--", sys.executable, "job.py")
    kinds = {one["kind"] for one in found if one["within"] == "task" and one["file"].endswith("job.py")}
    assert kinds == {"environment", "files", "network", "machine", "identity", "threads"}, found


def test_a_job_that_asks_nothing_past_the_recorder_is_covered(site: Site) -> None:
    site.write(
        "quiet",
        """
        import clonoscope
        with clonoscope.start("quiet", dir="recordings") as made:
            with made.task("p").epoch(0):
                clonoscope.time_ns()
        """,
    )
    done = site.command("coverage", "--", sys.executable, "quiet.py")
    assert done.returncode == 0 and "0 places asked within tasks" in done.stdout, done


def test_it_listens_to_children_and_ends_a_job_whose_time_is_over(site: Site) -> None:
    site.write(
        "parent",
        """
        import multiprocessing, subprocess, sys, time
        import clonoscope

        def work():
            with clonoscope.start("forked", dir="recordings") as made:
                with made.task("f").epoch(0):
                    time.time()  # UNCOVERED clock

        if __name__ == "__main__":
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join()
            subprocess.run([sys.executable, "spawned.py"], check=True)
            open("ready", "w").close()
            while True:
                time.sleep(0.1)
        """,
    )
    site.write(
        "spawned",
        """
        import time
        import clonoscope
        with clonoscope.start("spawned", dir="recordings") as made:
            with made.task("s").epoch(0):
                time.time_ns()  # UNCOVERED clock
        """,
    )
    # A busy machine may end it before it comes to where it waits: longer then.
    for seconds in (5, 20, 80):
        found, status = heard(site, "--seconds", str(seconds), "--", sys.executable, "parent.py")
        if (site.folder / "ready").exists():
            break
    assert status == 3
    for name in ("parent", "spawned"):
        own = {
            (one["kind"], one["line"])
            for one in found
            if one["file"].endswith(f"{name}.py") and one["within"] == "task"
        }
        assert own == planted(site, name), found


def test_the_jobs_own_sitecustomize_is_there_still(site: Site) -> None:
    site.write("own/sitecustomize".replace("own/", ""), "import builtins\nbuiltins.mine = 7")
    site.write("uses", "print('mine is', mine)")
    done = site.command("coverage", "--", sys.executable, "uses.py", PYTHONPATH=f"{site.folder}{os.pathsep}{ROOT}")
    assert "mine is 7" in done.stdout, done


def test_a_function_is_listened_to_along_a_bundle(site: Site) -> None:
    site.write(
        "pricing", PRICING.replace("key, at, value = record", "key, at, value = record; __import__('time').time()")
    )
    found, status = heard(site, site.record("a", run_pricing), "--app", "pricing:process")
    (one,) = [one for one in found if one["within"] == "task"]
    assert (one["kind"], one["call"], one["line"], status) == ("clock", "time.time", 8, 3)
    assert one["file"] == str(site.folder / "pricing.py")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "Put it behind --"),
        (["--", "no-such-program"], 2, "can't be started"),
        (["--", sys.executable, "-c", "raise SystemExit(7)"], 1, "the job ended with status 7"),
    ],
)
def test_wrong_use_and_a_job_that_fails_are_told(site: Site, arguments: list[str], status: int, said: str) -> None:
    done = site.command("coverage", *arguments)
    assert done.returncode == status and said in done.stderr, done
