// A small picture of an answer's rows: bars, a line or points.
import { labelled, layoutPlot } from "../layout/plot.js";
import d3 from "../vendor/d3.js";

const LEFT = 72;
const BELOW = 24;
const ABOVE = 8;

export function plot() {
  let widthPx = 960;
  let heightPx = 220;
  let as = "bars";
  let columns = [0, 0];
  let said = () => undefined;

  function chart(selection) {
    selection.each(function ({ rows, names }) {
      const [x, y] = columns;
      const inner = { widthPx: Math.max(10, widthPx - LEFT - 8), heightPx: heightPx - ABOVE - BELOW };
      const placed = layoutPlot(rows, { as, x, y, ...inner });
      const svg = d3.select(this).selectAll("svg").data([placed]).join("svg").attr("role", "img");
      svg.attr("width", widthPx).attr("height", heightPx).attr("aria-label", `${names[y]} over ${names[x]}: ${placed.marks.length} values; the table below has them`);
      svg.selectAll("*").remove();
      const world = svg.append("g").attr("transform", `translate(${LEFT},${ABOVE})`);
      paintAxes(world, placed, inner);
      if (as === "bars") paintBars(world, placed);
      else if (as === "line") paintLine(world, placed);
      else paintPoints(world, placed);
      said(placed);
    });
  }

  function paintAxes(world, { low, high, zero, marks }, inner) {
    world.append("line").attr("class", "axis").attr("x2", inner.widthPx).attr("y1", zero).attr("y2", zero);
    const scale = d3.scaleLinear([low, high || 1], [inner.heightPx, 0]);
    const tick = world.append("g").selectAll("g").data(scale.ticks(4)).join("g").attr("transform", (value) => `translate(0,${scale(value)})`);
    tick.append("line").attr("class", "axis").attr("x2", inner.widthPx);
    tick.append("text").attr("x", -8).attr("dy", "0.32em").attr("text-anchor", "end").text((value) => value.toLocaleString("en"));
    const label = world.append("g").selectAll("text").data(labelled(marks, 84, inner.widthPx)).join("text");
    label.attr("x", (one) => one.x).attr("y", inner.heightPx + 16).attr("text-anchor", "middle").text((one) => (one.label.length > 13 ? `${one.label.slice(0, 12)}…` : one.label));
  }

  function paintBars(world, { marks, zero, barPx }) {
    const bar = world.append("g").selectAll("rect").data(marks).join("rect").attr("class", "mark").attr("width", barPx);
    bar.attr("x", (one) => one.x - barPx / 2).attr("y", (one) => Math.min(one.y, zero)).attr("height", (one) => Math.max(1, Math.abs(zero - one.y)));
    bar.append("title").text(title);
  }

  function paintLine(world, { marks }) {
    world.append("path").datum(marks).attr("class", "line").attr("d", d3.line((one) => one.x, (one) => one.y));
  }

  function paintPoints(world, { marks }) {
    const point = world.append("g").selectAll("circle").data(marks).join("circle").attr("class", "mark").attr("r", 3);
    point.attr("cx", (one) => one.x).attr("cy", (one) => one.y).append("title").text(title);
  }

  const title = (one) => `${one.label}: ${one.value.toLocaleString("en")}`;

  chart.widthPx = (value) => (value === undefined ? widthPx : ((widthPx = value), chart));
  chart.heightPx = (value) => (value === undefined ? heightPx : ((heightPx = value), chart));
  chart.as = (value) => (value === undefined ? as : ((as = value), chart));
  chart.columns = (value) => (value === undefined ? columns : ((columns = value), chart));
  chart.onSaid = (value) => (value === undefined ? said : ((said = value), chart));
  return chart;
}
