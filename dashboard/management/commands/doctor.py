"""`doctor`: looks whether everything is there that the work needs."""

from __future__ import annotations

from typing import Any

from dashboard.doctor import findings
from dashboard.management.base import ERROR, GOOD, Outcome
from dashboard.management.base import Command as Base


class Command(Base):
    help = "Checks this machine, its settings and the data folder."

    def run(self, **options: Any) -> Outcome:
        found = list(findings())
        good = all(one.good for one in found)
        lines = [f"{'ok ' if one.good else 'BAD'}  {one.name}: {one.detail}" for one in found]
        checks = [{"name": one.name, "ok": one.good, "detail": one.detail} for one in found]
        return Outcome("\n".join(lines), {"ok": good, "checks": checks}, GOOD if good else ERROR)
