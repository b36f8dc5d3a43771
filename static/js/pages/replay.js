// The replay page: moves over steps. What is at hand shows at once, panels follow, the address holds the step.
import { live } from "../net/live.js";
import { stepSource } from "../net/steps.js";
import { addressWith, clampStep, numberIn } from "../state/cursor.js";
import { plural } from "../state/format.js";
import { StepCache } from "../state/steps.js";
import { dataOf } from "./elements.js";
import { bindKeys, copyLink, notice, toast } from "./frame.js";
import { notes } from "./notes.js";
import { followProgress } from "./progress.js";
import { putPanels, showAwaited, showRow, showSteering } from "./step_view.js";
import { stops } from "./stops.js";
import { stripView } from "./strip_view.js";
import { tasks } from "./tasks.js";
import { walking } from "./walking.js";
import { windows } from "./windows.js";

const PANELS_AFTER_MS = 40;
const ADDRESS_AFTER_MS = 150;
const PANELS_KEPT = 64;
const BEHIND_AFTER_MS = 400;

const page = document.getElementById("replay");
const place = document.getElementById("four");
const cache = new StepCache();
const source = stepSource(page.dataset.replay, cache);
const kinds = new Map((dataOf("step-kinds") ?? []).map((kind) => [kind.name, kind]));
const panels = new Map();
let step = Number(page.dataset.step);
let shownPanels = step; // the step that the panels are of
let last = Number(page.dataset.last);
let pending = page.dataset.pending === "yes";
let direction = 1;
let panelTimer;
let addressTimer;
let behindTimer;
let asking;
let shownKeys = keysIn(location.href);
let stopping;
let picture;
let noting;
let lists;
let several;
let along;
let lastPanel = new URL(location.href).searchParams.get("panel") ?? undefined; // where somebody last was: a copied link leads there

/** Shows a step. Walking replaces the address, jumping adds to the history, so that back leads to where one jumped from. */
function go(to, { jump = false, remember = true } = {}) {
  const next = clampStep(to, last);
  stopping?.movedOtherwise();
  direction = next < step ? -1 : 1;
  if (remember && jump && next !== step) {
    flushAddress();
    history.pushState(null, "", addressWith(location.href, { step: next }));
  }
  step = next;
  show();
  if (remember && !jump) rememberSoon();
}

function show() {
  page.dataset.step = step;
  showSteering(step, last);
  showHere();
  noting.show(step);
  stopping?.shown(step);
  picture.step(step);
  const slider = document.getElementById("strip");
  slider.setAttribute("aria-valuenow", step);
  slider.setAttribute("aria-valuetext", `step ${step} of ${last}`);
  for (const range of cache.wanted(step, direction, last)) source.fetchRange(range).then(showHere, () => undefined);
  const kept = panels.get(step);
  clearTimeout(panelTimer);
  if (kept) putInPlace(kept);
  // What the server sent with the page is of this step already, and says more: that a link led past the end.
  else if (shownPanels === step) panelTimer = setTimeout(asTheyStand, PANELS_AFTER_MS);
  else panelTimer = setTimeout(fetchPanels, PANELS_AFTER_MS);
}

function asTheyStand() {
  page.removeAttribute("data-behind");
  prefetch(step + direction);
}

/** What is known of this step. What stands there of another one is no longer passed off as this one's after a while. */
function showHere() {
  showRow(cache.at(step), kinds);
  behindTimer ??= setTimeout(() => {
    behindTimer = undefined;
    if (!cache.at(step)) showAwaited(step);
    page.toggleAttribute("data-behind", shownPanels !== step);
  }, BEHIND_AFTER_MS);
}

function putInPlace(nodes) {
  putPanels(nodes.map((node) => node.cloneNode(true)));
  shownPanels = step;
  page.removeAttribute("data-behind");
  lists.begin();
  noting.show(step);
  panelTimer = setTimeout(() => prefetch(step + direction), PANELS_AFTER_MS);
}

