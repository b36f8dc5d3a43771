"""Stepping: by key, button, strip and address; the address holds the step, back and forward lead where one jumped."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of
from tests.browser.site import Site

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


def _at(page: Page, step: int) -> None:
    expect(page.locator("#now")).to_have_attribute("data-shown", str(step))
    expect(page.locator("#around tr[aria-current] .seq")).to_have_text(f"{step:,}")
    expect(page).to_have_url(re.compile(rf"[?&]step={step}(&|$)"))


def test_keys_step_and_the_address_follows(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=100")
    page.keyboard.press("n")
    _at(page, 101)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("N")
    _at(page, 99)
    page.keyboard.press("PageDown")
    _at(page, 199)
    first = int(page.locator(".diagram .current").get_attribute("data-first") or -1)
    page.get_by_label("Enclosing").select_option("state")
    page.locator("#strip").focus()
    page.keyboard.press("U")
    _at(page, first)


def test_stepping_fast_ends_where_the_last_key_led(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=300")
    for _ in range(60):
        page.keyboard.press("n")
    _at(page, 360)
    sentence = page.locator("#sentence-text").inner_text()
    assert page.locator("#around tr[aria-current] th").inner_text() == sentence


def test_back_and_forward_of_the_browser_lead_to_where_one_jumped(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=50")
    page.keyboard.press("n")
    _at(page, 51)
    page.keyboard.press("g")
    page.keyboard.type("1,000")
    page.keyboard.press("Enter")
    _at(page, 1000)
    page.keyboard.press("Home")
    page.wait_for_url("**/?step=0")
    page.go_back()
    _at(page, 1000)
    page.go_back()
    _at(page, 51)
    page.go_forward()
    _at(page, 1000)


def test_a_relative_step_and_a_senseless_one(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=40")
    field = page.get_by_label("Go to step")
    field.fill("+10")
    field.press("Enter")
    _at(page, 50)
    field.fill("ten")
    field.press("Enter")
    expect(page.locator(".toast")).to_contain_text("column 1: 'ten' is no field of a step")
    _at(page, 50)


def test_the_strip_moves_by_pointer_and_shows_where_one_is(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    last = int(page.locator("#replay").get_attribute("data-last") or 0)
    strip = page.get_by_role("slider", name="Step")
    box = strip.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.55, box["y"] + 30)
    expect(strip).not_to_have_attribute("aria-valuenow", "0")
    step = int(strip.get_attribute("aria-valuenow") or 0)
    assert 0.4 * last < step < 0.6 * last
    _at(page, step)


def test_causes_can_be_followed_back_and_forth(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=200")
    cause = page.locator("#why").get_attribute("data-cause")
    assert cause
    page.keyboard.press("[")
    _at(page, int(cause))
    expect(page.locator("#why")).to_have_attribute("data-effect", re.compile(r"\d+"))
    page.keyboard.press("]")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", cause)


def test_the_next_step_of_the_same_kind(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    page.locator("main table a[data-step]", has_text="step").first.wait_for()
    row = page.locator("tr", has=page.get_by_text("hold-back", exact=True)).first
    row.get_by_role("link").click()
    expect(page.locator("#where")).to_contain_text("hold-back")
    first = int(page.locator("#now").get_attribute("data-shown") or 0)
    page.keyboard.press(".")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", str(first))
    expect(page.locator("#where")).to_contain_text("hold-back")
    page.keyboard.press(",")
    _at(page, first)


def test_state_is_shown_with_before_and_after_and_can_be_narrowed(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    page.locator("tr", has=page.get_by_text("deliver-record", exact=True)).first.get_by_role("link").click()
    changed = page.locator(".state-rows tr[aria-current]", has_text="records")
    before, after = changed.locator(".before").inner_text(), changed.locator(".after").inner_text()
    assert int(after) == int(before) + 1
    page.get_by_label("Keys that begin with").fill("by_")
    expect(page.locator(".state-rows tbody tr", has_text="records")).to_have_count(0)
    expect(page).to_have_url(re.compile("prefix=by_"))
    expect(page.get_by_label("Keys that begin with")).to_be_focused()


def test_the_keys_of_a_state_are_paged_and_stay_while_one_steps(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=900")
    first = set(page.locator(".state-rows th[scope=row]").all_inner_texts())
    page.get_by_role("link", name="More keys").click()
    expect(page).to_have_url(re.compile(r"step=900&keys=\w+"))
    expect(page.get_by_role("link", name="First keys")).to_be_visible()
    behind = page.locator(".state-rows th[scope=row]").all_inner_texts()
    assert behind == sorted(behind) and set(behind) - first
    page.keyboard.press("n")
    expect(page.locator("#now")).to_have_attribute("data-shown", "901")
    expect(page.locator(".state-rows th[scope=row]")).to_have_text(behind)
    page.go_back()
    expect(page.get_by_role("link", name="First keys")).to_have_count(0)
    assert set(page.locator(".state-rows th[scope=row]").all_inner_texts()) == first


def test_a_buffer_that_is_being_filled_says_how_far_it_is(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=900")
    page.locator("tr", has=page.get_by_text("write-record", exact=True)).first.get_by_role("link").click()
    filling = page.locator(".ledger tr", has_text="filling")
    expect(filling).not_to_have_count(0)
    for row in filling.all():  # one for each output that a record was written to
        written, whole = (
            int(number.replace(",", "")) for number in row.locator(".number").nth(1).inner_text().split(" of ")
        )
        assert 0 < written <= whole


def test_a_link_past_the_end_opens_the_last_step(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=99999999")
    last = page.locator("#replay").get_attribute("data-last")
    expect(page.locator("#now")).to_have_attribute("data-shown", last or "")
    page.wait_for_load_state("networkidle")  # panels that came later once took the sentence away
    expect(page.locator("#past-the-end")).to_have_text(
        f"This replay has no step 99,999,999: its last one is step {int(last or 0):,}."
    )
    page.keyboard.press("Shift+N")
    expect(page.locator("#past-the-end")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.type("99,999,999")
    page.keyboard.press("Enter")
    expect(page.locator("#now")).to_have_attribute("data-shown", last or "")
    expect(page.locator(".toast")).to_have_text(
        f"This replay has no step 99,999,999: its last one is step {int(last or 0):,}."
    )


def test_what_came_with_the_page_stands_until_its_steps_come(visit: Visit, replay: str) -> None:
    visitor = visit()
    page = visitor.page
    page.clock.install()
    # Neither is ever answered: panels of a step bring its sentence too.
    page.route(re.compile(r"/steps\?|part=panels"), lambda _: None)
    visitor.open(f"/replays/{replay}/?step=7")
    sent = page.locator("#sentence-text").inner_text(), page.locator("#where").inner_text()
    page.clock.fast_forward(60_000)
    assert (page.locator("#sentence-text").inner_text(), page.locator("#where").inner_text()) == sent
    page.keyboard.press("n")
    page.clock.fast_forward(60_000)
    expect(page.locator("#sentence-text")).to_have_text("Step 8 has not come yet.")


def test_the_buttons_are_links_that_work_without_scripts(visit: Visit, replay: str) -> None:
    page = visit(java_script_enabled=False).open(f"/replays/{replay}/?step=7")
    page.get_by_role("link", name="step", exact=True).click()
    assert page.url.endswith("?step=8")
    page.get_by_role("link", name="Step back").click()
    assert page.url.endswith("?step=7")
    page.get_by_role("link", name="Last step").click()
    assert "is identical" in page.locator("#sentence").inner_text()
    assert page.locator("#verdict").inner_text().strip() == "identical"


def test_on_a_phone_the_steps_are_under_the_thumb(visit: Visit, replay: str) -> None:
    page = visit(viewport=NARROW, has_touch=True).open(f"/replays/{replay}/?step=10")
    page.get_by_role("link", name="step", exact=True).tap()
    _at(page, 11)
    box = page.locator(".steering").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] > NARROW["height"] - 2


def test_a_divergence_is_drawn_with_where_and_what_on_either_side(site: Site, visit: Visit) -> None:
    page = visit().open(f"/jobs/{site.job(site.flipped_bundle())}/")
    page.get_by_role("button", name="Start the replay").click()
    expect(page.locator("#verdict")).to_contain_text("diverged", timeout=120_000)
    told = page.locator("#divergence")
    expect(told).to_contain_text("tasks/map-1.0/0/sent-0/")
    expect(told).to_contain_text("The recording is damaged")
    marked = told.locator(".side p:last-child mark").all_inner_texts()
    assert len(marked) == 2
    assert (int(marked[0], 16) ^ int(marked[1], 16)).bit_count() == 1
    told.locator("#diverged-at").click()
    expect(page.locator("#where")).to_contain_text("diverge")
    assert faults_of(page) == []


def test_a_page_outlives_the_server_and_goes_on_when_it_is_back(visit: Visit, replay: str) -> None:
    visitor = visit()
    visitor.expects("net::ERR_FAILED|WebSocket")
    page = visitor.open(f"/replays/{replay}/?step=400")
    _at(page, 400)
    away = re.compile(rf"/(api|replays)/.*{replay}")
    page.route(away, lambda route: route.abort())
    for _ in range(4):
        page.keyboard.press("PageDown")
    expect(page.locator("#replay")).to_have_attribute("data-step", "800")
    notice = page.locator("#notices .notice", has_text="The server does not answer.")
    expect(notice).to_have_count(1)
    page.keyboard.press("End")
    last = int(page.locator("#replay").get_attribute("data-last") or -1)
    expect(page.locator("#sentence-text")).to_have_text(f"Step {last:,} has not come yet.")
    expect(page.locator("#replay")).to_have_attribute("data-behind", "")
    expect(page.locator(".diagram .current")).to_have_count(0)
    page.locator("#find").fill("kind = snapshot")
    expect(page.locator("#find-said")).to_contain_text("The server does not answer.")
    page.locator("#strip").focus()
    page.keyboard.press("m")
    page.keyboard.type("kept for later")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#note-said")).to_contain_text("The server does not answer.")
    expect(page.locator("#note-form textarea")).to_have_value("kept for later")
    page.keyboard.press("Escape")
    expect(notice).to_have_count(1)
    page.unroute(away)
    page.keyboard.press("N")
    _at(page, last - 1)
    expect(notice).to_have_count(0)
    expect(page.locator("#replay")).not_to_have_attribute("data-behind", "")
    expect(page.locator("#find-said")).to_have_text("1 hit")


def test_the_same_kind_is_walked_over_as_fast_as_its_key_comes(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    kind = page.locator("#where span").first.inner_text()
    answer = page.request.get(f"{page.url.split('/replays')[0]}/api/v1/replays/{replay}/steps?from=700&to=1500").json()
    same = [row["step"] for row in answer["steps"] if row["kind"] == kind]
    _at(page, 700)
    page.wait_for_load_state("networkidle")
    for _ in range(20):
        page.keyboard.press(".")
    _at(page, same[20])
    for _ in range(20):
        page.keyboard.press(",")
    _at(page, 700)
    assert page.title().startswith("Step 700, ")


def test_a_page_that_saw_the_end_can_do_what_one_opened_then_can_and_says_once_that_it_is_gone(
    visit: Visit, killed_job: str
) -> None:
    visitor = visit()
    visitor.expects("404|410|WebSocket")
    page = visitor.open(f"/jobs/{killed_job}/")
    page.get_by_role("button", name="Start the replay").click()
    expect(page.locator("#verdict")).to_contain_text("identical", timeout=120_000)
    expect(page.locator("#here")).to_have_text("map-1.0 after failure 0")
    other = visitor.second_window()
    other.goto(page.url)
    expect(other.locator("#strip canvas")).to_be_visible()
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#notices")).to_contain_text("The replay has been deleted.")
    gone = other.locator("#notices .notice")
    expect(gone).to_have_text(re.compile("^This replay was deleted"))
    for key in ("End", "w", "c", "n"):
        other.keyboard.press(key)
        other.wait_for_load_state("networkidle")
    expect(gone).to_have_count(1)
