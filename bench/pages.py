"""What pages cost a browser: `python -m bench.pages`, in headless Chromium with an empty cache.

Every page of a job with 150 million determinants and 5 million buffers: when it can be used, when its picture stands
there, its bytes, its longest task. And how the space-time diagram of 5 million buffers moves, beside as many arrows in
a plain SVG, and beside more of them. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from bench.pages_jobs import KILLED, KILLED_AT_MS, Jobs, made, serving
from bench.pages_visits import TIMING, TIMING_SVG, Visitor, of_frames, of_looks, visiting

GOALS = {
    "median_ms": 17.0,
    "p95_ms": 33.0,
    "first_picture_ms": 1_000.0,
    "interactive_ms": 1_500.0,
    "kb": 600.0,
    "longest_task_ms": 100.0,
}
DRAWN = "#picture[aria-busy=false] canvas"
WAYS = ("pan", "zoom")
# The marks that the page draws of the whole job, as the page places them.
ARROWS = """async () => {
  const { cornersOf, placeLanes, rowsOf, scaleOf } = await import("/static/js/layout/lanes.js");
  const scene = JSON.parse(document.getElementById("scene-data").textContent);
  const parameters = new URLSearchParams(location.search);
  parameters.set("from_us", 0);
  parameters.set("to_us", scene.durationUs);
  const answer = await (await fetch(`/api/v1${location.pathname.replace(/\\/$/, "")}?${parameters}`)).json();
  const { lanes, heightPx } = placeLanes(scene.lanes);
  const widthPx = document.getElementById("picture").clientWidth;
  const { x } = scaleOf({ from: 0, to: scene.durationUs }, widthPx);
  const corners = rowsOf(answer).map((one) => cornersOf(one, lanes, x)).map(({ x1, y1, x2, y2 }) => [x1, y1, x2, y2]);
  return { corners, size: { widthPx, heightPx } };
}"""
FAILURE_US = KILLED_AT_MS * 1000
# Page -> its address, and what stands there when it is whole.
PAGES = {
    "jobs": ("/", "#job-rows a"),
    "job": ("/jobs/{large}/", ".graph-svg .card"),
    "job, a task": ("/jobs/{large}/?task=sink.0", ".graph-svg .card"),
    "log": ("/jobs/{large}/logs/?task={killed}", "#rows tr"),
    "log, far in": ("/jobs/{large}/logs/?task={killed}&epoch=1&seq=100000", "#rows tr"),
    "causal path": ("/jobs/{large}/paths/?task={killed}", "#path"),
    "space-time": ("/jobs/{large}/spacetime/", DRAWN),
    "space-time, unfolded": ("/jobs/{large}/spacetime/?folded=-", DRAWN),
    "space-time, a failure": ("/jobs/{large}/spacetime/?from={from_us}&to={to_us}&select=failure:0", DRAWN),
    "recovery": ("/jobs/{large}/recovery/", "main h1"),
    "sql": ("/jobs/{large}/sql/?q=SELECT+kind,+sum(determinants)+FROM+counts+GROUP+BY+kind", "main table"),
    "evidence": ("/jobs/{large}/evidence/?of=event:12", "tr.chosen"),
    "replays": ("/jobs/{large}/replays/", "main h1"),
    "audit, not asked for": ("/jobs/{large}/audit/", "main h1"),
    "which two attempts": ("/compare/?job={large}", "#choose-title"),
    "recovery, as recorded": ("/jobs/{recorded}/recovery/", ".gantt-svg .bar"),
    "audit, as recorded": ("/jobs/{recorded}/audit/", "#verdict"),
    "replay, as recorded": ("/replays/{replay}/?step=500", "#strip canvas"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--determinants", type=int, default=150_000_000)
    parser.add_argument("--buffers", type=int, default=5_000_000)
    parser.add_argument("--tasks", type=int, default=20, help="of each of five vertices")
    parser.add_argument("--events", type=int, default=12_000, help="that the engine records")
    parser.add_argument("--rounds", type=int, default=5, help="visits to each page")
    parser.add_argument("--svg", type=int, nargs="*", default=[1_000, 2_000, 20_000], help="arrows in a plain SVG")
    parser.add_argument("--data", type=Path, help="keep what is made here, and use what is there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
        print(json.dumps(measured(asked.data or Path(folder), asked)))


def measured(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    jobs = _jobs(folder, asked)
    load = [round(os.getloadavg()[0], 1)]
    with serving(folder / "data") as server, visiting(server.address, server.link) as visitor:
        spacetime = moved(visitor, jobs, asked.svg)
        pages = looked_at(visitor, jobs, asked.rounds)
    told = {"spacetime": spacetime, "pages": pages}
    load.append(round(os.getloadavg()[0], 1))
    return {"cores": os.cpu_count(), "load": load, "rows": jobs.rows, **told, "goals": GOALS, "past_goal": past(told)}


def _jobs(folder: Path, asked: argparse.Namespace) -> Jobs:
    kept = folder / "jobs.json"
    if kept.exists():
        return Jobs(**json.loads(kept.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"determinants": asked.determinants, "buffers": asked.buffers}
    jobs = made(folder, folder / "data", tasks=asked.tasks, events=asked.events, **sizes)
    kept.write_text(json.dumps(dataclasses.asdict(jobs)))
    return jobs


def looked_at(visitor: Visitor, jobs: Jobs, rounds: int) -> dict[str, dict[str, float]]:
    """The first visit to each page is not counted: tables are opened once a process."""
    given = {"killed": KILLED, "from_us": FAILURE_US - 200_000, "to_us": FAILURE_US + 800_000}
    told = {}
    for name, (path, awaited) in PAGES.items():
        path = path.format(large=jobs.large, recorded=jobs.recorded, replay=jobs.replay, **given)
        first, *looks = [visitor.look(path, awaited) for _ in range(rounds + 1)]
        told[name] = {**of_looks(looks), "first_visit_ms": round(first.picture_ms)}
        print(json.dumps({"page": name, **told[name]}), flush=True)
    return told


def moved(visitor: Visitor, jobs: Jobs, sizes: list[int]) -> dict[str, Any]:
    """The picture of all tasks, panned and zoomed; then the arrows that it had in a plain SVG, and so many more."""
    path = f"/jobs/{jobs.large}/spacetime/"
    told: dict[str, Any] = {"first_picture_ms": {}}
    for name, query in {"folded": "", "unfolded": "?folded=-"}.items():
        with visitor.page() as (page, _):
            loaded = visitor.open(page, path + query, DRAWN)
            arrows = page.evaluate(ARROWS)
            told["first_picture_ms"][name] = round(loaded["pictureMs"])
            told[name] = {"marks": len(arrows["corners"]), **_frames(page)}
        _say(name, told[name])
        with visitor.page() as (page, _):
            told[f"{name}, as SVG"] = _svg(page, arrows, len(arrows["corners"]))
        _say(f"{name}, as SVG", told[f"{name}, as SVG"])
    for size in sizes:
        with visitor.page() as (page, _):
            told[f"SVG of {size:,}"] = _svg(page, arrows, size)
        _say(f"SVG of {size:,}", told[f"SVG of {size:,}"])
    return told


def _frames(page: Page) -> dict[str, Any]:
    page.evaluate("() => { window.longTasks.length = 0; }")
    told = {
        how: of_frames(page.evaluate("([how, timing]) => movedByWheel(how, timing)", [how, TIMING])) for how in WAYS
    }
    return {**told, "longest_task_ms": round(max((took for _, took in page.evaluate("window.longTasks")), default=0))}


def _svg(page: Page, arrows: dict[str, Any], size: int) -> dict[str, Any]:
    """So many of the arrows; where they are too few, again beside where they were."""
    page.goto("about:blank")
    corners = arrows["corners"]
    shifted = [
        [x1 + n // len(corners), y1, x2 + n // len(corners), y2]
        for n in range(size)
        for x1, y1, x2, y2 in [corners[n % len(corners)]]
    ]
    told = page.evaluate(
        "([corners, size, timing]) => plainSvg(corners, size, timing)", [shifted, arrows["size"], TIMING_SVG]
    )
    return {"marks": size, "draw_ms": round(told["drawMs"]), **{how: of_frames(told[how]) for how in WAYS}}


def _say(name: str, told: dict[str, Any]) -> None:
    print(json.dumps({"moved": name, **told}), flush=True)


def past(told: dict[str, Any]) -> list[str]:
    """What misses its goal."""
    found = []
    for name in ("folded", "unfolded"):
        for how in WAYS:
            found += _past(f"{name}, {how}", told["spacetime"][name][how], "median_ms", "p95_ms")
        found += _past(name, told["spacetime"][name], "longest_task_ms")
    found += _past("first picture", {"first_picture_ms": told["pages"]["space-time"]["picture_ms"]}, "first_picture_ms")
    for name, page in told["pages"].items():
        found += _past(name, page, "interactive_ms", "kb", "longest_task_ms")
    return found


def _past(what: str, numbers: dict[str, Any], *names: str) -> list[str]:
    return [f"{what}: {name} {numbers[name]}" for name in names if numbers[name] > GOALS[name]]


if __name__ == "__main__":
    main()