async function fetchPanels() {
  asking?.abort();
  asking = new AbortController();
  const wanted = step;
  const keys = shownKeys;
  try {
    const nodes = await source.panels(wanted, keys, { signal: asking.signal });
    keep(wanted, nodes, keys);
    if (wanted === step && keys === shownKeys) putInPlace(nodes);
  } catch (fault) {
    if (fault.name !== "AbortError") notice(fault.message);
  }
}

// While a replay is still being written its totals change, so nothing of it is kept; nor what was asked for other keys.
function keep(at, nodes, keys) {
  if (pending || keys !== shownKeys) return;
  panels.set(at, nodes);
  if (panels.size > PANELS_KEPT) panels.delete(panels.keys().next().value);
}

function prefetch(at) {
  if (pending || at < 0 || at > last || panels.has(at)) return;
  const keys = shownKeys;
  source.panels(at, keys).then((nodes) => keep(at, nodes, keys), () => undefined);
}

function rememberSoon() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(flushAddress, ADDRESS_AFTER_MS);
}

function flushAddress() {
  clearTimeout(addressTimer);
  history.replaceState(null, "", addressWith(location.href, { step: Number(page.dataset.step) }));
}

function keysIn(href) {
  const { searchParams } = new URL(href);
  const chosen = (name) => searchParams.get(name) ?? "";
  return { prefix: chosen("prefix"), keys: chosen("keys"), why: chosen("why"), task: chosen("task") };
}

/** Other keys of the state: typing replaces the address, turning a page adds to the history. */
function showKeys(wanted, afterMs) {
  shownKeys = wanted;
  shownPanels = undefined; // what stands there is of other keys
  panels.clear();
  clearTimeout(panelTimer);
  panelTimer = setTimeout(fetchPanels, afterMs);
}

function filterState(prefix) {
  showKeys({ ...shownKeys, prefix, keys: "" }, 120);
  history.replaceState(null, "", addressWith(location.href, { step, prefix, keys: undefined }));
}

/** Other tasks are looked at: the whole strip of them, and the list around this step. */
function ofOthers() {
  picture.fromAddress();
  showKeys({ ...shownKeys, task: several.only() }, 0);
  showSteering(step, last);
}

function turnKeys(keys) {
  flushAddress();
  showKeys({ ...shownKeys, keys }, 0);
  history.pushState(null, "", addressWith(location.href, { step, keys }));
}

/** How much of the why is open. */
function unfold(why) {
  flushAddress();
  showKeys({ ...shownKeys, why }, 0);
  history.replaceState(null, "", addressWith(location.href, { step, why }));
}

/** The step in the middle of the strip and of every list. */
function centre() {
  picture.centre();
  fetchPanels();
}

function copyHere() {
  flushAddress();
  history.replaceState(null, "", addressWith(location.href, { panel: lastPanel, find: document.getElementById("find").value.trim() }));
  copyLink();
}

async function nextOfKind(towards) {
  const { kind } = (await rowHere()) ?? {};
  if (kind) await along(towards, { kind }, `There is no ${kind} ${towards > 0 ? "after" : "before"} this step.`);
}

/** The row of this step, waited for if it has not come yet. */
async function rowHere() {
  if (!cache.at(step)) await Promise.all(cache.wanted(step, direction, last).map(source.fetchRange));
  return cache.at(step);
}

function follow(name, missing) {
  const to = document.getElementById("why")?.dataset[name];
  if (to) go(Number(to), { jump: true });
  else toast(missing);
}

async function ended() {
  if (!place) return location.reload();
  pending = false;
  panels.clear();
  setLast((await source.written()) - 1);
  const outcome = await source.outcome(step);
  await Promise.all([picture.refresh(), fetchPanels(), stopping.hitsAnew()]);
  putPanels(outcome);
  show();
}

async function grown() {
  if (!place) return location.reload();
  setLast((await source.written()) - 1);
  showSteering(step, last);
  await Promise.all([picture.refresh(), stopping.hitsAnew()]);
}

