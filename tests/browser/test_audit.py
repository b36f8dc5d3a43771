"""A job's audit in a browser: by keyboard from the job's head to the proof, found as one types, without script too."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of
from tests.browser.starting import audited

pytestmark = pytest.mark.browser


@pytest.fixture
def page(visit: Callable[..., Visitor], killed_job: str) -> Page:
    """With its report there."""
    return audited(visit().open(f"/jobs/{killed_job}/audit/"))


def test_by_keyboard_from_the_jobs_head_to_what_proves_a_claim(
    visit: Callable[..., Visitor], page: Page, killed_job: str
) -> None:
    page.goto(page.url.removesuffix("audit/"))
    badge = page.locator(".badge-link")
    expect(badge).to_contain_text("exactly once")
    badge.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("Exactly once")
    page.locator("#coverage .audit-claims > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#coverage .audit-claims")).to_have_attribute("open", "")
    link = page.locator("#cuts .proofs a").first
    link.focus()
    named = link.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(named.capitalize())
    expect(page.locator("tr[aria-current]")).to_have_count(1)
    page.go_back()
    expect(page.locator("#verdict")).to_be_visible()


def test_claims_are_found_as_one_types_and_the_address_keeps_it(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("map-1.0 covered")
    expect(page.locator("#fitting")).to_contain_text("fit")
    shown = page.locator("table.claims tbody tr")
    expect(shown.first).to_contain_text("map-1.0")
    assert all("map-1.0" in row for row in shown.all_inner_texts())
    assert "find=map-1.0+covered" in page.url
    page.reload()
    expect(page.locator("#find")).to_have_value("map-1.0 covered")
    expect(page.locator("#fitting")).to_be_visible()


def test_any_set_of_failures_is_asked_from_the_report(page: Page) -> None:
    form = page.locator("#recoverability .failing-form")
    form.get_by_label("Had failed at once").fill("map-1.0, sink.0")
    form.get_by_label("at ms").fill("500")
    form.get_by_role("button", name="Ask").click()
    expect(page.locator("#verdict")).to_contain_text("Had map-1.0 and sink.0 failed at 500.000 ms")
    expect(page.get_by_label("Had failed at once")).to_have_value("map-1.0, sink.0")
    assert faults_of(page) == []


def test_a_determinant_that_proves_something_leads_to_the_step_that_took_it(
    visit: Callable[..., Visitor], killed_job: str, replay: str
) -> None:
    visitor = visit()
    page = visitor.open(f"/replays/{replay}/?step=0")
    api = f"{visitor.site.url}/api/v1/replays/{replay}"
    steps = page.request.get(f"{api}/steps", params={"from": "0", "to": "1000"}).json()["steps"]
    step = next(one["step"] for one in steps if one["kind"] == "take-determinant")
    why = page.request.get(f"{api}/why", params={"step": str(step), "depth": "1"}).json()
    name = next(one["ref"] for one in why["causes"] if one["ref"].startswith("det:"))
    page = visitor.open(f"/jobs/{killed_job}/evidence/?of={quote(name)}")
    expect(page.locator("tbody tr").first).to_be_visible()
    link = page.locator("#steps-title").locator("xpath=../..").get_by_role("link").first
    link.click()
    expect(page).to_have_url(re.compile(rf"/replays/{replay}/\?step=\d+"))


def test_sections_open_and_close_by_keys(page: Page) -> None:
    sections = page.locator(".audit-section")
    everything = sections.count()
    page.keyboard.press("O")
    expect(page.locator(".audit-section[open]")).to_have_count(0)
    page.keyboard.press("o")
    expect(page.locator(".audit-section[open]")).to_have_count(everything)
    assert faults_of(page) == []


def test_asked_again_it_says_how_far_it_is_and_shows_the_new_report(page: Page) -> None:
    made = page.locator(".audit-facts time").get_attribute("datetime")
    page.get_by_role("button", name="Audit again").click()
    expect(page.locator("[data-progress]")).to_be_visible()
    audited(page)
    assert page.locator(".audit-facts time").get_attribute("datetime") != made


def test_it_is_read_and_searched_without_script_on_a_phone(visit: Callable[..., Visitor], page: Page) -> None:
    plain = visit(java_script_enabled=False, viewport=NARROW)
    read = plain.open(page.url.removeprefix(plain.site.url))
    expect(read.locator("#verdict")).to_contain_text("Exactly once")
    expect(read.locator(".heat").first).to_be_visible()
    read.locator("#find").fill("checkpoint 1")
    read.get_by_role("button", name="Find").click()
    expect(read.locator("#fitting")).to_contain_text("checkpoint 1")
    read.locator("#coverage, #cuts").first.locator("summary").first.click()
