// Long lists on the replay page: each holds the rows in sight and some more, however many there are and wherever one scrolls.
import { clampOffset, inSight, scaleOf, wantedRows } from "../layout/window.js";
import { once } from "../state/ranges.js";
import { notice } from "./frame.js";

const MOST_ROWS = 48;
const KEYS = { ArrowDown: ["row", 1], ArrowUp: ["row", -1], PageDown: ["page", 1], PageUp: ["page", -1], Home: ["all", -1], End: ["all", 1] };

/** `page` says where one is and gives rows: {step(), rows(name, {step, from, count})}. */
export function windows(page) {
  /** Makes windows of the lists that are none yet; called again when panels were put in the place of others. */
  function begin() {
    const places = [...document.querySelectorAll("[data-window]:not([data-begun])")];
    for (const place of places) place.dataset.begun = ""; // each row stands on one line from now on
    // Measured all at once, then made, then scrolled: each change between would have the page laid out again.
    const shapes = places.map(measured);
    const made = places.map((place, at) => windowOn(place, shapes[at], page));
    for (const open of made) open();
  }
  begin();
  return { begin };
}

/** As many rows are in sight as the server sent, so that a step costs no second answer. */
function measured(place) {
  const table = place.querySelector("table");
  const { rows } = table.tBodies[0];
  // The first and the last row share their border with nobody: they are half a pixel lower than all others.
  const rowPx = (rows[1] ?? rows[0])?.getBoundingClientRect().height || 28;
  const headPx = table.tHead?.getBoundingClientRect().height ?? 0;
  return { total: Number(place.dataset.total), rowPx, headPx, heightPx: rows.length * rowPx + headPx };
}

/** Returns what opens it where the server put it: what came are the rows around the step. */
function windowOn(place, shape, page) {
  const table = place.querySelector("table");
  const body = () => table.tBodies[0];
  const size = place.appendChild(Object.assign(document.createElement("div"), { className: "window-size" }));
  const { sizePx, scale } = scaleOf(shape);
  size.style.height = `${sizePx}px`;
  place.style.height = `${shape.heightPx}px`;
  place.dataset.ownKeys = "↑ ↓ PageUp PageDown Home End";
  place.dataset.placed = "";
  let held = { first: Number(place.dataset.first), end: Number(place.dataset.first) + body().rows.length };
  let offsetPx = 0;
  let topPx = 0; // where the scroll bar was put from here, or found

  function put() {
    table.style.transform = `translateY(${topPx - offsetPx + held.first * shape.rowPx}px)`;
    if (table.tHead) for (const cell of table.tHead.rows[0].cells) cell.style.transform = `translateY(${offsetPx - held.first * shape.rowPx}px)`;
  }

  function to(wantedPx) {
    offsetPx = clampOffset(wantedPx, shape);
    topPx = Math.round(offsetPx / scale);
    place.scrollTop = topPx;
    follow();
  }

  function follow() {
    put();
    const sight = inSight({ ...shape, offsetPx });
    if (sight.first < held.first || sight.end > held.end) fill().catch((fault) => notice(fault.message));
  }

  const fill = once(async () => {
    if (!place.isConnected) return;
    const wanted = wantedRows(inSight({ ...shape, offsetPx }), { total: shape.total, most: MOST_ROWS });
    const rows = await page.rows(place.dataset.window, { step: page.step(), from: wanted.first, count: wanted.end - wanted.first });
    if (!place.isConnected) return;
    const focused = body().contains(document.activeElement) ? document.activeElement.dataset.step : undefined;
    body().replaceWith(rows);
    held = { first: wanted.first, end: wanted.first + rows.rows.length };
    if (focused) (rows.querySelector(`a[data-step="${focused}"]`) ?? place).focus({ preventScroll: true });
    put();
    const sight = inSight({ ...shape, offsetPx });
    if (rows.rows.length && (sight.first < held.first || sight.end > held.end)) fill(); // once more, behind this time
  });

  place.addEventListener("scroll", () => {
    if (Math.abs(place.scrollTop - topPx) < 1) return undefined;
    topPx = place.scrollTop;
    offsetPx = clampOffset(place.scrollTop * scale, shape);
    return follow();
  });
  // Where a pixel of the scroll bar stands for many, the wheel still moves by those of the rows.
  place.addEventListener("wheel", (event) => {
    if (scale === 1 || !event.deltaY) return;
    event.preventDefault();
    to(offsetPx + (event.deltaMode === 1 ? event.deltaY * shape.rowPx : event.deltaY));
  }, { passive: false });
  place.addEventListener("keydown", (event) => {
    const [unit, by] = KEYS[event.key] ?? [];
    if (!unit || event.target !== place || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    to(offsetPx + by * { row: shape.rowPx, page: shape.heightPx - shape.headPx - shape.rowPx, all: Infinity }[unit]);
  });
  return () => to(held.first * shape.rowPx);
}
