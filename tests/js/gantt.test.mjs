// Geometry of recoveries over time, and sliders over powers of ten.
import assert from "node:assert/strict";
import { test } from "node:test";

import { layoutGantt, panned, ticksAfter, wordsFor, zoomed } from "../../static/js/layout/gantt.js";
import { positionOf, valueAt } from "../../static/js/layout/sliders.js";

const lane = (key, ...spans) => ({
  key, task: key, rollback: null, begun_us: spans[0][1], done_us: spans.at(-1)[2], ended_us: null,
  spans: spans.map(([part, from_us, to_us]) => ({ part, from_us, to_us, told: true })),
});
const group = {
  lanes: [lane("a", ["detection", 100, 300], ["replay", 300, 1100]), lane("b", ["detection", 100, 101], ["replay", 101, 900])],
  path: [{ lane: 1, part: "replay", from_us: 101, to_us: 700 }, { lane: 0, part: "replay", from_us: 700, to_us: 1100 }],
};
const shape = { span: [100, 1100], widthPx: 800, labelPx: 120 };

test("bars of a lane stand one behind the other, inside the picture, each wide enough to be seen", () => {
  const placed = layoutGantt(group, shape);
  for (const { bars } of placed.lanes) {
    for (const bar of bars) assert.ok(bar.x >= placed.left && bar.x + bar.width <= placed.right + 2 && bar.width >= 2);
    assert.ok(bars[0].x <= bars[1].x);
  }
  assert.equal(placed.lanes[0].bars[0].x + placed.lanes[0].bars[0].width, placed.lanes[0].bars[1].x);
});

test("the path runs under its lane, and hops where it changes lanes", () => {
  const { path, lanes } = layoutGantt(group, shape);
  assert.equal(path.stretches[0].x2, path.stretches[1].x1);
  assert.equal(path.hops.length, 1);
  assert.deepEqual([path.hops[0].y1, path.hops[0].y2], [path.stretches[0].y, path.stretches[1].y]);
  assert.ok(path.stretches[1].y > lanes[0].bars[0].y && path.stretches[1].y < lanes[1].y);
});

test("what is out of sight is left out, and the rest is cut at the edge", () => {
  const placed = layoutGantt(group, { ...shape, span: [400, 600] });
  assert.deepEqual(placed.lanes.map((one) => one.bars.map((bar) => bar.part)), [["replay"], ["replay"]]);
  assert.equal(placed.lanes[0].bars[0].x, placed.left);
  assert.equal(placed.lanes[0].ends.length, 0);
});

test("zooming keeps what it is around, and stays within the whole", () => {
  const whole = [0, 10_000];
  assert.deepEqual(zoomed([2_000, 6_000], whole, 0.5), [3_000, 5_000]);
  assert.deepEqual(zoomed([2_000, 6_000], whole, 100), whole);
  assert.deepEqual(panned([6_000, 10_000], whole, 0.5), [6_000, 10_000]);
  assert.deepEqual(panned([4_000, 6_000], whole, -0.25), [3_500, 5_500]);
  assert.ok(zoomed([500, 520], whole, 0.01)[1] - zoomed([500, 520], whole, 0.01)[0] >= 20);
});

test("ticks are round times after the failure", () => {
  const ticks = ticksAfter(1_500_123, [1_500_123, 1_530_123], 800);
  assert.ok(ticks.length > 3 && ticks.length < 12);
  assert.ok(ticks.every((one) => (one - 1_500_123) % 1000 === 0));
});

test("a bar says as much as it has room for", () => {
  assert.equal(wordsFor({ width: 300 }, 6, "replay 9 ms"), "6 replay 9 ms");
  assert.equal(wordsFor({ width: 20 }, 6, "replay 9 ms"), "6");
  assert.equal(wordsFor({ width: 5 }, 6, "replay 9 ms"), "");
});

test("a slider gives back the value that it was put to, to three digits", () => {
  for (const shape of [{ least: 10, most: 600_000 }, { least: 0, most: 1, linear: true }]) {
    for (let position = 0; position <= 1000; position += 50) {
      const value = valueAt(position, shape);
      assert.ok(Math.abs(positionOf(value, shape) - position) <= 3, `${position} ${value}`);
      assert.ok(value >= shape.least && value <= shape.most);
    }
  }
  assert.equal(positionOf(0, { least: 10, most: 1000 }), 0);
  assert.equal(positionOf(1e9, { least: 10, most: 1000 }), 1000);
});
