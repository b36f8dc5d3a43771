"""Forking a replay from its page, and two attempts side by side; by pointer, on a narrow page, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


def step_of_a_clock_call(page: Page, replay: str) -> int:
    base = page.url.split("/replays")[0]
    found = page.request.get(
        f"{base}/api/v1/replays/{replay}/find?after=100&where=determinant%20%3D%20timestamp"
    ).json()
    step: int = found["step"]["step"]
    return step


def test_a_fork_with_another_time_is_held_against_its_parent(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    step = step_of_a_clock_call(page, replay)
    page.goto(f"{page.url.split('?')[0]}?step={step}")
    offer = page.locator("form.fork-offer", has=page.locator('input[value="value"]'))
    offer.locator('input[name="chosen"]').fill("1600000999999")
    offer.get_by_role("button", name="Fork").click()
    expect(page.locator("#verdict")).to_contain_text("forked", timeout=60_000)
    banner = page.locator(".fork-banner")
    expect(banner).to_contain_text("1600000999999")
    expect(banner).to_contain_text("May be affected")
    assert faults_of(page) == []
    banner.get_by_role("link", name="the replay of").click()
    expect(page).to_have_url(re.compile(rf"/replays/{replay}/\?step={step}$"))
    expect(page.locator("#fork")).to_contain_text("1 fork")


def test_what_can_be_changed_follows_the_step(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    expect(page.locator("#fork")).to_contain_text("Another sharing depth")
    page.goto(f"{page.url.split('?')[0]}?step={step_of_a_clock_call(page, replay)}")
    expect(page.locator("#fork")).to_contain_text("Another value")
    page.locator("#strip").focus()
    page.keyboard.press("n")
    expect(page.locator(".fork-offers")).not_to_contain_text("Another value")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("narrow", [False, True])
def test_two_attempts_side_by_side(visit: Visit, killed_job: str, scheme: str, narrow: bool) -> None:
    size = {"viewport": NARROW} if narrow else {}
    page = visit(color_scheme=scheme, **size).open(f"/compare/?job={killed_job}")
    page.locator('input[name="task"]').fill("map-1.0")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#report")).to_contain_text("did the same", timeout=60_000)
    tops = page.locator(".two > .panel").evaluate_all("panels => panels.map((one) => one.getBoundingClientRect().top)")
    assert narrow or tops[0] == tops[1]
    assert faults_of(page) == []
    page.locator("#report").get_by_role("link", name="the second", exact=True).click()
    expect(page.get_by_label("Task", exact=True)).to_have_value("map-1.0")
    expect(page.get_by_label("Attempt", exact=True)).to_have_value("1")
    assert faults_of(page) == []
