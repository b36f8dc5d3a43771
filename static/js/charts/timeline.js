// A job's timeline: bands of epochs, checkpoints, failures with their recovery, lanes of attempts, curves.
import { labelsWithRoom, layoutTimeline } from "../layout/timeline.js";
import { byteSize, count, duration, moment, plural } from "../state/format.js";
import d3 from "../vendor/d3.js";

const SIDE = 16;
const TOP = 12;
const STATES = { Running: "running", Failed: "down", Suspected: "suspected", Standby: "standby", WaitingConnections: "connections", WaitingDeterminants: "determinants", Replaying: "replaying" };

export function timeline() {
  let widthPx = 960;
  let onTask = () => undefined;

  function chart(selection) {
    selection.each(function (job) {
      const placed = layoutTimeline(job, { widthPx: widthPx - 2 * SIDE });
      const svg = d3.select(this).selectAll("svg").data([placed]).join("svg").attr("class", "timeline-svg").attr("role", "group").attr("aria-label", labelOf(job));
      svg.attr("width", widthPx).attr("height", placed.height + TOP);
      svg.selectAll("*").remove();
      const world = svg.append("g").attr("transform", `translate(${SIDE},${TOP})`);
      paintRecoveries(world, placed);
      paintEpochs(world, placed);
      paintGaps(world, placed);
      paintCurves(world, placed);
      paintLanes(world, placed);
      paintRollbacks(world, placed);
      paintFailures(world, placed);
      paintAxis(world, placed);
    });
  }

  function paintEpochs(world, { epochs, checkpoints }) {
    const band = world.append("g").attr("class", "epochs").selectAll("g").data(epochs).join("g");
    band.append("rect").attr("x", (one) => one.x).attr("y", (one) => one.y).attr("width", (one) => one.width).attr("height", (one) => one.height).attr("rx", 4);
    band.append("text").attr("x", (one) => one.x + 9).attr("y", 16.5).text((one) => (one.labelled ? one.epoch : ""));
    band.append("title").text((one) => `epoch ${one.epoch}, from ${moment(one.startUs)}: ${plural(one.determinants, "determinant", "determinants")}, ${byteSize(one.bytes)} in main logs`);
    const mark = world.append("g").selectAll("path").data(checkpoints).join("path");
    mark.attr("class", (one) => `checkpoint ${one.abortedUs != null ? "aborted" : one.completedUs == null ? "open" : ""}`);
    mark.attr("d", (one) => `M${one.x},${one.y - 6}l6,6l-6,6l-6,-6z`).append("title").text(checkpointTitle);
  }

  function paintGaps(world, { gaps }) {
    const gap = world.append("g").selectAll("a").data(gaps).join("a").attr("class", "gap").attr("href", gapLink).attr("aria-label", gapTitle);
    gap.append("path").attr("d", (one) => `M${one.x - 2},${one.y - 6}h-3v12h3M${one.x + 2},${one.y - 6}h3v12h-3`);
    gap.append("rect").attr("x", (one) => one.x - 7).attr("y", (one) => one.y - 8).attr("width", 14).attr("height", 16);
    gap.append("title").text(gapTitle);
  }

  function paintRecoveries(world, { failures, top, bottom }) {
    world.append("g").selectAll("rect").data(failures.filter((one) => one.end > one.x)).join("rect").attr("class", "recovering")
      .attr("x", (one) => one.x).attr("y", top).attr("width", (one) => Math.max(2, one.end - one.x)).attr("height", bottom - top);
  }

  // The lines first, all of them: no failure's line goes through another one's words.
  function paintFailures(world, { failures, top, bottom, widthPx: width }) {
    world.append("g").attr("class", "failure-lines").selectAll("line").data(failures).join("line")
      .attr("x1", (one) => one.x).attr("x2", (one) => one.x).attr("y1", top).attr("y2", bottom);
    const failure = world.append("g").selectAll("a").data(failures).join("a").attr("class", "failure").attr("href", (one) => `?task=${encodeURIComponent(one.task)}`);
    failure.append("line").attr("x1", (one) => one.x).attr("x2", (one) => one.x).attr("y1", top).attr("y2", bottom);
    const text = failure.append("text").attr("y", top + 13).text((one) => `${one.task} ${one.suspected ? "suspected" : "failed"}, ${moment(one.failedUs)}`);
    text.attr("x", (one) => one.x + (one.x > width / 2 ? -7 : 7)).attr("text-anchor", (one) => (one.x > width / 2 ? "end" : "start"));
    const labelled = labelsWithRoom(failures, { widthPx: width });
    text.attr("opacity", (one) => (labelled.has(one.failure) ? 1 : 0));
    failure.append("title").text(failureTitle);
    failure.on("click", (event, one) => {
      event.preventDefault();
      onTask(one.task);
    });
  }

  // Below the failures' words: it often follows one within a pixel.
  function paintRollbacks(world, { rollbacks, top, bottom, widthPx: width }) {
    const rollback = world.append("g").selectAll("g").data(rollbacks).join("g").attr("class", "rollback");
    rollback.append("line").attr("x1", (one) => one.x).attr("x2", (one) => one.x).attr("y1", top).attr("y2", bottom);
    const text = rollback.append("text").attr("y", top + 13).text((one) => ((one.x > width / 2 ? width - one.x : one.x) > 170 ? `rolled back to checkpoint ${one.checkpoint ?? "?"}` : "rolled back"));
    text.attr("x", (one) => one.x + (one.x > width / 2 ? 7 : -7)).attr("text-anchor", (one) => (one.x > width / 2 ? "start" : "end"));
    rollback.append("title").text((one) => `every task was rolled back to checkpoint ${one.checkpoint ?? "?"} at ${moment(one.tUs)}`);
  }

  function paintLanes(world, { lanes }) {
    const lane = world.append("g").selectAll("g").data(lanes).join("g").attr("class", "lane");
    lane.append("text").attr("class", "label").attr("x", 0).attr("y", (one) => one.labelY).text((one) => one.task);
    const span = lane.selectAll("rect").data((one) => one.spans.map((each) => ({ ...each, task: one.task }))).join("rect");
    span.attr("class", (one) => `span ${STATES[one.state] ?? "other"}`).attr("rx", 3);
    span.attr("x", (one) => one.x).attr("y", (one) => one.y).attr("width", (one) => one.width).attr("height", (one) => one.height);
    span.append("title").text((one) => `${one.task}, attempt ${one.attempt ?? "?"}: ${one.state} from ${moment(one.startUs)} for ${duration(one.endUs - one.startUs)}`);
  }

  function paintCurves(world, { curves, widthPx: width }) {
    const curve = world.append("g").selectAll("g").data(curves).join("g").attr("class", (one) => `curve ${one.unit === "us" ? "second" : "first"}`);
    const points = (one) => one.places;
    curve.append("path").attr("class", "area").attr("d", (one) => d3.area().curve(d3.curveStep).x((p) => p[0]).y0(one.base).y1((p) => p[1])(points(one)));
    curve.append("path").attr("class", "line").attr("d", (one) => d3.line().curve(d3.curveStep)(points(one)));
    curve.append("path").attr("class", "line lower").attr("d", (one) => d3.line().curve(d3.curveStep)(one.lower));
    curve.append("text").attr("class", "label").attr("y", (one) => one.y - 5).text((one) => (one.lower.length ? `${one.name}, and p50 dashed` : one.name));
    curve.append("text").attr("class", "label").attr("x", width).attr("y", (one) => one.y - 5).attr("text-anchor", "end")
      .text((one) => `up to ${one.unit === "us" ? duration(one.most) : `${count(one.most)} ${one.unit}`}`);
  }

  function paintAxis(world, { ticks, bottom, widthPx: width }) {
    const axis = world.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`);
    axis.append("line").attr("x2", width);
    const tick = axis.selectAll("g").data(ticks).join("g").attr("transform", (one) => `translate(${one.x},0)`);
    tick.append("line").attr("y2", 4);
    tick.append("text").attr("y", 17).attr("text-anchor", (one) => (one.x < 12 ? "start" : one.x > width - 24 ? "end" : "middle")).text((one) => one.label);
  }

  chart.widthPx = (value) => (value === undefined ? widthPx : ((widthPx = value), chart));
  chart.onTask = (value) => ((onTask = value), chart);
  return chart;
}

/** The states that lanes show, for the legend. */
export const laneStates = Object.entries(STATES).map(([state, className]) => ({ state, className }));

function gapLink(one) {
  return `logs/?${new URLSearchParams({ task: one.task, attempt: one.attempt, thread: one.thread, epoch: one.epoch ?? 0 })}`;
}

function gapTitle(one) {
  return `${plural(one.count, "gap", "gaps")} in the log of ${one.task}, attempt ${one.attempt}, epoch ${one.epoch ?? "?"}, at ${moment(one.tUs)}`;
}

function checkpointTitle(one) {
  const end = one.abortedUs != null ? `aborted at ${moment(one.abortedUs)}` : one.completedUs != null ? `completed at ${moment(one.completedUs)}` : "never completed";
  const took = one.completedUs != null && one.triggeredUs != null ? `, after ${duration(one.completedUs - one.triggeredUs)}` : "";
  return `checkpoint ${one.checkpoint}: triggered at ${moment(one.triggeredUs)}, ${end}${took}${one.ignoredBy ? `; ignored by ${plural(one.ignoredBy, "task", "tasks")}` : ""}`;
}

function failureTitle(one) {
  const what = one.suspected ? `${one.task} was wrongly taken for failed and fenced` : one.task;
  const begun = `failure ${one.failure}: ${what} at ${moment(one.failedUs)}`;
  if (one.runningUs != null) return `${begun}, running again after ${duration(one.runningUs - one.failedUs)}`;
  return one.endUs == null ? begun : `${begun}, ${one.endedBy} after ${duration(one.endUs - one.failedUs)}`;
}

function labelOf({ epochs, failures, durationUs }) {
  return `Timeline of ${duration(durationUs)}: ${plural(epochs.length, "epoch", "epochs")}, ${plural(failures.length, "failure", "failures")}`;
}
