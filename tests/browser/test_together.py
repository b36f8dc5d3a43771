"""A replay of several tasks: whose step it is, a lane for each, and one of them alone; by pointer and by keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of
from tests.browser.site import Site
from tests.browser.starting import start_replay

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
FIRST, SECOND = "map-1.0", "map-2.1"
RECORDING = (
    "--seed", "5", "--events", "6000", "--parallelism", "2", "--depth", "4", "--rate-per-s", "4000",
    "--kill", f"{FIRST}@900+{SECOND}@900",
)  # fmt: skip


@pytest.fixture(scope="module")
def joint(site: Site, browser: Browser, signed_in: Path) -> str:
    """The id of a finished replay of two tasks that failed in one blow."""
    context = browser.new_context(storage_state=signed_in)
    page = context.new_page()
    page.goto(f"{site.url}/jobs/{site.job(site.bundle('joint.tar', *RECORDING))}/")
    replay = start_replay(page)
    expect(page.locator("#verdict")).to_contain_text("identical", timeout=120_000)
    context.close()
    return replay


def of(page: Page, task: str) -> None:
    """The step that is shown is the task's, everywhere on the page."""
    expect(page.locator("#where strong")).to_have_text(task)
    expect(page.locator("#lanes tr[aria-current] th")).to_have_text(task)
    expect(page.locator("#now")).to_have_attribute("data-of", task)
    here = page.locator("#replay").get_attribute("data-step") or ""
    expect(page.locator("#around tr[aria-current] .of-task")).to_have_text(task)
    expect(page.locator("#around tr[aria-current] .seq")).to_have_text(f"{int(here):,}")
    state = page.locator("#lanes tr[aria-current] td").first.inner_text()
    expect(page.locator(".diagram .current")).to_have_text(state)


def here(page: Page) -> int:
    return int(page.locator("#replay").get_attribute("data-step") or 0)


def lane(page: Page, task: str) -> Locator:
    return page.locator(f'#lanes [data-lane="{task}"]')


def listed(page: Page) -> set[str]:
    return set(page.locator("#around .of-task").all_inner_texts())


def test_by_keys_alone_one_follows_a_task_and_looks_at_it_alone(visit: Visit, joint: str) -> None:
    page = visit().open(f"/replays/{joint}/?step=900")
    task = page.locator("#where strong").inner_text()
    other = SECOND if task == FIRST else FIRST
    of(page, task)
    page.locator("#strip").focus()
    page.keyboard.press("ArrowDown" if task == FIRST else "ArrowUp")
    of(page, other)
    page.keyboard.press("ArrowUp" if task == FIRST else "ArrowDown")
    of(page, task)
    page.keyboard.press("ArrowUp" if task == FIRST else "ArrowDown")  # there is no lane beyond
    start = here(page)
    for _ in range(12):
        page.keyboard.press("t")
    expect(page.locator("#where strong")).to_have_text(task)
    assert here(page) >= start + 12
    for _ in range(12):
        page.keyboard.press("T")
    expect(page.locator("#replay")).to_have_attribute("data-step", str(start))
    assert listed(page) == {task, other}
    page.keyboard.press("l")
    expect(page.locator("#around-title")).to_have_text(f"Steps of {task} around it")
    expect(page.get_by_label("of", exact=True)).to_have_value(task)
    assert listed(page) == {task}
    for _ in range(9):
        page.keyboard.press("n")
    of(page, task)
    assert here(page) >= start + 9
    for _ in range(9):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#replay")).to_have_attribute("data-step", str(start))
    expect(page).to_have_url(re.compile(rf"step={start}&task={re.escape(task)}"))
    page.locator("[data-window=steps]").focus()
    page.keyboard.press("End")
    expect(page.locator("#around tbody tr").last.locator(".of-task")).to_have_text(task)
    assert listed(page) == {task}
    page.keyboard.press("l")
    expect(page.locator("#around-title")).to_have_text("Steps around it")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys on this page")
    for said in ("next step of this task", "this task alone, or all again", "the task above or below"):
        expect(sheet).to_contain_text(said)


