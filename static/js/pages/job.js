// A job's page: its pictures, the task that is selected, and progress while it is not ready.
import { graph } from "../charts/graph.js";
import { laneStates, timeline } from "../charts/timeline.js";
import { getPart } from "../net/api.js";
import { addressWith } from "../state/cursor.js";
import { byteSize, count, plural } from "../state/format.js";
import d3 from "../vendor/d3.js";
import { copyLink, bindKeys, notice } from "./frame.js";
import { dataOf, onResize } from "./elements.js";
import { watchFollowing } from "./following.js";
import { followProgress } from "./progress.js";

let graphData = dataOf("graph-data");
let timelineData = dataOf("timeline-data");
const taskPanel = () => document.getElementById("task-panel");
const picture = graph();
const lanes = timeline();
// Small jobs show their tasks at once.
const OPENED_UP_TO = 24;
let colourBy = "bytes";
if (graphData && graphData.vertices.reduce((sum, { count: tasks }) => sum + tasks, 0) <= OPENED_UP_TO) graphData.vertices.forEach(({ id }) => picture.open(id));

function paintGraph() {
  const place = document.getElementById("graph");
  if (!graphData?.vertices.length || !place) return;
  const most = graphData.scales?.[colourBy][1] ?? 0;
  picture.widthPx(place.clientWidth).taskLook((id) => lookOf(id, most)).linkLook(linkLook).chosen(chosenTask() ?? null).onTask(select).onOpen(paintGraph);
  d3.select(place).datum(graphData).call(picture);
  paintLegend(most);
}

function lookOf(id, most) {
  const task = graphData.tasks?.[id];
  if (!task) return { level: 0, title: id, href: `?task=${encodeURIComponent(id)}` };
  const amount = colourBy === "bytes" ? byteSize(task.bytes) : count(task.determinants);
  const failed = task.failures ? `, failed ${plural(task.failures, "time", "times")}` : "";
  return {
    level: most ? Math.ceil((task[colourBy] / most) * 4) : 0,
    mark: task.failures ? "✕" : "",
    className: task.failures ? "failed" : "",
    amount,
    title: `${id} ${amount}; ${plural(task.determinants, "determinant", "determinants")} of ${byteSize(task.bytes)}${failed}`,
    href: `?task=${encodeURIComponent(id)}`,
  };
}

function linkLook({ edge, channels, bundled }) {
  const whole = bundled ? graphData.edgeFlows?.[`${edge.from}>${edge.to}`] : undefined;
  const flows = whole ? [whole] : channels.map((id) => graphData.flows?.[id]).filter(Boolean);
  const ends = channels.length === 1 ? channels[0] : `${edge.from} to ${edge.to}`;
  if (!flows.length) return { widthPx: 1.5, label: bundled ? edge.ship : "", title: `${ends}: ${edge.ship}` };
  const total = (name) => flows.reduce((sum, flow) => sum + (flow[name] ?? 0), 0);
  const most = Math.max(1, graphData.mostFlowBytes) * (bundled ? edge.channels : channels.length);
  return {
    widthPx: 1.25 + 3.5 * Math.sqrt(total("bytes") / most),
    label: bundled ? `${edge.ship} · ${byteSize(total("bytes"))}` : "",
    title:
      `${ends}, ${edge.ship}: ${plural(total("buffers"), "buffer", "buffers")} with ${plural(total("records"), "record", "records")}, ` +
      `${byteSize(total("bytes"))}; deltas beside them ${byteSize(total("deltaBytes"))}`,
  };
}

function paintLegend(most) {
  const legend = document.getElementById("graph-legend");
  if (!legend) return;
  const least = graphData.scales?.[colourBy][0] ?? 0;
  const say = colourBy === "bytes" ? byteSize : count;
  legend.replaceChildren(`colour: ${colourBy === "bytes" ? "bytes logged" : "determinants"}, ${say(least)}`, scale(), `${say(most)}`);
}

function scale() {
  const steps = document.createElement("span");
  steps.className = "scale";
  steps.setAttribute("aria-hidden", "true");
  steps.append(...[0, 1, 2, 3, 4].map((level) => Object.assign(document.createElement("i"), { className: `level-${level}` })));
  return steps;
}

function paintTimeline() {
  const place = document.getElementById("timeline");
  if (!timelineData?.durationUs || !place) return;
  d3.select(place).datum(timelineData).call(lanes.widthPx(place.clientWidth).onTask(select));
  const seen = new Set(timelineData.lanes.flatMap((lane) => lane.spans.map((span) => span.state)));
  const gaps = timelineData.gaps?.length ? [Object.assign(document.createElement("span"), { className: "gap-key", textContent: "gap in a log" })] : [];
  document.getElementById("timeline-legend").replaceChildren(
    ...gaps,
    ...laneStates.filter(({ state }) => seen.has(state)).map(({ state, className }) => Object.assign(document.createElement("span"), { className: `state-key ${className}`, textContent: state })),
  );
}

function chosenTask() {
  return taskPanel()?.querySelector("[data-task]")?.dataset.task;
}

async function select(task, { remember = true } = {}) {
  const address = addressWith(location.href, { task });
  try {
    taskPanel().replaceChildren(...(await getPart(addressWith(new URL(address, location.href), { part: "task" }))));
  } catch (fault) {
    notice(fault.message);
    return;
  }
  if (remember) history.pushState(null, "", address);
  markRows(task);
  paintGraph();
}

function markRows(task) {
  for (const link of document.querySelectorAll("tr a[data-task]")) link.closest("tr").classList.toggle("chosen", link.dataset.task === task);
}

function neighbour(which) {
  const next = taskPanel()?.querySelector("[data-task]")?.dataset[which];
  if (next) select(next);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-task]");
  if (!link || !taskPanel() || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  select(link.dataset.task);
});
window.addEventListener("popstate", () => taskPanel() && select(new URL(location.href).searchParams.get("task") ?? undefined, { remember: false }));
document.addEventListener("change", (event) => {
  if (event.target.id !== "colour-by") return;
  colourBy = event.target.value;
  paintGraph();
});

bindKeys([
  ...(taskPanel()
    ? [
        { keys: ["."], what: "next task", run: () => neighbour("after") },
        { keys: [","], what: "task before", run: () => neighbour("before") },
      ]
    : []),
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);

watchFollowing({
  address: () => addressWith(location.href, { task: chosenTask() }),
  onNewer: () => {
    graphData = dataOf("graph-data");
    timelineData = dataOf("timeline-data");
    if (document.getElementById("colour-by")) document.getElementById("colour-by").value = colourBy;
    paint();
    stopWatchingWidths();
    stopWatchingWidths = watchWidths();
  },
});
function paint() {
  paintGraph();
  paintTimeline();
}
const watchWidths = () => onResize([document.getElementById("graph"), document.getElementById("timeline")], paint);
let stopWatchingWidths = watchWidths();
followProgress(document, () => location.reload());