function setLast(value) {
  last = Math.max(last, value);
  page.dataset.last = last;
  document.getElementById("strip").setAttribute("aria-valuemax", last);
  const written = document.getElementById("written-so-far");
  if (written) written.textContent = plural(last + 1, "step", "steps");
}

function begin() {
  along = walking({ step: () => step, last: () => last, at: (one) => cache.at(one), go, find: source.find });
  several = tasks({
    step: () => step,
    row: rowHere,
    go,
    along,
    find: source.find,
    changed: ofOthers,
  });
  picture = stripView(document.getElementById("strip"), {
    step: () => step,
    last: () => last,
    go,
    note: (range) => noting.here(range),
    strip: (from, to) => source.strip(from, to, several.only()),
    only: several.only,
    alone: several.alone,
  });
  several.begin();
  const beside = (name) => (name === "hits" ? { find: stopping.searchedFor() } : { task: several.only() });
  lists = windows({ step: () => step, rows: (name, asked) => source.rows(name, { ...asked, ...beside(name) }) });
  noting = notes({ replay: page.dataset.replay, step: () => step, marks: picture.notes });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#copy-link")) return copyHere();
    const link = event.target.closest?.("a[data-step], a[data-keys], a[data-why], #back, #forward, #last-step");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.why !== undefined) return unfold(link.dataset.why);
    if (link.dataset.keys !== undefined) return turnKeys(link.dataset.keys);
    if (["back", "forward"].includes(link.id)) return several.walk(link.id === "back" ? -1 : 1);
    return go(link.id === "last-step" ? last : Number(link.dataset.step), { jump: true });
  });
  document.getElementById("go").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = document.getElementById("step-field");
    const to = field.value.trim();
    field.blur();
    showSteering(step, last);
    if (to) stopping.lead(to);
  });
  // As in an address bar: what is typed takes the place of what stands there.
  document.getElementById("step-field").addEventListener("click", ({ target }) => target.selectionStart === target.selectionEnd && target.select());
  document.addEventListener("submit", (event) => {
    if (event.target.id === "state-filter") event.preventDefault();
  });
  document.addEventListener("input", (event) => event.target.id === "prefix" && filterState(event.target.value));
  const within = (event) => (lastPanel = event.target.closest?.("#replay section[id]")?.id ?? lastPanel);
  document.addEventListener("focusin", within);
  document.addEventListener("pointerdown", within);
  document.getElementById("unit").addEventListener("change", (event) => history.replaceState(null, "", addressWith(location.href, { step, unit: event.target.value })));
  document.addEventListener("server-back", show);
  window.addEventListener("popstate", () => {
    showKeys(keysIn(location.href), 0);
    picture.fromAddress();
    several.fromAddress();
    go(numberIn(location.href, "step") ?? 0, { remember: false });
  });
  show();
  stopping = stops({
    replay: page.dataset.replay,
    step: () => step,
    row: rowHere,
    go: (to) => go(to, { jump: true }),
    marks: picture.hits,
    begun: lists.begin,
  });
  watch();
  if (lastPanel) document.getElementById(lastPanel)?.scrollIntoView({ block: "nearest" });
}

/** What other watchers do, and what becomes of the replay, for as long as the page is open. */
function watch() {
  const { replay } = page.dataset;
  live({
    socket: `/ws/replays/${replay}/`,
    poll: `/api/v1/replays/${replay}`,
    // Somebody had it replayed again: what stands here is of the time before.
    onState: ({ status }) => !pending && ["queued", "running"].includes(status) && location.reload(),
    onNews: (news) => {
      if (news !== "breakpoints") noting.refresh();
      if (news !== "notes") stopping.refresh();
    },
    onGone: () => notice("This replay was deleted, or is no longer shared with you. What is shown here stays until you leave the page.", "warn", { last: true }),
  });
}

