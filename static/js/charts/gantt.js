// Recoveries over time: a lane for each task, its parts as bars with their numbers, and the chain of waits under them.
import { LETTER_PX, layoutGantt, ticksAfter, wordsFor } from "../layout/gantt.js";
import { duration, moment } from "../state/format.js";
import d3 from "../vendor/d3.js";

export function gantt() {
  let widthPx = 960;
  let span;
  let chosen;
  let onPart = () => undefined;
  let onOpen = () => undefined;

  function chart(selection) {
    selection.each(function (group) {
      const letters = Math.max(...group.lanes.map((one) => Math.max(one.task.length * 1.15, subOf(one).length * 0.92)));
      const labelPx = Math.min(letters * LETTER_PX + 34, widthPx * 0.36);
      const placed = layoutGantt(group, { span, widthPx, labelPx });
      const svg = d3.select(this).selectAll("svg").data([placed]).join("svg").attr("class", "gantt-svg").attr("role", "group");
      svg.attr("aria-label", `Recovery of ${group.lanes.map((one) => one.task).join(", ")}; the table below has every part`).attr("width", widthPx).attr("height", placed.height);
      svg.selectAll("*").remove();
      paintAxis(svg, placed, group);
      paintLanes(svg, placed, group);
      paintPath(svg, placed, group);
    });
  }

  function paintAxis(svg, placed, group) {
    const ticks = ticksAfter(group.begun_us, span, placed.right - placed.left);
    const tick = svg.append("g").attr("class", "axis").selectAll("g").data(ticks).join("g").attr("transform", (tUs) => `translate(${placed.x(tUs)},0)`);
    tick.append("line").attr("y1", 2).attr("y2", placed.bottom);
    tick.append("text").attr("y", placed.bottom + 16).attr("text-anchor", (tUs) => (placed.x(tUs) > placed.right - 24 ? "end" : "middle")).text((tUs) => (tUs === group.begun_us ? "failed" : duration(tUs - group.begun_us)));
    tick.append("title").text((tUs) => moment(tUs));
  }

  function paintLanes(svg, placed, group) {
    const lane = svg.append("g").selectAll("g").data(placed.lanes).join("g").attr("class", (one) => `lane ${one.key === group.chosen ? "chosen" : ""}`);
    lane.append("rect").attr("class", "row").attr("x", 0).attr("y", (one) => one.y).attr("width", widthPx).attr("height", placed.laneHeight);
    lane.append("text").attr("class", "name").attr("x", 16).attr("y", (one) => one.labelY).text((one) => cut(one.task, placed.left - 26, 7.2));
    lane.append("text").attr("class", "sub").attr("x", 16).attr("y", (one) => one.labelY + 15).text((one) => cut(subOf(one), placed.left - 26, 5.8));
    const bar = lane.selectAll("a").data((one) => one.bars.map((each) => ({ ...each, of: one }))).join("a").attr("href", "#gantt-said").attr("data-key", keyOf).attr("aria-label", (one) => titleOf(one, group))
      .attr("class", (one) => `bar ${group.parts[one.part].colour} ${one.told ? "" : "open"} ${keyOf(one) === chosen ? "picked" : ""}`);
    bar.append("rect").attr("x", (one) => one.x).attr("y", (one) => one.y).attr("width", (one) => one.width).attr("height", (one) => one.height).attr("rx", (one) => Math.min(3, one.width / 2));
    bar.append("text").attr("x", (one) => one.x + (one.width < 30 ? one.width / 2 : 7)).attr("text-anchor", (one) => (one.width < 30 ? "middle" : "start")).attr("y", (one) => one.y + one.height / 2)
      .text((one) => wordsFor(one, group.parts[one.part].number, `${group.parts[one.part].name} ${duration(one.to_us - one.from_us)}`) );
    bar.append("title").text((one) => titleOf(one, group));
    bar.on("click", (event, one) => {
      event.preventDefault();
      onPart(one);
    }).on("dblclick", (event, one) => onOpen(one)).on("mouseenter focus", (event, one) => chart.said?.(titleOf(one, group)));
    const end = lane.selectAll("g.end").data((one) => one.ends.map((each) => ({ ...each, task: one.task }))).join("g").attr("class", (one) => `end ${one.kind}`).attr("transform", (one) => `translate(${one.x},${one.y})`);
    end.append("path").attr("d", (one) => ({ failed: "M-4,-4L4,4M-4,4L4,-4", done: "M0,-14V14", ended: "M0,-14V14" })[one.kind]);
    end.append("title").text((one) => `${one.task}: ${{ failed: "failed", done: "all was done again", ended: "its recovery was ended" }[one.kind]} at ${moment(one.tUs)}, ${duration(one.tUs - group.begun_us)} after the first failure`);
  }

  function paintPath(svg, { path }, group) {
    const world = svg.append("g").attr("class", "path");
    const stretch = world.selectAll("line.stretch").data(path.stretches).join("line").attr("class", "stretch");
    stretch.attr("x1", (one) => one.x1).attr("x2", (one) => one.x2).attr("y1", (one) => one.y).attr("y2", (one) => one.y);
    const hop = world.selectAll("g.hop").data(path.hops).join("g").attr("class", "hop");
    hop.append("line").attr("x1", (one) => one.x).attr("x2", (one) => one.x).attr("y1", (one) => one.y1).attr("y2", (one) => one.y2);
    hop.append("circle").attr("cx", (one) => one.x).attr("cy", (one) => one.y2).attr("r", 3);
    hop.append("title").text((one) => `${group.lanes[one.to].task} went on at ${moment(one.tUs)} with what came from ${group.lanes[one.from].task}`);
  }

  chart.widthPx = (value) => (value === undefined ? widthPx : ((widthPx = value), chart));
  chart.span = (value) => (value === undefined ? span : ((span = value), chart));
  chart.chosen = (value) => ((chosen = value), chart);
  chart.onPart = (value) => ((onPart = value), chart);
  chart.onOpen = (value) => ((onOpen = value), chart);
  chart.onSaid = (value) => ((chart.said = value), chart);
  return chart;
}

export const keyOf = (one) => `${one.lane}:${one.part}`;

export function titleOf(one, group) {
  const part = group.parts[one.part];
  const took = `${duration(one.to_us - one.from_us)}, from ${moment(one.from_us)} to ${moment(one.to_us)}`;
  const what = one.told ? part.meaning : `begun, and not over when a ${one.of.ended_by} ended the attempt`;
  const on = group.path.some((wait) => group.lanes[wait.lane].key === one.lane && wait.part === one.part) ? "; on the critical path" : "";
  return `${one.of.task}, ${part.number} ${part.name}: ${what}. ${took}${on}.`;
}

function subOf(lane) {
  const how = lane.rollback !== null ? "rolled back" : lane.standby ? "standby" : lane.rolled_back ? "rolled back" : "anew";
  return `attempt ${lane.attempt}, ${how}`;
}

function cut(text, roomPx, letterPx = LETTER_PX) {
  const room = Math.max(3, Math.floor(roomPx / letterPx));
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}
