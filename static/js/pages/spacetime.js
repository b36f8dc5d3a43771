// The space-time page: a window over lanes, asked for anew when it shows what is not there, and the mark that is selected.
import { paintSpacetime } from "../charts/spacetime.js";
import { covers, markAt, nextOnLane, panned, placeFronts, placeLanes, rowsOf, scaleOf, wanted, within, zoomed } from "../layout/lanes.js";
import { isInFlight } from "../layout/cuts.js";
import { getJson, getPart } from "../net/api.js";
import { addressWith, numberIn } from "../state/cursor.js";
import { count, duration, moment, plural } from "../state/format.js";
import { beside } from "./beside.js";
import { cuts } from "./cuts.js";
import { dataOf, onResize } from "./elements.js";
import { bindKeys, copyLink } from "./frame.js";
import { lanesNamed } from "./lane_names.js";
import { scrub } from "./scrub.js";

const scene = dataOf("scene-data");
const place = document.getElementById("picture");
const panel = document.getElementById("selected");
const said = document.getElementById("marks-text");
const tip = document.getElementById("tip");
const canvas = place?.querySelector("canvas");
const ASK_AFTER_MS = 90;
const ZOOM = 1.4;

const placed = scene ? placeLanes(scene.lanes) : undefined;
const picture = { scene, placed, rows: [], fronts: [], ways: [], reach: undefined, chosen: undefined, hovered: undefined, view: undefined, cut: undefined };
let strip;
let cutting;
let other;
let held;
let asking;
let timer;
let frame;

function begin() {
  picture.view = viewOf(location.href);
  picture.chosen = chosenIn(location.href);
  picture.reach = dataOf("reach-data");
  const element = document.getElementById("scrub");
  strip = scrub(element, scene, (view, { last }) => show(view, { remember: last }));
  if (place) lanesNamed(document.getElementById("lane-names"), placed.lanes, scene.hidden);
  document.getElementById("lane-names")?.style.setProperty("height", `${placed.heightPx}px`);
  if (place) cutting = cuts({ view: () => picture.view, lanes: placed.lanes, durationUs: scene.durationUs, onCut });
  if (place) {
    other = beside({ scene, placed, base: baseFailure, parameters: parametersOf });
    other.onChoice((failure) => show(failure && isWhole(picture.view) ? around(baseFailure()) : picture.view));
  }
  listen();
  onResize([place ?? element], repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  show(picture.view, { remember: false, afterMs: 0 });
  cutting?.show();
}

/** What is in flight is found among the marks once, not in every frame. */
function onCut(cut) {
  picture.cut = cut && { ...cut, marks: new Set(picture.rows.filter((one) => isInFlight(one, cut.runs)).map((one) => one.n)) };
  repaint();
}

function viewOf(address) {
  const [from, to] = [numberIn(address, "from"), numberIn(address, "to")];
  return from === undefined || to === undefined || to <= from ? { from: 0, to: Math.max(1, scene.durationUs) } : within({ from, to }, scene.durationUs);
}

/** The failure that is selected, or the first one. */
function baseFailure() {
  return scene.failures.find((one) => `failure:${one.failure}` === picture.chosen) ?? scene.failures[0];
}

/** A window from just before a failure to when its task was running again. */
function around({ failedUs, endUs }) {
  const width = Math.max(2 * ((endUs ?? failedUs) - failedUs), 1000);
  return within({ from: failedUs - width, to: failedUs + 2 * width }, scene.durationUs);
}

function parametersOf(window) {
  const address = new URL(location.href);
  const parameters = new URLSearchParams(window);
  for (const name of ["folded", "hidden"]) if (address.searchParams.has(name)) parameters.set(name, address.searchParams.get(name));
  return parameters;
}

const chosenIn = (address) => new URL(address).searchParams.get("select") ?? undefined;
const isWhole = (view) => view.from === 0 && view.to >= scene.durationUs;

/** Moves the window: what is there is drawn at once, and what is not there yet is asked for. */
function show(view, { remember = true, afterMs = ASK_AFTER_MS } = {}) {
  picture.view = view;
  picture.hovered = undefined;
  if (tip) tip.hidden = true;
  repaint();
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (remember) history.replaceState(null, "", addressWith(location.href, isWhole(view) ? { from: undefined, to: undefined } : view));
    ask();
    cutting?.moved();
  }, afterMs);
}

