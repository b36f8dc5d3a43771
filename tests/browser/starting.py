"""Starts a replay, or an audit, as a person does."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def start_replay(page: Page) -> str:
    """With what the form says; the id of the replay, whose page it leads to."""
    page.get_by_role("button", name="Start the replay").click()
    page.wait_for_url("**/replays/r_*/")
    found = re.search(r"/replays/(r_\w+)/", page.url)
    assert found is not None
    return found.group(1)


def audited(page: Page) -> Page:
    """An audit's page, when its report is there and nothing is being done about it."""
    ask = page.get_by_role("button", name="Audit this job")
    if ask.is_visible():
        ask.click()
    expect(page.get_by_role("button", name="Audit again")).to_be_visible(timeout=300_000)
    return page
