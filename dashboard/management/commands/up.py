"""`up`: serves the data folder; what `./run` starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser

from dashboard import folder, loopback, serving
from dashboard.management.base import Command as Base
from dashboard.management.base import Outcome, WrongUse
from dashboard.opening import open_folder
from dashboard.work.demo import queue_demo
from dashboard.work.sweep import free_leases_of_the_folder

# Listening on all addresses says nothing about the names that people use.
EVERY_ADDRESS = ("0.0.0.0", "::")


class Command(Base):
    help = "Serves pages, API and work of the data folder."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-demo", action="store_true", help="leave an empty store empty")

    def run(self, **options: Any) -> Outcome:
        host, port = options["host"], options["port"]
        if port not in range(1 << 16):
            raise WrongUse(f"{port} is no port: ports are 1 to 65535, and 0 for any that is free.")
        if not settings.WORKER_IN_PROCESS:
            return self._serve(host, port, None, options)
        with folder.held(address=serving.address_of(host, port)) as hold:
            return self._serve(host, port, hold, options)

    def _serve(self, host: str, port: int, hold: folder.Hold | None, options: dict[str, Any]) -> Outcome:
        socket = serving.listen(host, port)
        address = serving.address_of(host, socket.getsockname()[1])
        user = open_folder()
        if hold is not None:
            hold.tell(address)
            free_leases_of_the_folder()
        if host not in EVERY_ADDRESS:
            settings.ALLOWED_HOSTS.append(host)
        if not settings.EMBEDDED:
            call_command("collectstatic", interactive=False, verbosity=0)
        if settings.WORKER_IN_PROCESS and not options["no_demo"]:
            queue_demo(user)
        link = loopback.login_link(user, address) if loopback.links_allowed(address) else ""
        server = serving.Server(on_ready=lambda: self._greet(address, link))
        server.serve_on(socket)
        return Outcome("", {"address": address, "data": str(Path(settings.DATA))})

    def _greet(self, address: str, link: str) -> None:
        self.stdout.write(f"Clonoscope is at {address}")
        if link:
            self.stdout.write(f"Log in with this link; it works once, for ten minutes:\n  {link}")
        self.stdout.flush()