def test_by_pointer_lanes_tables_and_the_choice_lead_to_tasks(visit: Visit, joint: str) -> None:
    page = visit().open(f"/replays/{joint}/?step=900")
    for task in (SECOND, FIRST):
        lane(page, task).get_by_role("link", name=task, exact=True).click()
        of(page, task)
        lane(page, task).get_by_role("link", name=f"Last step of {task}").click()
        of(page, task)
        lane(page, task).get_by_role("link", name=f"Step of {task} before this one").click()
        of(page, task)
        lane(page, task).get_by_role("link", name=f"First step of {task}").click()
        of(page, task)
        first = here(page)
        lane(page, task).get_by_role("link", name=f"Next step of {task}").click()
        expect(page.locator("#replay")).not_to_have_attribute("data-step", str(first))
        of(page, task)
    canvas = page.locator("#strip canvas")
    box = canvas.bounding_box()
    assert box is not None
    for number, task in enumerate((FIRST, SECOND)):
        y = box["y"] + 10 + 15 * number + 6
        page.mouse.click(box["x"] + box["width"] * 0.6, y)
        of(page, task)
        expect(page.locator(".strip-tip")).to_have_text(f"step {here(page):,}, {task}")
        page.mouse.move(box["x"] + 10, y)
        expect(page.locator(".strip-tip")).to_have_text(f"{task} alone")
    page.mouse.click(box["x"] + 10, box["y"] + 16)
    expect(page.locator("#around-title")).to_have_text(f"Steps of {FIRST} around it")
    page.get_by_label("of", exact=True).select_option("")
    expect(page.locator("#around-title")).to_have_text("Steps around it")
    lane(page, SECOND).get_by_role("link", name=f"{SECOND} alone").click()
    expect(page.locator("#around-title")).to_have_text(f"Steps of {SECOND} around it")
    page.get_by_role("link", name="step", exact=True).click()
    of(page, SECOND)
    page.get_by_role("link", name="all tasks", exact=True).click()
    expect(page.locator("#around-title")).to_have_text("Steps around it")


def test_a_link_opens_the_same_task_and_back_leads_to_all_of_them(visit: Visit, joint: str) -> None:
    visitor = visit()
    page = visitor.open(f"/replays/{joint}/?step=900")
    page.keyboard.press("l")
    expect(page.locator("#around-title")).to_contain_text("Steps of")
    same = visitor.second_window()
    same.goto(page.url)
    expect(same.locator("#around-title")).to_contain_text("Steps of")
    for shown in ("#around-title", "#around tbody", "#lanes", "#where", ".diagram"):
        assert same.locator(shown).inner_text() == page.locator(shown).inner_text()
    page.go_back()
    expect(page.locator("#around-title")).to_have_text("Steps around it")
    expect(page.get_by_label("of", exact=True)).to_have_value("")
    page.go_forward()
    expect(page.locator("#around-title")).to_contain_text("Steps of")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read_by_everyone(visit: Visit, joint: str, viewport: object, scheme: str) -> None:
    visitor = visit(viewport=viewport, color_scheme=scheme)
    for address in (f"/replays/{joint}/?step=900", f"/replays/{joint}/?step=900&task={SECOND}"):
        page = visitor.open(address)
        expect(page.locator("#strip canvas")).to_be_visible()
        assert faults_of(page) == []


def test_it_is_whole_without_scripts(visit: Visit, joint: str) -> None:
    page = visit(java_script_enabled=False).open(f"/replays/{joint}/?step=900")
    page.get_by_label("of", exact=True).select_option(SECOND)
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#around-title")).to_have_text(f"Steps of {SECOND} around it")
    for _ in range(3):
        page.get_by_role("link", name="step", exact=True).click()
        expect(page.locator("#where strong")).to_have_text(SECOND)
        expect(page.locator("#around-title")).to_have_text(f"Steps of {SECOND} around it")
