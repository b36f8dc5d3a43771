// The causal path: a moment moves over the attempt; graph and holders show how far its log had come by then.
import { graph } from "../charts/graph.js";
import { holdings } from "../charts/holdings.js";
import { heldAt } from "../layout/holdings.js";
import { getPart } from "../net/api.js";
import { addressWith, numberIn } from "../state/cursor.js";
import { byteSize, moment, plural, share } from "../state/format.js";
import d3 from "../vendor/d3.js";
import { bindKeys, copyLink } from "./frame.js";
import { dataOf, onResize } from "./elements.js";

const place = document.getElementById("path");
const graphData = dataOf("graph-data");
const picture = graph();
const stairs = holdings();
const OPENED_UP_TO = 24;
if (graphData.vertices.reduce((sum, { count }) => sum + count, 0) <= OPENED_UP_TO) graphData.vertices.forEach(({ id }) => picture.open(id));
let path;
let growths = new Map();
let slider;
let atUs = 0;

function begin() {
  path = dataOf("path-data");
  slider = document.getElementById("moment");
  if (!path) return;
  growths = new Map(path.holders.map((one) => [`${one.holder}/${one.attempt}`, one.growth.map((row) => ({ tUs: row.t_us, upto: row.held_bytes }))]));
  const asked = numberIn(location.href, "t");
  atUs = Math.min(Math.max(asked ?? path.ended_us, path.started_us), path.ended_us);
  stairs.range([path.started_us, path.ended_us]).total(path.log_bytes);
  if (slider) {
    slider.value = atUs;
    slider.addEventListener("input", () => moveTo(Number(slider.value)));
    slider.addEventListener("change", remember);
  }
  onResize([document.getElementById("graph")], paint);
  paint();
}

function moveTo(tUs) {
  atUs = Math.min(Math.max(tUs, path.started_us), path.ended_us);
  slider.value = atUs;
  requestAnimationFrame(paint);
}

function remember() {
  history.replaceState(null, "", addressWith(location.href, { t: atUs === path.ended_us ? undefined : atUs }));
}

function paint() {
  const text = document.getElementById("moment-text");
  if (text) text.textContent = moment(atUs);
  slider?.setAttribute("aria-valuetext", moment(atUs));
  for (const row of document.querySelectorAll("tr[data-holder]")) paintHolder(row);
  for (const row of document.querySelectorAll("tr[data-t]")) row.classList.toggle("ahead", Number(row.dataset.t) > atUs);
  paintGraph();
}

function paintHolder(row) {
  const growth = growths.get(row.dataset.holder);
  const held = heldAt(growth, atUs)?.upto ?? 0;
  row.querySelector("[data-held]").textContent = byteSize(held);
  row.querySelector("[data-share]").textContent = share(held, path.log_bytes);
  const cell = row.querySelector(".stairs");
  cell.querySelector(".bar")?.remove();
  d3.select(cell).datum(growth).call(stairs.widthPx(Math.max(60, cell.clientWidth - 24)).momentUs(atUs));
}

function heldBy(task) {
  const of = path.holders.filter((one) => one.holder === task);
  return Math.max(0, ...of.map((one) => heldAt(growths.get(`${one.holder}/${one.attempt}`), atUs)?.upto ?? 0));
}

function paintGraph() {
  const element = document.getElementById("graph");
  if (!element) return;
  const stopped = new Map(path.stopped.map((one) => [one.task, one.why]));
  picture.widthPx(element.clientWidth).taskLook((id) => lookOf(id, stopped)).linkLook(linkLook).chosen(path.task).onOpen(paintGraph)
    .onTask((id) => location.assign(addressWith(location.href, { task: id, attempt: undefined, holder: undefined, t: undefined })));
  d3.select(element).datum(graphData).call(picture);
}

function lookOf(id, stopped) {
  const href = addressWith(location.href, { task: id, attempt: undefined, holder: undefined, t: undefined });
  if (id === path.task) return { level: 0, className: "origin", mark: path.ended_by === "failure" ? "✕" : "", title: `${id} ${byteSize(path.log_bytes)} logged by ${moment(path.ended_us)}`, amount: byteSize(path.log_bytes), href };
  if (stopped.has(id)) return { level: 0, className: "none", title: `${id} out of reach: ${stopped.get(id)}`, amount: "", href };
  const held = heldBy(id);
  const level = held ? Math.max(1, Math.ceil((held / Math.max(1, path.log_bytes)) * 4)) : 0;
  return { level, title: held ? `${id} ${byteSize(held)} held, ${share(held, path.log_bytes)}` : `${id} held nothing yet`, amount: held ? byteSize(held) : "", href };
}

function carriedBy(edge) {
  const its = new Set(graphData.channels.filter((one) => one.fromVertex === edge.from && one.toVertex === edge.to).map((one) => one.id));
  return path.channels.filter((one) => its.has(one.channel)).length;
}

function linkLook({ channels, edge, bundled }) {
  const carrying = path.channels.filter((one) => channels.includes(one.channel));
  const begun = carrying.filter((one) => one.first_us <= atUs);
  const bytes = carrying.reduce((sum, one) => sum + one.bytes, 0);
  if (!carrying.length) return { widthPx: 1.25, className: "dim", title: `${edge.from} to ${edge.to}: carried nothing of this log` };
  return {
    widthPx: begun.length ? 2.5 : 1.5,
    className: begun.length ? "carried" : "",
    label: bundled || carriedBy(edge) === 1 ? byteSize(bytes) : "",
    title: `${channels.length === 1 ? channels[0] : `${edge.from} to ${edge.to}`}: ${byteSize(bytes)} new in ${plural(carrying.reduce((sum, one) => sum + one.sendings, 0), "sending", "sendings")}, first at ${moment(carrying[0].first_us)}`,
  };
}

function nextArrival(direction) {
  const times = [...new Set(path.holders.flatMap((one) => one.growth.map((row) => row.t_us)))].sort((one, other) => one - other);
  const next = direction > 0 ? times.find((tUs) => tUs > atUs) : times.findLast((tUs) => tUs < atUs);
  moveTo(next ?? (direction > 0 ? path.ended_us : path.started_us));
  remember();
}

async function fetchInto(element, part) {
  try {
    element.replaceChildren(...(await getPart(addressWith(location.href, { part }))));
  } catch (fault) {
    const text = Object.assign(document.createElement("p"), { className: "notice bad", textContent: fault.message });
    element.replaceChildren(text);
  }
  element.removeAttribute("data-later");
}

document.getElementById("choose-path").addEventListener("change", (event) => {
  if (event.target.name === "task") event.currentTarget.elements.attempt.disabled = true;
  event.currentTarget.requestSubmit();
});
bindKeys([
  { keys: [".", "n"], what: "next arrival", run: () => slider && nextArrival(1) },
  { keys: [",", "N"], what: "arrival before", run: () => slider && nextArrival(-1) },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
const sharing = document.getElementById("sharing");
if (place.hasAttribute("data-later")) await fetchInto(place, "path");
begin();
if (sharing?.hasAttribute("data-later")) await fetchInto(sharing, "sharing");
