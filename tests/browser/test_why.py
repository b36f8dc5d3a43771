"""Why did a recovery give a record twice? Asked by the pages alone, of three jobs in which it did for three reasons;
and the way from the upload to the place that proves it by nothing but keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.browser.site import Site
from tests.browser.starting import audited

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
SMALL = ("--seed", "7", "--events", "500", "--checkpoint-interval-ms", "200", "--rate-per-s", "1000")
LOST = ("--depth", "4", "--kill", "map-1.0@300+map-2.0@300", "--sharing-depth", "1", "--on-lost", "continue")
# How it was recorded; which failure did it, and the words that say why.
CASES = {
    "written-at-once": (("--kill", "sink.0@300"), "Failure 0 (sink.0, attempt 1)", "A plain sink gives to the outside"),
    "choices-lost": (
        (*LOST, "--sink", "transactional"),
        "Failure 1 (map-1.0, attempt 1)",
        "Choices of map-1.0 were lost",
    ),
    "never-logged": (
        ("--kill", "map-1.0@300", "--sharing-depth", "0", "--sink", "transactional"),
        "Failure 0 (map-1.0, attempt 1)",
        "Nothing is logged, so the new attempt chose anew",
    ),
}
MOST_TABS = 400


def recorded(site: Site, name: str) -> Path:
    return site.bundle(f"{name}.tar.zst", *SMALL, *CASES[name][0])


@pytest.mark.parametrize("name", CASES)
def test_from_the_list_of_jobs_to_the_recovery_that_gave_a_record_twice(site: Site, visit: Visit, name: str) -> None:
    _, which, why = CASES[name]
    job = site.job(recorded(site, name))
    page = visit().open(f"/jobs/{job}/")
    page.get_by_role("link", name="Audit", exact=True).click()
    audited(page)
    page.goto(f"{page.url.partition('/jobs/')[0]}/")
    page.locator(f"#{job}").get_by_role("link", name="at least once").click()
    expect(page.locator("#verdict")).to_contain_text("At least once")
    page.locator("#delivery").get_by_role("link", name="Which recovery did it, and why").click()
    claim = page.locator("#recovery-types tr", has_text=which)
    expect(claim).to_contain_text(why)
    claim.locator(".proofs a", has_text="event").nth(1).click()
    expect(page.locator("tr.chosen")).to_have_count(1)


def test_by_keys_alone_from_the_upload_to_the_buffer_that_proves_it(site: Site, visit: Visit) -> None:
    bundle = site.bundle("by-keys.tar.zst", "--seed", "8", *SMALL[2:], *CASES["never-logged"][0])
    page = visit().open("/")
    # Asked for on the way: a chooser that opens just when it is asked for may be the browser's own.
    with page.expect_file_chooser() as chooser:
        tab_to(page, page.get_by_role("button", name="Choose files"))
        page.keyboard.press("Enter")
    chooser.value.set_files(bundle)
    row = page.locator("#job-rows tr", has_text="by-keys")
    expect(row.locator('[data-status="ready"]')).to_be_visible(timeout=120_000)
    follow(page, row.get_by_role("link", name="by-keys"))
    follow(page, page.get_by_role("link", name="Audit", exact=True))
    follow(page, page.get_by_role("button", name="Audit this job"))
    expect(page.get_by_role("button", name="Audit again")).to_be_visible(timeout=300_000)
    expect(page.locator("#verdict")).to_contain_text("At least once")
    follow(page, page.locator("#processing .proofs a").first)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Buffer")
    named = page.get_by_role("heading", level=1).inner_text()
    follow(page, page.get_by_role("link", name="In space and time"))
    expect(page.locator("#selected-title")).to_contain_text("Buffer")
    assert named.split(",")[0].split()[1] in page.locator("#selected-title").inner_text()


def tab_to(page: Page, wanted: Locator) -> None:
    """By Tab, from where one is."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_TABS):
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{wanted} is not among {MOST_TABS} places that Tab leads to")


def follow(page: Page, wanted: Locator) -> None:
    tab_to(page, wanted)
    page.keyboard.press("Enter")
