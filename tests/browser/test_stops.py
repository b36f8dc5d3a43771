"""Moving over a replay and stopping in it: search, over and out, breakpoints; by pointer, by keys, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of
from tests.browser.test_replay_page import _at

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
HELD = "kind = hold-back"


@pytest.fixture
def clean(visit: Visit, replay: str) -> Iterator[None]:
    """Breakpoints are kept with the replay, which the tests share."""
    yield
    page = visit().open(f"/replays/{replay}/?step=0")
    while (deleting := page.get_by_role("button", name="Delete the breakpoint")).count():
        before = deleting.count()
        deleting.first.click()
        expect(deleting).to_have_count(before - 1)


def steps_where(page: Page, replay: str, where: str) -> list[int]:
    """All steps of these kinds, read page by page as a program reads them."""
    found: list[int] = []
    first, written = 0, 1
    while first < written:
        answer = page.request.get(f"{page.url.split('/replays')[0]}/api/v1/replays/{replay}/steps?from={first}").json()
        found += [row["step"] for row in answer["steps"] if row["kind"] == where]
        first, written = first + 1000, answer["written"]
    return found


def kept(page: Page, search: str) -> Locator:
    return page.locator(
        "#stops [data-breakpoint]", has=page.locator("code", has_text=re.compile(f"^{re.escape(search)}$"))
    )


def keep(page: Page, search: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(search)
    page.keyboard.press("Control+Enter")
    expect(kept(page, search)).to_have_count(1)
    page.locator("#strip").focus()


def test_continue_stops_at_each_hit_forwards_and_backwards(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    hits = steps_where(page, replay, "hold-back")
    keep(page, HELD)
    expect(kept(page, HELD).locator("[data-hits]")).to_have_text(f"{len(hits)} hits")
    expect(page.locator("#to-stops")).to_have_text("1 breakpoint")
    page.keyboard.press("c")
    _at(page, hits[0])
    expect(kept(page, HELD)).to_have_attribute("data-stopped", "")
    page.get_by_role("link", name="Continue", exact=True).click()
    _at(page, hits[1])
    page.keyboard.press("C")
    _at(page, hits[0])
    page.keyboard.press("C")
    expect(page.locator(".toast")).to_contain_text("No breakpoint hits before this step.")
    page.go_back()
    _at(page, hits[1])


def test_breakpoints_are_switched_and_deleted_by_keyboard_alone(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    keep(page, HELD)
    keep(page, "enters Replaying")
    switch = page.get_by_role("switch", name=f"Stop where {HELD}")
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator("#sentence-text")).to_contain_text("begins to replay")
    replaying = int(page.locator("#now").get_attribute("data-shown") or 0)
    page.keyboard.press("c")
    expect(page.locator(".toast")).to_contain_text("No breakpoint hits behind this step.")
    page.reload()
    expect(switch).not_to_be_checked()
    page.get_by_role("button", name="Delete the breakpoint enters Replaying").focus()
    page.keyboard.press("Enter")
    expect(kept(page, "enters Replaying")).to_have_count(0)
    page.locator("#strip").focus()
    page.keyboard.press("c")
    expect(page.locator(".toast")).to_contain_text("No breakpoint is enabled.")
    _at(page, replaying)


def test_a_breakpoint_at_steps_like_this_one(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    taken = steps_where(page, replay, "take-buffer")
    page.goto(f"{page.url.split('?')[0]}?step={taken[3]}")
    _at(page, taken[3])
    page.keyboard.press("b")
    expect(page.locator("#stops code")).to_have_text(
        re.compile(r'^kind = take-buffer and channel = "source\.\d>map-1\.0"$')
    )
    page.keyboard.press("b")
    expect(page.locator(".toast")).to_contain_text("There is such a breakpoint")
    assert page.locator("#stops code").count() == 1


def test_search_moves_both_ways_tells_its_hits_and_stands_in_the_link(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    hits = steps_where(page, replay, "cut-buffer")
    behind, before = min(hit for hit in hits if hit > 700), max(hit for hit in hits if hit < 700)
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Search the steps")
    expect(field).to_be_focused()
    page.keyboard.type("kind = cut-buffer")
    expect(page.locator("#find-said")).to_have_text(f"{len(hits)} hits")
    page.keyboard.press("Enter")
    _at(page, behind)
    page.keyboard.press("Shift+Enter")
    _at(page, max(hit for hit in hits if hit < behind))
    assert before == max(hit for hit in hits if hit < behind)
    page.get_by_role("button", name="next", exact=True).click()
    _at(page, behind)
    expect(page).to_have_url(re.compile(r"find=kind"))
    second = visit().open(page.url.removeprefix(page.url.split("/replays")[0]))
    expect(second.locator("#find")).to_have_value("kind = cut-buffer")
    expect(second.locator("#find-said")).to_have_text(f"{len(hits)} hits")


def test_escape_leaves_the_search_so_that_the_keys_of_the_page_work_again(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    page.keyboard.press("/")
    page.keyboard.type(HELD)
    page.keyboard.press("Escape")
    expect(page.locator("#find")).not_to_be_focused()
    expect(page.locator("#find")).to_have_value(HELD)
    page.keyboard.press("n")
    _at(page, 1)


def test_a_search_that_cannot_be_read_says_where(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=7")
    page.get_by_role("searchbox", name="Search the steps").fill("kind = sent and knid = x")
    expect(page.locator("#find-said")).to_contain_text("column 17: 'knid' is no field of a step.")
    expect(page.locator("#find")).to_have_attribute("aria-invalid", "true")
    assert faults_of(page) == []
    page.get_by_role("searchbox", name="Search the steps").fill("divergence")
    expect(page.locator("#find-said")).to_have_text("0 hits")
    expect(page.locator("#find")).to_have_attribute("aria-invalid", "false")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("It hits nowhere behind this step.")
    _at(page, 7)


def test_over_and_out_of_what_encloses_a_step(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    records, buffers = steps_where(page, replay, "deliver-record"), steps_where(page, replay, "take-buffer")
    at = records[5] + 1
    page.goto(f"{page.url.split('?')[0]}?step={at}")
    _at(page, at)
    page.keyboard.press("u")
    _at(page, records[5])
    page.keyboard.press("o")
    _at(page, records[6])
    page.keyboard.press("O")
    _at(page, records[5])
    page.get_by_label("Enclosing").select_option("buffer")
    page.get_by_role("button", name="over", exact=True).click()
    _at(page, buffers[1])
    page.get_by_role("button", name="back over").click()
    _at(page, buffers[0])
    page.keyboard.press("n")
    page.locator("#strip").focus()
    page.keyboard.press("U")
    _at(page, buffers[0])
    page.get_by_label("Enclosing").select_option("state")
    page.get_by_role("button", name="out", exact=True).click()
    _at(page, int(page.locator(".diagram .current").get_attribute("data-first") or -1))


def test_going_to_a_time_an_epoch_a_record_and_a_state(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    for words, shown in (
        ("Replaying", "begins to replay"), ("epoch 1", "begins to load the state of checkpoint 1"),
        ("record 3", "Processes record 3 of the epoch"),
    ):  # fmt: skip
        page.keyboard.press("g")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        expect(page.locator("#sentence-text")).to_contain_text(shown)
    page.keyboard.press("g")
    page.keyboard.type("1.52 s")
    page.keyboard.press("Enter")
    expect(page.locator("#where")).to_contain_text(re.compile(r"at 1\.52\d s"))
    page.keyboard.press("g")
    page.keyboard.type("99 s")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Nothing happens at or after 99 s.")


def test_hits_on_the_strip_are_a_way_in(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    hits = steps_where(page, replay, "hold-back")
    keep(page, f"{HELD} hit 20")
    expect(kept(page, f"{HELD} hit 20").locator("[data-hits]")).to_have_text("1 hit")
    box = page.locator("#strip canvas").bounding_box()
    last = int(page.locator("#replay").get_attribute("data-last") or 0)
    assert box is not None
    x = box["x"] + 64 + (hits[19] + 0.5) / (last + 1) * (box["width"] - 70)
    page.mouse.click(x + 4, box["y"] + 69)
    _at(page, hits[19])


def test_all_of_it_works_without_scripts(visit: Visit, replay: str, clean: None) -> None:
    page = visit(java_script_enabled=False).open(f"/replays/{replay}/?step=0")
    hits = steps_where(page, replay, "hold-back")
    page.get_by_label("Another breakpoint").fill("knid = x")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.locator("#notices")).to_contain_text("column 1: 'knid' is no field of a step.")
    page.get_by_label("Another breakpoint").fill(HELD)
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(kept(page, HELD)).to_have_count(1)
    page.get_by_role("link", name="Continue", exact=True).click()
    assert page.url.endswith(f"?step={hits[0]}")
    page.get_by_role("searchbox", name="Search the steps").fill("kind = take-buffer")
    page.get_by_role("button", name="previous").click()
    assert f"step={max(s for s in steps_where(page, replay, 'take-buffer') if s < hits[0])}&" in page.url
    page.get_by_label("Enclosing").select_option("state")
    page.get_by_role("button", name="over", exact=True).click()
    assert "makes its own choices" in page.locator("#sentence-text").inner_text()
    page.get_by_role("switch").click()
    expect(page.get_by_role("switch")).not_to_be_checked()
    page.get_by_role("link", name="Continue", exact=True).click()
    expect(page.locator("#notices")).to_contain_text("No breakpoint is enabled.")
    page.get_by_role("button", name="Delete the breakpoint").click()
    expect(page.locator("#stops")).to_contain_text("Nothing to stop at")
    field = page.get_by_label("Go to step")
    field.fill("epoch 1")
    field.press("Enter")
    assert "step=0" in page.url
    expect(page.locator("#sentence")).to_contain_text("begins to load the state of checkpoint 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_breakpoints_can_be_read_by_everyone(visit: Visit, replay: str, clean: None, scheme: str) -> None:
    page = visit(color_scheme=scheme).open(f"/replays/{replay}/?step=300&find=sent")
    keep(page, HELD)
    keep(page, 'change(key starts with "by_key") from hit 5 every 100')
    page.get_by_role("switch", name=f"Stop where {HELD}").click()
    expect(page.get_by_role("switch", name=f"Stop where {HELD}")).not_to_be_checked()
    assert faults_of(page) == []
    page.set_viewport_size(NARROW)
    assert faults_of(page) == []
    bar = page.locator(".steering").bounding_box()
    reach = page.get_by_role("link", name="Continue", exact=True).bounding_box()
    assert bar is not None and reach is not None
    assert reach["x"] + reach["width"] <= NARROW["width"]
