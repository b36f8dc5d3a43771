// A job's page: its pictures, the task that is selected, and progress while it is not ready.
import { laneStates, timeline } from "../charts/timeline.js";
import { getPart } from "../net/api.js";
import { addressWith } from "../state/cursor.js";
import d3 from "../vendor/d3.js";
import { copyLink, bindKeys, notice } from "./frame.js";
import { dataOf, onResize } from "./elements.js";
import { watchFollowing } from "./following.js";
import { curveChoice } from "./curve_choice.js";
import { followProgress } from "./progress.js";
import { taskGraph } from "./task_graph.js";

let timelineData = dataOf("timeline-data");
const taskPanel = () => document.getElementById("task-panel");
const lanes = timeline();
const curves = curveChoice({
  chosen: chosenTask,
  draw: (drawn) => {
    timelineData.curves = drawn;
    paintTimeline();
  },
});
const tasks = taskGraph({ chosen: chosenTask, select, durationUs: () => timelineData?.durationUs });

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
  tasks.paint();
  tasks.taskChanged();
  curves.taskChanged();
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
  const colour = event.target.value;
  history.replaceState(null, "", addressWith(location.href, { colour: colour === "bytes" ? undefined : colour }));
  tasks.colour(colour);
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
    timelineData = dataOf("timeline-data");
    tasks.read();
    paint();
    tasks.colour();
    curves.show();
    stopWatchingWidths();
    stopWatchingWidths = watchWidths();
  },
});
function paint() {
  tasks.paint();
  paintTimeline();
}
const watchWidths = () => onResize([document.getElementById("graph"), document.getElementById("timeline")], paint);
let stopWatchingWidths = watchWidths();
tasks.colour();
curves.show();
followProgress(document, () => location.reload());
