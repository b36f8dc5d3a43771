"""Starts a replay as a person does, from its job's page."""

from __future__ import annotations

import re

from playwright.sync_api import Page


def start_replay(page: Page) -> str:
    """With what the form says; the id of the replay, whose page it leads to."""
    page.get_by_role("button", name="Start the replay").click()
    page.wait_for_url("**/replays/r_*/")
    found = re.search(r"/replays/(r_\w+)/", page.url)
    assert found is not None
    return found.group(1)
