"""A hunt from its box on the job's page to its panel on the replay's: found lines, with their steps, in every look."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of
from tests.browser.site import Site
from tests.browser.starting import start_replay
from tests.replay.debugger.hunting.planting import PLANTED, marked, recorded, shop

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shop(tmp_path_factory.mktemp("packages")) as folder:
        yield folder


@pytest.fixture(scope="module")
def site(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of its own, on which the sample package is installed."""
    site = Site(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(packages), os.environ.get("PYTHONPATH")])))
        site.start()
        yield site
        site.stop()


def job_of(site: Site, operator: str) -> str:
    path = site.folder / f"{operator}.tar"
    if not path.exists():
        for name, data in recorded(f"{PLANTED}:{operator}").members.items():
            file = site.folder / operator / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        with tarfile.open(path, "w") as archive:
            archive.add(site.folder / operator, ".")
    return site.job(path)


def start_hunt(page: Page) -> str:
    """From the job's page to the replay's; its address."""
    page.get_by_label("Hunt for unlogged choices").check()
    return start_replay(page)


@pytest.fixture(scope="module")
def hunted(site: Site, browser, signed_in: Path) -> str:
    """The id of a finished hunt of an operator that reads the clock."""
    context = browser.new_context(storage_state=signed_in, viewport=WIDE)
    page = context.new_page()
    page.goto(f"{site.url}/jobs/{job_of(site, 'Clock')}/")
    found = start_hunt(page)
    page.locator("#hunt .found").first.wait_for(timeout=120_000)
    context.close()
    return found


def test_a_hunt_is_started_by_its_box_and_its_panel_comes_by_itself(visit: Visit, site: Site) -> None:
    page = visit().open(f"/jobs/{job_of(site, 'Innocent')}/")
    start_hunt(page)
    expect(page.locator("#hunt")).to_contain_text("Nothing found", timeout=120_000)
    expect(page.locator("#hunt")).to_contain_text("reads nothing past its log, and nothing moves what it gives")
    expect(page.locator("#verdict")).to_contain_text("identical")


def test_lines_stand_there_with_source_count_and_step(visit: Visit, packages: Path, hunted: str) -> None:
    page = visit().open(f"/replays/{hunted}/?step=0")
    ((file, line, _),) = marked(packages, "Clock")
    heard, moved = page.locator("#hunt .found tbody tr").all()
    for row in (heard, moved):
        expect(row.get_by_role("rowheader")).to_contain_text(f"{file}:{line}")
        expect(row.locator(".source-line")).to_contain_text("return time.time()")
    expect(heard).to_contain_text("time.time")
    expect(moved.locator(".gave mark")).to_have_count(2)
    heard.get_by_role("link", name="step").click()
    expect(page.locator("#now")).to_contain_text("Processes record 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_panel_can_be_read_in_every_look(visit: Visit, hunted: str, scheme: str, size) -> None:
    page = visit(color_scheme=scheme, viewport=size).open(f"/replays/{hunted}/?step=0")
    page.locator("#hunt details summary").click()
    expect(page.locator("#hunt .tried")).to_be_visible()
    assert faults_of(page) == []


def test_a_replay_that_is_no_hunt_has_no_panel(visit: Visit, site: Site) -> None:
    page = visit().open(f"/jobs/{job_of(site, 'Innocent')}/")
    start_replay(page)
    expect(page.locator("#verdict")).to_contain_text("identical", timeout=120_000)
    expect(page.locator("#hunt")).to_have_count(0)
