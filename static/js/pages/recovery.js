// The recovery anatomy: the picture over the table, its parts by mouse and keys, and the sliders, which ask the server.
import { gantt, keyOf, titleOf } from "../charts/gantt.js";
import { panned, zoomed } from "../layout/gantt.js";
import { positionOf, valueAt } from "../layout/sliders.js";
import { getPart } from "../net/api.js";
import { addressWith, numberIn } from "../state/cursor.js";
import d3 from "../vendor/d3.js";
import { dataOf, onResize } from "./elements.js";
import { bindKeys, copyLink, notice } from "./frame.js";

const WAIT_MS = 120;
const place = document.getElementById("anatomy");
const picture = gantt().onPart(pick).onOpen(open).onSaid(say);
let group;
let whole;
let waiting;
let asking;

function begin() {
  group = dataOf("anatomy-data");
  if (group) {
    const endUs = Math.max(group.end_us, group.caught_up_us ?? 0);
    whole = [group.begun_us, Math.max(group.begun_us + 20, Math.ceil(endUs + (endUs - group.begun_us) * 0.03))];
    onResize([document.getElementById("gantt")], paint);
  }
  beginSliders();
}

function inSight() {
  const [from, to] = [numberIn(location.href, "from"), numberIn(location.href, "to")];
  return from !== undefined && to !== undefined && from < to ? zoomed([from, to], whole, 1) : whole;
}

function picked() {
  const params = new URL(location.href).searchParams;
  return params.has("part-of") ? params.get("part-of") : undefined;
}

function paint() {
  const under = document.getElementById("gantt");
  const focused = document.activeElement?.closest?.("#gantt [data-key]")?.getAttribute("data-key");
  picture.widthPx(under.clientWidth).span(inSight()).chosen(picked());
  d3.select(under).datum(group).call(picture);
  if (focused) under.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function say(text) {
  document.getElementById("gantt-said").textContent = text;
}

function pick(one) {
  history.replaceState(null, "", addressWith(location.href, { "part-of": keyOf(one) }));
  // Only its look changes: an element that was made anew would hear no second click.
  for (const bar of document.querySelectorAll("#gantt [data-key]")) bar.classList.toggle("picked", bar.getAttribute("data-key") === keyOf(one));
  say(titleOf(one, group));
  for (const row of document.querySelectorAll("[data-lane]")) row.toggleAttribute("aria-current", row.dataset.lane === one.lane);
}

/** What ends a part is an event, and the events of a lane are told in the order of its parts. */
function open(one) {
  const event = one.of.events[Object.keys(one.of.parts).indexOf(one.part) + 1];
  if (event !== undefined) location.href = `../evidence/?of=event:${event}`;
}

function allParts() {
  return group.lanes.flatMap((lane) => lane.spans.map((one) => ({ ...one, lane: lane.key, of: lane })));
}

function step(direction) {
  const parts = allParts();
  const at = parts.findIndex((one) => keyOf(one) === picked());
  const next = parts[at < 0 ? (direction > 0 ? 0 : parts.length - 1) : Math.min(Math.max(at + direction, 0), parts.length - 1)];
  if (next) pick(next);
}

function show([from, to]) {
  const all = from <= whole[0] && to >= whole[1];
  history.replaceState(null, "", addressWith(location.href, { from: all ? undefined : from, to: all ? undefined : to }));
  paint();
}

function centre() {
  const one = allParts().find((each) => keyOf(each) === picked());
  if (one) show(zoomed([one.from_us, Math.max(one.to_us, one.from_us + 20)], whole, 1.5));
}

function beginSliders() {
  const form = document.getElementById("otherwise-form");
  if (!form) return;
  for (const slider of form.querySelectorAll("[data-for]")) {
    const field = document.getElementById(slider.dataset.for);
    const shape = { least: Number(slider.dataset.least), most: Number(slider.dataset.most), linear: "linear" in slider.dataset };
    const follow = () => {
      slider.value = positionOf(Number(field.value || "0"), shape);
      slider.setAttribute("aria-valuetext", field.value || "not told");
    };
    follow();
    slider.addEventListener("input", () => {
      field.value = valueAt(Number(slider.value), shape);
      slider.setAttribute("aria-valuetext", field.value);
      later(form);
    });
    field.addEventListener("input", () => {
      follow();
      later(form);
    });
  }
  for (const other of form.querySelectorAll('[type="radio"], [name="target_ms"]')) other.addEventListener("input", () => later(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    work(form);
  });
}

function later(form) {
  clearTimeout(waiting);
  waiting = setTimeout(() => work(form), WAIT_MS);
}

/** The server has the equations; what is asked stands in the address. */
async function work(form) {
  clearTimeout(waiting);
  asking?.abort();
  asking = new AbortController();
  // What is as recorded is not asked for, and not in the address.
  const asRecorded = (name, value) => form.querySelector(`[name="${name}"]`).closest("[data-recorded]")?.dataset.recorded === value;
  const changes = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, asRecorded(name, value) ? undefined : value]));
  const address = addressWith(location.href, changes);
  try {
    const parts = await getPart(addressWith(new URL(address, location.href), { part: "otherwise" }), { signal: asking.signal });
    document.getElementById("otherwise").replaceChildren(...parts);
    history.replaceState(null, "", address);
  } catch (fault) {
    if (fault.name !== "AbortError") notice(fault.message);
  }
}

async function fetchLater() {
  try {
    place.replaceChildren(...(await getPart(addressWith(location.href, { part: "anatomy" }))));
  } catch (fault) {
    place.replaceChildren(Object.assign(document.createElement("p"), { className: "notice bad", textContent: fault.message }));
  }
  begin();
}

bindKeys([
  { keys: ["."], what: "next part", run: () => group && step(1) },
  { keys: [","], what: "part before", run: () => group && step(-1) },
  { keys: ["w"], what: "zoom in", run: () => group && show(zoomed(inSight(), whole, 0.6)) },
  { keys: ["s"], what: "zoom out", run: () => group && show(zoomed(inSight(), whole, 1 / 0.6)) },
  { keys: ["a"], what: "pan left", run: () => group && show(panned(inSight(), whole, -0.25)) },
  { keys: ["d"], what: "pan right", run: () => group && show(panned(inSight(), whole, 0.25)) },
  { keys: ["f"], what: "zoom to the selected part", run: () => group && centre() },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
if (place.hasAttribute("data-later")) fetchLater();
else begin();
