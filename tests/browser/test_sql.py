"""Questions in SQL, asked in a browser by keyboard alone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser
QUESTION = "SELECT task, kind, sum(bytes) AS bytes FROM counts GROUP BY task, kind"


def test_a_question_is_asked_sorted_drawn_and_carried_by_its_link(
    visit: Callable[..., Visitor], killed_job: str
) -> None:
    visitor = visit()
    page = visitor.open(f"/jobs/{killed_job}/")
    page.get_by_role("link", name="SQL").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SQL")
    page.wait_for_load_state("load")  # before, nobody listens for keys
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Control+Enter")
    rows = page.locator(".sql-rows tbody tr")
    expect(rows.first).to_be_visible()
    page.get_by_role("link", name="bytes").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="bytes ↑").focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("bytes")
    sizes = [int(size) for size in page.locator(".sql-rows td:last-child").all_inner_texts()]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) > 3
    page.get_by_label("Draw").select_option("bars")
    expect(page.locator("#picture rect")).to_have_count(len(sizes))
    page.reload()
    expect(page.locator("#picture rect")).to_have_count(len(sizes))
    with page.expect_download() as download:
        page.get_by_role("button", name="csv").click()
    text = download.value.path().read_text()
    assert text.splitlines()[0] == '"task","kind","bytes"' and len(text.splitlines()) == len(sizes) + 1


def test_a_mistake_is_shown_and_the_question_stays(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/sql/?q=SELECT+nothing+FROM+counts")
    expect(page.locator("#refused")).to_contain_text('"nothing" not found')
    expect(page.get_by_label("SQL", exact=True)).to_have_value("SELECT nothing FROM counts")


def test_every_example_runs(visit: Callable[..., Visitor], killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/sql/")
    links = [one.get_attribute("href") for one in page.locator(".sql-examples a").all()]
    assert len(links) > 5
    for link in links:
        page.goto(f"{page.url.partition('?')[0]}{link}")
        expect(page.locator("#answer-title")).to_be_visible()
