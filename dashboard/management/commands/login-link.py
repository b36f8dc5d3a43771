"""`login-link USER`: a one-time login link, for who sits at the machine."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from dashboard import accounts, folder, loopback
from dashboard.management.base import Command as Base
from dashboard.management.base import Failure, Outcome
from dashboard.opening import open_folder


class Command(Base):
    help = "Prints a login link for USER: it works once, for ten minutes."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")

    def run(self, **options: Any) -> Outcome:
        open_folder()
        user = accounts.named(options["user"])
        holder = folder.holder()
        address = holder.address if holder else ""
        if not address:
            raise Failure("Nobody serves this data folder now, so a link would lead nowhere. Start it with `up`.")
        link = loopback.login_link(user, address)
        return Outcome(link, {"user": user.username, "link": link})
