"""A replay that was made where the job's code is, added on the job's page of replays and looked at on its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of
from tests.browser.site import Site
from tests.clonoscope.jobs_on_site import PRICING, run_pricing
from tests.clonoscope.jobs_on_site import Site as JobSite

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> JobSite:
    site = JobSite(tmp_path_factory.mktemp("code"))
    site.write("pricing", PRICING)
    site.write("cheaper", PRICING.replace('"price": price', '"price": price - (key == "k4")'))
    bundle = site.record("orders", run_pricing)
    for app in ("pricing", "cheaper"):
        site.command("replay", bundle, "--app", f"{app}:process", "--out", f"{app}-steps.zip")
    (site.folder / "no-steps.zip").write_bytes(b"this is no zip")
    return site


@pytest.fixture(scope="module")
def job(site: Site, made: JobSite) -> str:
    return site.job(made.folder / "orders.zip")


def add(visitor: Visitor, job: str, path: Path) -> None:
    page = visitor.open(f"/jobs/{job}/replays/")
    page.get_by_label("File of steps").set_input_files(path)
    page.get_by_role("button", name="Add the replay").click()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_steps_are_added_and_stepped_through(visit: Visit, job: str, made: JobSite, size: dict[str, int]) -> None:
    visitor = visit(viewport=size)
    add(visitor, job, made.folder / "cheaper-steps.zip")
    page = visitor.page
    page.wait_for_url("**/replays/r_*/")  # until keys and links are the scripts'
    expect(page.locator("#verdict")).to_contain_text("made elsewhere")
    expect(page.locator("#verdict")).to_contain_text("diverged")
    expect(page.locator("#divergence")).to_contain_text("orders[0]@4")
    expect(page.locator("#divergence")).to_contain_text("this is its maker's word")
    expect(page.locator("#divergence")).not_to_contain_text("the smallest bundle")
    page.locator("#diverged-at").click()
    expect(page.locator("#sentence-text")).to_contain_text("Output 1 of epoch 1")
    expect(page.locator("#inputs")).to_contain_text("5 of 5 so far")
    expect(page.locator("#inputs li").last).to_contain_text("orders[0]@4")
    expect(page.locator("#outputs")).to_contain_text("4 of 4 so far")
    # The recorder's own function, and none of ours: it recovers in no states, and holds nothing back.
    expect(page.locator(".diagram")).to_have_count(0)
    page.locator("#outputs li a").first.click()
    expect(page.locator("#outputs")).to_contain_text("1 of 4 so far")
    expect(page.locator('#outputs li[aria-current="true"]')).to_contain_text('"k0"')
    page.locator("#diverged-at").click()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#sentence-text")).to_contain_text("the call uuid4 gave")
    expect(page.locator("#fork")).to_contain_text("Made elsewhere")
    assert faults_of(page) == []
    page.goto(f"{visitor.site.url}/jobs/{job}/replays/")
    expect(page.get_by_role("link", name="made elsewhere").first).to_be_visible()
    assert faults_of(page) == []


def test_what_is_refused_is_told_beside_the_form(visit: Visit, job: str, made: JobSite) -> None:
    visitor = visit()
    visitor.expects(r"status of 422")
    add(visitor, job, made.folder / "no-steps.zip")
    refused = visitor.page.get_by_role("alert")
    expect(refused).to_contain_text("this is no archive that is understood")
    expect(refused).to_contain_text("no-steps.zip")
    expect(visitor.page.get_by_role("button", name="Add the replay")).to_be_enabled()


def test_without_scripts_the_form_works_as_it_is(visit: Visit, job: str, made: JobSite) -> None:
    visitor = visit(java_script_enabled=False)
    add(visitor, job, made.folder / "pricing-steps.zip")
    expect(visitor.page.locator("#verdict")).to_contain_text("identical")