function repaint() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = undefined;
    paint();
  });
}

function paint() {
  const { view } = picture;
  strip.paint(view);
  other?.follow(view);
  document.getElementById("window-text").textContent = isWhole(view) ? `the whole job, ${duration(scene.durationUs)}` : `${moment(view.from)} to ${moment(view.to)}, ${duration(view.to - view.from)}`;
  if (place && place.clientWidth) paintSpacetime(canvas, picture, { widthPx: place.clientWidth, ratio: window.devicePixelRatio || 1 });
}

async function ask({ anew = false } = {}) {
  if (!place || (!anew && covers(held, picture.view, scene.durationUs) && held.chosen === picture.chosen)) return;
  asking?.abort();
  const mine = (asking = new AbortController());
  const window = wanted(picture.view, scene.durationUs);
  const parameters = parametersOf({ from_us: window.from, to_us: window.to });
  const chosen = picture.chosen;
  if (chosen && !panel.querySelector(".notice.warn")) parameters.set("select", chosen);
  place.setAttribute("aria-busy", "true");
  try {
    take(await getJson(`/api/v1${location.pathname.replace(/\/$/, "")}?${parameters}`, { signal: mine.signal }), window, chosen);
  } catch (fault) {
    if (fault.name !== "AbortError") said.textContent = `The buffers could not be read. ${fault.message}`;
  }
  if (mine === asking) place.setAttribute("aria-busy", "false");
}

function take(answer, window, chosen) {
  held = { ...window, stepUs: answer.step_us, buffers: answer.buffers, chosen, fronts: answer.fronts_count };
  picture.rows = rowsOf(answer);
  picture.ways = answer.through;
  picture.fronts = placeFronts(answer.fronts, placed.lanes);
  picture.reach = answer.reach.length ? answer.reach : undefined;
  if (picture.cut) onCut(picture.cut);
  say(answer);
  repaint();
}

/** What is drawn, what is put together, and what is not drawn. */
function say(answer) {
  const never = answer.marks.lost.reduce((sum, one) => sum + one, 0);
  const parts = [
    answer.buffers === 0 ? "Nothing was on its way between these lanes here." : answer.step_us === 0
      ? `${plural(answer.buffers, "sending", "sendings")} here and close by, each a mark of its own.`
      : `${plural(answer.buffers, "sending", "sendings")} here and close by, as ${plural(answer.marks.count.length, "mark", "marks")}: what was sent within ${duration(answer.step_us)} on one pair of lanes is one, thicker the more it holds. Zoom in to see each.`,
  ];
  if (never) parts.push(`${plural(never, "was", "were")} never taken.`);
  if (answer.fronts_count && !answer.fronts.length) parts.push(`${plural(answer.fronts_count, "snapshot", "snapshots")} with their barriers are more than fit: zoom in to see them.`);
  if (scene.hidden.length) parts.push(hiddenWords(answer));
  said.textContent = parts.join(" ");
}

function hiddenWords({ through, through_whole: whole }) {
  const hidden = `${plural(scene.hidden.length, "task is", "tasks are")} hidden, with what they sent and took`;
  if (!whole) return `${hidden}; more went through them than fits: zoom in to see which ways.`;
  return through.length ? `${hidden}; dotted are the ${plural(through.length, "way", "ways")} through them, each to the first buffer that came out.` : `${hidden}.`;
}

async function select(name, { remember = true, centre = false } = {}) {
  const address = addressWith(location.href, { select: name || undefined });
  picture.chosen = name || undefined;
  if (remember) history.pushState(null, "", address);
  repaint();
  try {
    panel.replaceChildren(...(await getPart(addressWith(new URL(address, location.href), { part: "selected" }))));
  } catch (fault) {
    panel.replaceChildren(Object.assign(document.createElement("p"), { className: "notice bad", textContent: fault.message }));
    return;
  }
  picture.reach = dataOf("reach-data");
  if (centre) centreOn();
  await ask({ anew: true });
}