bindKeys([
  { keys: ["n", "→"], what: "step", run: () => several.walk(1) },
  { keys: ["N", "←"], what: "step back", run: () => several.walk(-1) },
  { keys: ["Home"], what: "first step", run: () => go(0, { jump: true }) },
  { keys: ["End"], what: "last step", run: () => go(last, { jump: true }) },
  { keys: ["PageDown"], what: "100 steps on", run: () => go(step + 100) },
  { keys: ["PageUp"], what: "100 steps back", run: () => go(step - 100) },
  { keys: ["."], what: "next step of this kind", run: () => nextOfKind(1) },
  { keys: [","], what: "step of this kind before", run: () => nextOfKind(-1) },
  { keys: ["["], what: "the cause of this step", run: () => follow("cause", "No step caused this one.") },
  { keys: ["]"], what: "what this step caused", run: () => follow("effect", "No step names this one as its cause.") },
  { keys: ["c"], what: "continue to the next breakpoint", run: () => stopping.lead("continue") },
  { keys: ["C"], what: "reverse-continue to the breakpoint before", run: () => stopping.lead("reverse-continue") },
  { keys: ["o"], what: "over the enclosing record, buffer, epoch or state, as chosen", run: () => stopping.over("over") },
  { keys: ["O"], what: "back over it", run: () => stopping.over("back over") },
  { keys: ["U"], what: "out of it: where it begins", run: () => stopping.over("out of") },
  { keys: ["u"], what: "up to where the innermost enclosing one begins", run: () => stopping.lead("out") },
  { keys: ["m"], what: "a note on this step", run: () => noting.here() },
  { keys: ["w", "W"], what: "zoom into the strip", run: () => picture.zoom(0.5) },
  { keys: ["s", "S"], what: "zoom out", run: () => picture.zoom(2) },
  { keys: ["a", "A"], what: "pan the strip back", run: () => picture.pan(-0.25) },
  { keys: ["d", "D"], what: "pan it on", run: () => picture.pan(0.25) },
  { keys: ["f"], what: "centre this step", run: centre },
  { keys: ["b"], what: "breakpoint at steps like this one", run: () => stopping.here() },
  { keys: ["/"], what: "search the steps", run: () => stopping.search() },
  { keys: ["g"], what: "go to a step, time, epoch, record or state", run: () => document.getElementById("step-field")?.select() },
  { keys: ["y"], what: "copy the link to this step", run: copyHere },
  ...(document.getElementById("only") ? [
    { keys: ["t"], what: "next step of this task", run: () => several.ofThis(1) },
    { keys: ["T"], what: "step of this task before", run: () => several.ofThis(-1) },
    { keys: ["l"], what: "this task alone, or all again", run: () => several.toggle() },
    { keys: ["↑", "↓"], what: "on the strip: the task above or below", within: "#strip", run: ({ key }) => several.beside(key === "ArrowUp" ? -1 : 1) },
  ] : []),
  { keys: ["Enter"], what: "in the search: the next hit", run: null },
  { keys: ["Shift Enter"], what: "in the search: the hit before", run: null },
  { keys: ["Ctrl Enter"], what: "in the search: keep it as a breakpoint; in a note: keep the note", run: null },
  { keys: ["↑", "↓", "PageUp", "PageDown", "Home", "End"], what: "in a list that has the focus: scroll it", run: null },
  { keys: ["Escape"], what: "in a field: leave it, with what stands there", within: "input", run: ({ target }) => target.blur() },
  { keys: ["Escape"], what: "close what is open over the page", run: null },
].map((binding) => (place || !binding.run ? binding : { ...binding, run: () => undefined })));

/** That it is no longer queued, where nothing else says so yet. */
function showUnderWay(status) {
  const badge = document.querySelector("#verdict [data-status]");
  if (!badge || badge.dataset.status === status) return;
  Object.assign(badge, { textContent: status }).dataset.status = status;
  const awaited = document.getElementById("awaited");
  if (awaited) awaited.textContent = awaited.dataset[status] ?? "";
}

let grownAt = 0;
followProgress(document, () => ended().catch((fault) => notice(fault.message)));
page.addEventListener("progressed", (event) => {
  showUnderWay(event.detail.status);
  if (event.detail.status !== "running" || performance.now() - grownAt < 1500) return;
  grownAt = performance.now();
  grown().catch(() => undefined);
});
if (place) begin();
