"""The shop that `orders.py` asks, and a night on which the job's driver is killed at the worst moment.

`python docs/examples/shop.py FOLDER [replay]`: puts twelve orders into FOLDER/in, runs `orders.py`, and kills it when
the shop has order 1207 and Spark has not committed its batch. Then the lamp's price rises, and the job is run again.
What the shop holds in the morning is the table `orders` of FOLDER/shop.db; FOLDER/orders.log has what the job said.
With `replay` the job takes the answers that it was given, and the shop knows an order by its number.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
JOB = Path(__file__).with_name("orders.py")
ORDERS = {0: range(1200, 1204), 1: range(1204, 1208), 2: range(1208, 1212)}
KILLED_AT = 1
LAMP, RISEN = 19.9, 24.9
# A session of seconds is over before thorough compiling and a collector of several threads pay.
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1 -Xss4m"


class Shop:
    """`told` is asked at every batch that is through, before the job hears that it was heard.

    `orders` is a plain sink's table; `by_number` is that of one that knows an order by its number, and keeps the first.
    """

    def __init__(self) -> None:
        self.prices: dict[str, float] = {"cup": 4.5, "lamp": LAMP}
        self.orders: list[dict[str, Any]] = []
        self.by_number: dict[int, dict[str, Any]] = {}
        self.told: Callable[[int], None] = lambda batch: None
        self.address = ""

    def answer(self, path: str, content: Any) -> Any:
        """What `GET` and `POST` are answered with."""
        where, _, what = path.strip("/").partition("/")
        if where == "price":
            return self.prices[what]
        if where == "orders":
            self.orders.append(content)
            self.by_number.setdefault(content["order"], content)
        elif where == "batches":
            self.told(content)
        return None


@contextmanager
def open_shop() -> Iterator[Shop]:
    """At a port of its own."""
    shop = Shop()

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, content: Any) -> None:
            body = json.dumps(shop.answer(self.path, content)).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                pass  # who asked was killed

        def log_message(self, *_: Any) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    shop.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield shop
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def put_orders(folder: Path) -> None:
    """A file a batch; their times tell Spark their order."""
    (folder / "in").mkdir(parents=True)
    for batch, orders in ORDERS.items():
        path = folder / "in" / f"{batch}.json"
        found = [{"order": order, "sku": "lamp" if order == 1207 else "cup"} for order in orders]
        path.write_text("".join(json.dumps(one) + "\n" for one in found))
        os.utime(path, (1_000_000 + batch, 1_000_000 + batch))


def run(folder: Path, shop: Shop, *more: str, killed_at: int | None = None) -> None:
    """The job to its end; or until the shop is told that this batch is through, and the job hears no answer."""
    sys.path.insert(0, str(ROOT))
    from ingest.java import find_java, java_home

    surroundings = os.environ | {
        "JAVA_HOME": str(java_home(find_java(), folder)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f'--driver-java-options "{JAVA_OPTIONS}" pyspark-shell',
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, str(JOB), str(folder), shop.address, *more]
    with open(folder / "orders.log", "ab") as log:
        job = subprocess.Popen(command, env=surroundings, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    # Python and the JVM at once, without a word.
    shop.told = lambda batch: os.killpg(job.pid, signal.SIGKILL) if batch == killed_at else None
    try:
        status = job.wait()
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    if status != (0 if killed_at is None else -signal.SIGKILL):
        raise SystemExit(f"{JOB.name} ended with {status}; {folder / 'orders.log'} says why")


def keep(orders: Iterable[dict[str, Any]], path: Path) -> None:
    """A database for whoever wants to look at the shop itself."""
    with closing(sqlite3.connect(path)) as data:
        data.execute('CREATE TABLE orders ("order" INTEGER, sku TEXT, price REAL)')
        data.executemany("INSERT INTO orders VALUES (:order, :sku, :price)", orders)
        data.commit()


def night(folder: Path, *more: str) -> Shop:
    """What the shop holds in the morning."""
    put_orders(folder)
    with open_shop() as shop:
        run(folder, shop, *more, killed_at=KILLED_AT)
        shop.prices["lamp"] = RISEN
        run(folder, shop, *more)
    keep(shop.by_number.values() if more else shop.orders, folder / "shop.db")
    return shop


def main(folder: Path, *more: str) -> None:
    """A night, and what came of it."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; name a folder that is, or one that is not there")
    print(f"{JOB.name} runs, is killed and runs again; that takes about half a minute …", flush=True)
    shop = night(folder, *more)
    held = list(shop.by_number.values()) if more else shop.orders
    prices = " and ".join(str(one["price"]) for one in held if one["order"] == 1207)
    print(f"The shop holds {len(held)} orders of {len(shop.by_number)} numbers; 1207 went out for {prices}.")
    print(f"The recording is in {folder / 'recordings' / 'orders'}.")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["replay"]):
        raise SystemExit("Usage: python docs/examples/shop.py FOLDER [replay]")
    main(Path(sys.argv[1]).absolute(), *sys.argv[2:])