function chosenUs() {
  const text = panel.querySelector("[data-t]")?.dataset.t;
  return text === undefined ? undefined : Number(text);
}

/** So that the selection stands in the middle; unless asked for, only where it is out of sight. */
function centreOn({ always = false } = {}) {
  const tUs = chosenUs();
  if (tUs === undefined || (!always && tUs > picture.view.from && tUs < picture.view.to)) return;
  const half = (picture.view.to - picture.view.from) / 2;
  show(within({ from: tUs - half, to: tUs + half }, scene.durationUs));
}

function zoom(factor, aboutUs) {
  const middle = (picture.view.from + picture.view.to) / 2;
  const chosen = chosenUs();
  const inSight = chosen > picture.view.from && chosen < picture.view.to;
  show(zoomed(picture.view, factor, aboutUs ?? (inSight ? chosen : middle), scene.durationUs));
}

const pan = (share) => show(panned(picture.view, share * (picture.view.to - picture.view.from), scene.durationUs));

function neighbour(direction) {
  const current = picture.rows.find((one) => one.name === picture.chosen) ?? firstInSight(direction);
  if (!current) return;
  const next = current.name === picture.chosen ? nextOnLane(picture.rows, current, direction) : current;
  if (next?.name) select(next.name, { centre: true });
}

function firstInSight(direction) {
  const seen = picture.rows.filter((one) => one.name && one.sent >= picture.view.from && one.sent <= picture.view.to);
  return direction > 0 ? seen[0] : seen.at(-1);
}

function follow(which) {
  const name = panel.querySelector("[data-selected]")?.dataset[which];
  if (name) select(name, { centre: true });
}

function under(event) {
  const box = place.getBoundingClientRect();
  const [px, py] = [event.clientX - box.left, event.clientY - box.top];
  const { x, t } = scaleOf(picture.view, place.clientWidth);
  const lane = placed.lanes.find((one) => py >= one.top && py < one.top + one.heightPx);
  const failure = scene.failures.find((one) => Math.abs(x(one.failedUs) - px) < 8 && lane?.tasks.includes(one.task));
  const onLine = scene.failures.find((one) => Math.abs(x(one.failedUs) - px) < 4 && py < 52);
  return { px, py, tUs: Math.round(t(px)), lane, failure: failure ?? onLine, mark: markAt(picture.rows, placed.lanes, x, px, py) };
}

function nameUnder({ failure, mark, lane, tUs, py }) {
  if (failure) return `failure:${failure.failure}`;
  if (mark?.name) return mark.name;
  if (mark || !lane || lane.folded || Math.abs(py - lane.middle) > 8) return undefined;
  const span = (scene.spans[lane.id] ?? []).findLast((one) => one.startUs <= tUs);
  return `moment:${lane.id}/${span?.attempt ?? 0}@${Math.max(0, tUs)}`;
}

function tell(found) {
  const text = found.failure ? `${found.failure.task} ${found.failure.suspected ? "suspected" : "failed"} at ${moment(found.failure.failedUs)}` : found.mark ? wordsOf(found.mark) : found.lane && !found.lane.folded && Math.abs(found.py - found.lane.middle) <= 8 ? stateAt(found) : "";
  tip.hidden = !text;
  tip.textContent = text;
  const left = Math.min(found.px + 14, place.clientWidth - tip.offsetWidth - 4);
  Object.assign(tip.style, { left: `${Math.max(0, left)}px`, top: `${found.py + 16}px` });
}

function wordsOf(one) {
  const ends = one.channel ?? `${placed.lanes[one.source].id} to ${placed.lanes[one.target].id}`;
  const which = one.count === 1 ? `buffer ${count(one.seq)}${one.resent ? ", sent again" : ""}` : plural(one.count, "sending", "sendings");
  const taken = one.taken == null ? "never taken" : `taken ${moment(one.taken)}`;
  const share = picture.reach && one.count > 1 ? ` · ${count(one.past)} before, ${count(one.future)} after the selection` : "";
  return `${ends}: ${which} · sent ${moment(one.sent)}, ${taken}${share}${one.name ? "" : " · zoom in to select one"}`;
}

