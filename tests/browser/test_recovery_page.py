"""Recovery anatomy by mouse and keys: parts are told, what is selected and asked stands in the address."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.site import KILLED

pytestmark = pytest.mark.browser


def test_parts_and_sliders_answer_and_stand_in_the_address(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/")
    page.locator("#recovery-title").locator("..").get_by_role("link", name="anatomy").click()
    bars = page.locator(".gantt-svg .bar")
    expect(bars.first).to_be_visible()
    page.keyboard.press(".")
    expect(page.locator("#gantt-said")).to_contain_text(f"{KILLED}, 1 detection: until somebody noticed.")
    expect(page).to_have_url(re.compile(r"part-of="))
    page.keyboard.press("f")
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    zoomed = page.url
    page.keyboard.press("d")
    expect(page).not_to_have_url(zoomed)
    page.locator("#f-load").fill("0.8")
    expect(page).to_have_url(re.compile(r"load=0\.8"))
    expect(page.locator("#otherwise")).to_contain_text("A recovery would take")
    page.get_by_label("none: scheduled anew").check()
    expect(page.locator("#otherwise")).to_contain_text("equation 3.2")
    said = page.locator("#otherwise").inner_text()
    page.reload()
    expect(bars.first).to_be_visible()
    assert page.locator("#otherwise").inner_text() == said
    page.goto(f"{page.url.split('?')[0]}")
    bars.nth(1).dblclick()
    expect(page).to_have_url(re.compile(r"/evidence/\?of=event:\d+"))


def test_it_reads_without_script(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = visit(java_script_enabled=False).open(f"/jobs/{killed_job}/recovery/?load=0.5")
    expect(page.locator("#sentences")).to_contain_text(f"{KILLED} failed at")
    expect(page.locator("table.anatomy tbody tr")).to_have_count(1)
    expect(page.get_by_role("button", name="Work it out")).to_be_visible()
    expect(page.locator("#otherwise")).to_contain_text("A recovery would take")
