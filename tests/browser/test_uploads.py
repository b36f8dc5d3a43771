"""Uploads from the page: several at once, broken off and resumed, refused in one sentence."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import Visitor
from tests.browser.site import Site

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


def test_several_at_once_and_what_is_no_bundle_is_refused_in_one_sentence(
    site: Site, visit: Visit, tmp_path: Path
) -> None:
    visitor = visit()
    visitor.expects(r"status of 4\d\d")
    page = visitor.open("/")
    before = page.locator("#job-rows tr[id]").count()
    letter = tmp_path / "letter.zip"
    letter.write_text("Dear Sir or Madam")
    small = site.bundle("small-1.tar.gz", "--seed", "31", "--events", "300")
    other = site.bundle("small-2.zip", "--seed", "32", "--events", "300")
    page.locator("#bundles").set_input_files([letter, small, other])

    refused = page.locator(".upload.refused", has_text="letter.zip")
    expect(refused).to_be_visible()
    assert len(re.findall(r"\.(\s|$)", refused.locator(".text").inner_text())) <= 2
    for name in ("small-1", "small-2"):
        row = page.locator("#job-rows tr", has_text=name)
        expect(row.locator('[data-status="ready"]')).to_be_visible(timeout=120_000)
    assert page.locator("#job-rows tr[id]").count() == before + 2


def test_an_upload_that_breaks_off_goes_on(site: Site, visit: Visit) -> None:
    visitor = visit()
    visitor.expects("ERR_FAILED|ERR_CONNECTION|Failed to load")
    page = visitor.open("/")
    broken: list[str] = []

    def break_once(route: Route) -> None:
        if route.request.method == "PATCH" and not broken:
            broken.append(route.request.url)
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/api/v1/uploads/*", break_once)
    page.locator("#bundles").set_input_files([site.bundle("small-3.zip", "--seed", "33", "--events", "300")])
    expect(page.locator(".upload.accepted", has_text="small-3.zip")).to_be_visible(timeout=60_000)
    assert broken


def test_the_same_bundle_again_leads_to_the_job_that_is_there(site: Site, visit: Visit, killed_job: str) -> None:
    page = visit().open("/")
    page.locator("#bundles").set_input_files([site.killed_bundle()])
    card = page.locator(".upload.accepted")
    expect(card).to_contain_text("already here")
    expect(card.get_by_role("link")).to_have_attribute("href", f"/jobs/{killed_job}/")


def test_without_sockets_progress_comes_by_asking(site: Site, visit: Visit) -> None:
    visitor = visit()
    visitor.expects("WebSocket")
    page = visitor.page
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close())
    visitor.open("/")
    page.locator("#bundles").set_input_files([site.bundle("small-4.zip", "--seed", "34", "--events", "300")])
    row = page.locator("#job-rows tr", has_text="small-4")
    expect(row.locator('[data-status="ready"]')).to_be_visible(timeout=120_000)


def test_a_job_is_deleted_after_asking(site: Site, visit: Visit) -> None:
    job = site.job(site.bundle("small-5.zip", "--seed", "35", "--events", "300"))
    page = visit().open(f"/jobs/{job}/")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("link", name="Keep it").click()
    expect(page).to_have_url(re.compile(f"/jobs/{job}/$"))
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#notices")).to_contain_text("has been deleted")
    expect(page.locator(f"#{job}")).to_have_count(0)
