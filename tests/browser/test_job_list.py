"""The list of jobs by keyboard: choosing, tagging, ordering, finding again, and what a choice leads to."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of

pytestmark = pytest.mark.browser


def test_jobs_are_chosen_tagged_and_found_by_keys(
    visit: Callable[..., Visitor], killed_job: str, faulty_job: str
) -> None:
    page = visit().open("/")
    bar = page.locator("#chosen")
    expect(bar).to_be_hidden()
    page.keyboard.press("a")
    expect(bar).to_contain_text(f"With the {page.locator('input[name=job]').count()} chosen jobs:")
    page.keyboard.press("a")
    expect(bar).to_be_hidden()
    page.locator(f"#{faulty_job} input[name=job]").focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("With the chosen job:")
    assert faults_of(page) == []
    page.get_by_label("Tags, with commas between them").focus()
    page.keyboard.type("night & day")
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text("1 job is tagged night & day.")
    page.get_by_role("link", name="night & day").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#job-rows")).to_contain_text(re.compile(r"1 of \d+ recordings"))
    page.get_by_role("link", name="Determinants").click()
    expect(page).to_have_url(re.compile(r"tag=night\+%26\+day&sort=-determinants"))
    expect(page.locator("#job-rows tbody tr")).to_have_count(1)
    page.set_viewport_size(NARROW)
    page.locator("input[name=job]").check()
    assert faults_of(page) == []
    page.get_by_role("button", name="Take off").click()
    expect(page.locator("#notices")).to_contain_text("Write a tag")
    page.locator("input[name=job]").check()
    page.get_by_label("Tags, with commas between them").fill("night & day")
    page.get_by_role("button", name="Take off").click()
    expect(page.locator("#job-rows")).to_contain_text("Nothing fits")
