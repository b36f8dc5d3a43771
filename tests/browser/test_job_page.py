"""A job's pages: selecting a task, logs by sequence number, the moment on a causal path, faults explained."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.site import KILLED, Site

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


def test_a_task_is_selected_everywhere_and_stays_in_the_address(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/")
    expect(page.locator("#task-title")).to_have_text(KILLED)
    page.locator('.graph-svg a.task[href*="source.1"]').click()
    expect(page.locator("#task-title")).to_have_text("source.1")
    expect(page).to_have_url(re.compile(r"task=source\.1"))
    expect(page.locator(".graph-svg .task.chosen .id")).to_have_text("source.1")
    page.keyboard.press(".")
    expect(page.locator("#task-title")).to_have_text(KILLED)
    page.go_back()
    expect(page.locator("#task-title")).to_have_text("source.1")
    page.reload()
    expect(page.locator("#task-title")).to_have_text("source.1")


LONG = "nightly pass-through of the branch with the longest name of all " + "WithoutAnyPlaceToBreak" * 5


@pytest.mark.parametrize("width", [1200, 1440, 1920])
def test_the_header_is_one_row_whatever_the_job_is_called(
    visit: Visit, site: Site, killed_job: str, width: int
) -> None:
    long = site.job(site.bundle(f"{LONG}.zip", "--seed", "36", "--events", "300", "--kill", f"{KILLED}@700"))
    for job, below in ((killed_job, ""), (long, ""), (long, "logs/"), (long, "spacetime/"), (long, "audit/failing/")):
        page = visit(viewport={"width": width, "height": 900}).open(f"/jobs/{job}/{below}")
        boxes = [box for one in page.locator(".header-in > *").all() if (box := one.bounding_box()) and box["width"]]
        assert all(box["height"] < 45 for box in boxes), (below, boxes)
        rights = [box["x"] + box["width"] for box in boxes]
        assert all(right <= after["x"] for right, after in zip(rights, boxes[1:], strict=False)), (below, boxes)
        assert rights[-1] <= width
    narrow = visit(viewport=NARROW)
    for page in (narrow.open(f"/jobs/{long}/{below}") for below in ("", "sharing/", "delete/", "replays/")):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"], page.url
    for viewport in (NARROW, WIDE):
        listed = visit(viewport=viewport).open("/").locator(".scroll:has(> .jobs)")
        assert listed.evaluate("(it) => it.scrollWidth <= it.clientWidth"), viewport
    about = visit().open(f"/jobs/{long}/").locator("#about-title").locator("xpath=ancestor::section")
    expect(about).to_contain_text(LONG)


def test_no_line_of_a_failure_goes_through_the_words_of_another(visit: Visit, site: Site) -> None:
    kills = ["--kill", f"{KILLED}@900", "--kill", "sink.0@1400"]
    job = site.job(site.bundle("killed-twice.zip", "--seed", "37", "--events", "4000", *kills))
    page = visit(viewport=NARROW).open(f"/jobs/{job}/")
    words = page.locator(".timeline-svg .failure text")
    expect(words).not_to_have_count(0)
    last_line = page.locator(".timeline-svg .failure-lines line").last.element_handle()
    after = "(text, line) => Boolean(line.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)"
    assert all(word.evaluate(after, last_line) for word in words.all())


def test_on_a_phone_the_task_stands_below_its_graph_and_tables_are_read_without_scrolling(
    visit: Visit, killed_job: str, faulty_job: str
) -> None:
    visitor = visit(viewport=NARROW)
    page = visitor.open(f"/jobs/{killed_job}/")
    tops = [page.locator(one).bounding_box() for one in ("#graph", "#task-panel", "#about-title")]
    assert [box["y"] for box in tops if box] == sorted(box["y"] for box in tops if box)
    for path, table in (
        (f"/jobs/{killed_job}/", ".scroll.epochs"),
        (f"/jobs/{killed_job}/logs/?task={KILLED}", ".scroll:has(> .determinants)"),
        (f"/jobs/{killed_job}/recovery/", ".scroll:has(> .terms)"),
        (f"/jobs/{faulty_job}/", ".scroll:has(> .rejects)"),
        (f"/compare/?job={killed_job}&other_job={faulty_job}", ".scroll:has(> .grid)"),
    ):
        shown = visitor.open(path).locator(table).first
        assert shown.evaluate("(it) => it.scrollWidth <= it.clientWidth"), path
    slider = visitor.open(f"/jobs/{killed_job}/paths/").locator(".slider")
    expect(slider).to_be_attached()
    page.evaluate("() => scrollTo(0, 900)")
    assert (slider.bounding_box() or {"y": 99})["y"] < 12


@pytest.mark.parametrize("below", ["", "recovery/", "paths/", "spacetime/"])
def test_menus_open_within_a_phone_and_close_by_escape(visit: Visit, killed_job: str, below: str) -> None:
    page = visit(viewport=NARROW).open(f"/jobs/{killed_job}/{below}")
    expect(page.locator("details.keep summary").first).to_be_visible()
    for menu in page.locator("details.keep, #who").all():
        menu.locator("summary").click()
        box = menu.locator(".menu").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"], (below, box)
        page.keyboard.press("Escape")
        expect(menu.locator(".menu")).to_be_hidden()
        expect(menu.locator("summary")).to_be_focused()


def test_vertices_open_and_close_by_keyboard(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/")
    handle = page.get_by_role("button", name="map-1, 2 tasks")
    expect(handle).to_have_attribute("aria-expanded", "true")
    handle.focus()
    page.keyboard.press("Enter")
    expect(handle).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".graph-svg .id", has_text="map-1.1")).to_have_count(0)


def test_the_graph_is_coloured_by_what_one_chooses(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/")
    choice, legend = page.get_by_label("colour"), page.locator("#graph-legend")
    expect(legend).to_contain_text("bytes logged")
    amounts = page.locator(".graph-svg .amount")
    expect(amounts).not_to_have_count(0)
    choice.focus()
    page.keyboard.press("End")
    expect(choice).to_have_value("recovering")
    expect(legend).to_contain_text("time failed and recovering")
    expect(amounts).to_have_count(1)
    failed = page.locator(f'.graph-svg a.task[href="?task={KILLED}"]')
    expect(failed).to_have_class(re.compile("level-4"))
    choice.select_option("held")
    expect(legend).to_contain_text(f"held of the log of {KILLED}")
    page.locator('.graph-svg a.task[href*="source.1"]').click()
    expect(legend).to_contain_text("held of the log of source.1")
    expect(page).to_have_url(re.compile("colour=held"))
    page.reload()
    expect(choice).to_have_value("held")
    expect(legend).to_contain_text("held of the log of source.1")
    choice.select_option("records")
    expect(legend).to_contain_text("records taken")
    expect(page.locator(".graph-svg .link title", has_text="records/s")).not_to_have_count(0)


def test_curves_are_of_whom_one_chooses(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/")
    choice, names = page.get_by_label("curves"), page.locator("#timeline .curve .label")
    expect(names.first).to_have_text("throughput at the sinks")
    expect(names.filter(has_text="latency at the sinks, p99, and p50 dashed")).to_have_count(1)
    choice.select_option("map-1")
    expect(names.first).to_have_text("throughput of map-1")
    expect(page.locator("#timeline .curve .line").first).to_have_attribute("d", re.compile(r"^M[\d.]+,[\d.]+[^a-zN]+$"))
    choice.select_option("task:")
    expect(names.first).to_have_text(f"throughput of {KILLED}")
    page.locator('.graph-svg a.task[href*="source.1"]').click()
    expect(names.first).to_have_text("throughput of source.1")
    page.reload()
    expect(choice).to_have_value("task:")
    expect(names.first).to_have_text("throughput of source.1")
    choice.select_option("")
    expect(names.first).to_have_text("throughput at the sinks")


def test_the_page_says_what_happened_in_sentences(visit: Visit, killed_job: str) -> None:
    page = visit(java_script_enabled=False).open(f"/jobs/{killed_job}/")
    summary = page.locator("#summary").inner_text()
    assert f"{KILLED} failed at 1.500 s" in summary
    assert "its standby took over" in summary
    assert "running again" in summary
    assert page.locator(".phases rect").count() >= 4
    assert page.locator("details tr", has_text="recovered").count() == 1


KEPT = {
    "timeline": ("/jobs/{job}/?task=sink.0", ".timeline-svg rect"),
    "graph": ("/jobs/{job}/?task=sink.0", ".graph-svg rect"),
    "gantt": ("/jobs/{job}/recovery/?failure=0", ".gantt-svg rect"),
    "spacetime": ("/jobs/{job}/spacetime/", "#picture[aria-busy=false]"),
    "hops": ("/jobs/{job}/paths/?task=map-1.0", "#hops .bar"),
    "depths": ("/jobs/{job}/paths/?task=map-1.0", "#depths .bar"),
}


@pytest.mark.parametrize("picture", KEPT)
def test_a_picture_is_kept_with_what_it_shows_and_the_link_to_it(
    visit: Visit, killed_job: str, tmp_path: Path, picture: str
) -> None:
    address, drawn = (one.format(job=killed_job) for one in KEPT[picture])
    visitor = visit()
    page = visitor.open(address)
    expect(page.locator(drawn).first).to_be_attached()
    kept = {}
    for kind in ("SVG", "PNG"):
        menu = page.locator(f"details.keep[data-of={picture}]")
        menu.locator("summary").focus()
        page.keyboard.press("Enter")
        with page.expect_download() as waited:
            menu.get_by_role("button", name=f"As {kind}").click()
        kept[kind] = tmp_path / f"kept.{kind.lower()}"
        waited.value.save_as(kept[kind])
        assert waited.value.suggested_filename == f"{killed_job}-{picture}.{kind.lower()}"
    told = "".join(ElementTree.parse(kept["SVG"]).getroot().itertext())
    assert address in told and KILLED in told and "base64" in told
    legend = page.locator(f"details.keep[data-of={picture}]").get_attribute("data-legend")
    assert bool(legend) == (picture != "spacetime")
    if legend:
        words = page.locator(f"#{legend}").inner_text().split()
        assert words and all(word in told for word in words), told
    # What it looks like without the page's style: in colours, and nothing that waits for a style.
    source = kept["SVG"].read_text("utf-8")
    assert "class=" not in source and "style=" not in source
    if picture == "spacetime":
        assert 'href="data:image/png' in source
    else:
        assert "paint-order=" in source and len(set(re.findall(r'fill="(rgb[^"]+)"', source))) > 2
    head = kept["PNG"].read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:24])
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and width > 800 and height > 150
    data = page.locator(f"details.keep[data-of={picture}] a").get_attribute("href")
    answer = page.request.get(f"{visitor.site.url}{data}")
    assert answer.ok and len(answer.text().splitlines()) > 1


def test_what_could_not_be_read_is_explained(visit: Visit, faulty_job: str) -> None:
    page = visit().open(f"/jobs/{faulty_job}/")
    reject = page.locator("section", has=page.locator("#rejects-title"))
    expect(reject).to_contain_text(re.compile(r"tasks/map-1\.0/0/main/\d+\.det"))
    expect(reject).to_contain_text("99")


def test_a_log_is_paged_by_sequence_number(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/logs/?task={KILLED}")
    first = page.locator("#rows tr").first
    expect(first).to_have_attribute("id", "seq-0")
    for key, row in (("n", "seq-100"), ("N", "seq-0")):
        page.keyboard.press(key)
        expect(page.locator("#rows tr").first).to_have_attribute("id", row)
        page.wait_for_load_state("load")  # before, nobody listens for keys
    page.keyboard.press("g")
    page.keyboard.type("250")
    page.keyboard.press("Enter")
    expect(page.locator("#seq-250")).to_have_attribute("aria-current", "true")
    page.get_by_label("Kind").select_option("order")
    page.wait_for_url("**kind=order**")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("link", name="Copy as hex").click()
    expect(page.locator(".toast")).to_contain_text("determinants copied")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0] == page.locator("#rows .hex").first.inner_text().replace(" ", "")
    assert set(page.locator("#rows .kind .visually-hidden").all_inner_texts()) == {"order"}


def test_a_phone_shows_a_log_from_its_head_on_or_the_row_that_is_asked_for(visit: Visit, killed_job: str) -> None:
    visitor = visit(viewport=NARROW)
    page = visitor.open(f"/jobs/{killed_job}/logs/?task={KILLED}")
    expect(page.locator(".scripted .ways [aria-current]")).to_be_in_viewport()
    assert page.evaluate("() => window.scrollY") == 0
    expect(visitor.open(f"/jobs/{killed_job}/logs/?task={KILLED}&seq=30").locator("#seq-30")).to_be_in_viewport()


def test_bytes_beside_a_determinant_are_those_that_encode_it(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/logs/?task={KILLED}&kind=timestamp")
    row = page.locator("#rows tr").first
    value = int(row.locator("th").inner_text())
    assert row.locator(".hex").inner_text().replace(" ", "") == "01" + value.to_bytes(8, "big").hex()


def test_the_moment_moves_what_was_held(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/paths/?task={KILLED}")
    held = page.locator("tr[data-holder] [data-held]")
    at_the_end = held.all_inner_texts()
    slider = page.get_by_role("slider", name="At")
    slider.focus()
    page.keyboard.press("Home")
    expect(held).to_have_text(["0 B"] * len(at_the_end))
    expect(page).to_have_url(re.compile(r"t=\d+"))
    page.locator("h1").click()
    page.keyboard.press(".")
    expect(held.filter(has_not_text=re.compile(r"^\s*0 B\s*$"))).not_to_have_count(0)
    slider.focus()
    page.keyboard.press("End")
    expect(held).to_have_text(at_the_end)


def test_a_holder_can_be_chosen_and_tells_how_the_log_came(visit: Visit, killed_job: str) -> None:
    page = visit().open(f"/jobs/{killed_job}/paths/?task={KILLED}")
    page.locator("tr[data-holder] a").last.click()
    chosen = page.locator("tr[data-holder][aria-current] a").inner_text()
    expect(page.locator("#arrivals-title")).to_have_text(f"How it got to {chosen}")
    assert page.locator(".arrivals tbody tr").count() > 0
    assert f"{KILLED}>{chosen}" in page.locator(".arrivals tbody tr").first.inner_text()


@pytest.mark.parametrize("scripts", [True, False])
def test_what_sharing_cost_is_told_by_hop_and_by_depth(visit: Visit, killed_job: str, scripts: bool) -> None:
    page = visit(java_script_enabled=scripts).open(f"/jobs/{killed_job}/paths/?task={KILLED}")
    if not scripts:
        page.get_by_role("link", name="Work out what sharing it cost").click()
    depths = page.locator("#sharing .depths tbody tr")
    expect(depths.filter(has_text="recorded")).to_contain_text("full")
    expect(depths.first).to_contain_text("not all")
    expect(depths.last).to_contain_text("all")
    hops = page.get_by_role("region", name="Bytes by hop").locator("tbody tr")
    assert [row.split()[0] for row in hops.all_inner_texts()] == [str(n + 1) for n in range(hops.count())]
    expect(page.locator("#sharing")).to_contain_text("for its failure")
