"""The Chromium that browser tests drive: Debian's, since Playwright's own is not installed."""

import os
import shutil

from tests.services.processes import ServiceMissing

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_program() -> str:
    given = os.environ.get("CHROMIUM")
    for name in [given] if given else NAMES:
        program = shutil.which(name)
        if program is not None:
            return program
    raise ServiceMissing("Chromium is not installed (Debian package chromium)")