function stateAt({ lane, tUs }) {
  const span = (scene.spans[lane.id] ?? []).find((one) => one.startUs <= tUs && tUs < one.endUs);
  return `${lane.id} at ${moment(tUs)}${span ? `: ${span.state}${span.attempt == null ? "" : `, attempt ${span.attempt}`}` : ""}`;
}

function listen() {
  document.getElementById("zoom-in").addEventListener("click", () => zoom(1 / ZOOM));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(ZOOM));
  document.getElementById("zoom-all").addEventListener("click", () => show({ from: 0, to: Math.max(1, scene.durationUs) }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-select]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    select(link.dataset.select, { centre: true });
  });
  // Links for folding keep the window that is shown when they are followed.
  document.getElementById("lane-names")?.addEventListener("focusin", refreshLinks);
  document.getElementById("lane-names")?.addEventListener("pointerdown", refreshLinks);
  window.addEventListener("popstate", () => {
    show(viewOf(location.href), { remember: false });
    select(chosenIn(location.href), { remember: false });
  });
  if (place) listenToPicture();
}

function refreshLinks(event) {
  const link = event.target.closest?.("a");
  if (!link) return;
  const given = new URL(link.href).searchParams;
  link.href = addressWith(location.href, { folded: given.get("folded") ?? undefined, hidden: given.get("hidden") ?? undefined });
}

function listenToPicture() {
  let grabbed;
  place.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return;
    grabbed = { x: event.clientX, view: picture.view, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const byPx = event.clientX - grabbed.x;
    grabbed.moved ||= Math.abs(byPx) > 4;
    if (grabbed.moved) show(panned(grabbed.view, (-byPx / place.clientWidth) * (grabbed.view.to - grabbed.view.from), scene.durationUs));
  });
  window.addEventListener("pointerup", () => setTimeout(() => (grabbed = undefined)));
  place.addEventListener("pointermove", (event) => {
    if (grabbed?.moved) return;
    const found = under(event);
    place.classList.toggle("over", Boolean(nameUnder(found)));
    tell(found);
    if (found.mark !== picture.hovered) [picture.hovered] = [found.mark, repaint()];
  });
  place.addEventListener("pointerleave", () => {
    tip.hidden = true;
    picture.hovered = undefined;
    repaint();
  });
  place.addEventListener("click", (event) => {
    if (grabbed?.moved) return;
    const name = nameUnder(under(event));
    if (name) select(name);
  });
  place.addEventListener("dblclick", (event) => zoom(1 / (ZOOM * ZOOM * ZOOM), under(event).tUs));
  place.addEventListener("wheel", wheel, { passive: false });
}

function wheel(event) {
  const along = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (!event.ctrlKey && !event.metaKey && Math.abs(along) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, under(event).tUs);
  else pan(along / place.clientWidth);
}

bindKeys([
  { keys: ["w", "W"], what: "zoom in", run: () => zoom(1 / ZOOM) },
  { keys: ["s", "S"], what: "zoom out", run: () => zoom(ZOOM) },
  { keys: ["a", "A", "←"], what: "earlier", run: () => pan(-0.25) },
  { keys: ["d", "D", "→"], what: "later", run: () => pan(0.25) },
  { keys: ["0"], what: "the whole job", run: () => show({ from: 0, to: Math.max(1, scene.durationUs) }) },
  { keys: ["."], what: "next mark on the lane", run: () => neighbour(1) },
  { keys: [","], what: "mark before on the lane", run: () => neighbour(-1) },
  { keys: ["]"], what: "the effect that follows", run: () => follow("effect") },
  { keys: ["["], what: "the cause before", run: () => follow("cause") },
  { keys: ["c"], what: "a consistent cut, or none", run: () => cutting?.toggle() },
  { keys: ["f"], what: "centre what is selected", run: () => centreOn({ always: true }) },
  { keys: ["Escape"], what: "select nothing", run: () => picture.chosen && select("") },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
if (scene?.durationUs) begin();
