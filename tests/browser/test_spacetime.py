"""The space-time page as a person uses it: marks are selected and followed, zoomed to, cut through and linked to."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.site import KILLED, Site

pytestmark = pytest.mark.browser

READ = "#picture[aria-busy=false]"


def opened(visitor: Visitor, job: str, query: str = "") -> Page:
    page = visitor.open(f"/jobs/{job}/spacetime/{query}")
    page.locator(READ).wait_for()
    return page


def test_a_failure_leads_to_its_causes_and_the_address_holds_the_view(
    visit: Callable[..., Visitor], killed_job: str
) -> None:
    page = opened(visit(), killed_job)
    page.get_by_role("link", name=f"{KILLED} failed at").click()
    expect(page.locator("#selected-title")).to_have_text(f"{KILLED} failed")
    expect(page.get_by_role("region", name="What came before")).to_contain_text("source.0")
    expect(page.get_by_role("region", name="What followed")).to_contain_text("sink.0")
    expect(page).to_have_url(re.compile("select=failure"))
    page.keyboard.press("[")
    expect(page.locator("#selected-title")).to_contain_text("Buffer")
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile("from="))
    shown = page.locator("#window-text").text_content()
    again = opened(visit(), killed_job, page.url.partition("/spacetime/")[2])
    expect(again.locator("#selected-title")).to_contain_text("Buffer")
    expect(again.locator("#window-text")).to_have_text(shown or "")
    page.go_back()
    expect(page.locator("#selected-title")).to_have_text(f"{KILLED} failed")
    page.keyboard.press("Escape")
    expect(page.locator("#selected-title")).to_have_text("Nothing selected")


def test_a_cut_snaps_to_a_consistent_one(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = opened(visit(), killed_job, "?from=1400000&to=1700000")
    page.keyboard.press("c")
    expect(page.locator("#cut-text")).to_contain_text("Consistent cut at")
    page.get_by_label("Cut at").press("End")
    expect(page.locator("#cut-moment")).to_have_text("1.700 s")
    expect(page).to_have_url(re.compile("cut=1700000"))
    page.get_by_role("button", name="Cut").click()
    expect(page.locator("#cut-row")).to_be_hidden()


def test_what_is_folded_or_hidden_is_told(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = opened(visit(), killed_job)
    page.get_by_role("link", name="fold the tasks of source into one lane").click()
    page.locator(READ).wait_for()
    expect(page.locator("#lane-names")).to_contain_text("source ×2")
    page.get_by_role("link", name="hide sink.1").first.focus()
    page.keyboard.press("Enter")
    page.locator(READ).wait_for()
    expect(page.locator("#marks-text")).to_contain_text("1 task is hidden")
    expect(page.locator("#lane-names")).to_contain_text("source ×2")
    page.get_by_role("link", name="show all").click()
    expect(page.locator("#lane-names")).to_contain_text("sink.1")


def test_without_scripts_the_tables_tell_it(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = visit(java_script_enabled=False).open(f"/jobs/{killed_job}/spacetime/?select=failure:0")
    expect(page.locator("#selected-title")).to_have_text(f"{KILLED} failed")
    expect(page.get_by_role("region", name="Every lane")).to_contain_text(KILLED)
    page.get_by_role("link", name="fold sink").first.click()
    expect(page.locator("#selected-title")).to_have_text(f"{KILLED} failed")
    expect(page.get_by_role("region", name="Every lane")).to_contain_text("unfold")


def test_two_failures_stand_below_one_another(visit: Callable[..., Visitor], site: Site) -> None:
    kills = ("--kill", f"{KILLED}@1500", "--kill", "sink.0@2500")
    job = site.job(site.bundle("two-failures.tar.zst", "--seed", "7", "--events", "4000", *kills))
    page = opened(visit(), job)
    page.get_by_role("combobox", name="beside").select_option("1")
    expect(page.locator("#beside-text")).to_contain_text("sink.0 failed at 2.500 s, at the same scale as map-1.0")
    expect(page).to_have_url(re.compile("beside=1"))
    expect(page.locator("#window-text")).not_to_contain_text("the whole job")
