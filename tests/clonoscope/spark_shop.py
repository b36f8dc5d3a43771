"""The shop of the example: prices that move, a table of orders that keeps what it is given, and a hand on the kill."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Shop:
    """`told` is asked at every batch that is through, before the job hears that it was heard.

    `orders` is a plain sink's table; `by_number` is that of one that knows an order by its number, and keeps the first.
    """

    def __init__(self) -> None:
        self.prices: dict[str, float] = {"cup": 4.5, "lamp": 19.9}
        self.orders: list[dict[str, Any]] = []
        self.by_number: dict[int, dict[str, Any]] = {}
        self.batches: list[int] = []
        self.told: Callable[[int], None] = lambda batch: None
        self.address = ""

    def answer(self, path: str, content: Any) -> Any:
        where, _, what = path.strip("/").partition("/")
        if where == "price":
            return self.prices[what]
        if where == "orders":
            self.orders.append(content)
            self.by_number.setdefault(content["order"], content)
        elif where == "batches":
            self.batches.append(content)
            self.told(content)
        return None


@contextmanager
def open_shop() -> Iterator[Shop]:
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
