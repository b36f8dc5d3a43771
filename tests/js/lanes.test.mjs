// Where things stand in a space-time diagram.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cornersOf, covers, distanceTo, markAt, nameOf, nextOnLane, panned, placeFronts, placeLanes, rowsOf, scaleOf, tickText, ticksIn, wanted, wayOf, within, withRoom, zoomed } from "../../static/js/layout/lanes.js";

const LANES = [
  { id: "source.0", vertex: "source", tasks: ["source.0"], folded: false },
  { id: "source.1", vertex: "source", tasks: ["source.1"], folded: false },
  { id: "map", vertex: "map", tasks: ["map.0", "map.1"], folded: true },
];
const ANSWER = {
  pairs: [[0, 2], [1, 2]],
  channels: ["source.0>map.0", "source.0>map.1", "source.1>map.0"],
  marks: {
    pair: [0, 0, 1], count: [1, 5, 1], sent: [100, 200, 300], sent_last: [100, 280, 300], taken: [150, 260, null], taken_last: [150, 400, null], lost: [0, 0, 1],
    place: [0, 0, 2], place_last: [0, 1, 2], attempt: [0, 0, 1], attempt_last: [0, 0, 1], seq: [7, 8, 9], seq_last: [7, 11, 9], past: [0, 0, 0], future: [0, 0, 0], resent: [0, 0, 0],
  },
};

test("lanes of a vertex stand together, and vertices apart", () => {
  const { lanes, heightPx } = placeLanes(LANES);
  assert.equal(lanes[1].top - lanes[0].top, lanes[0].heightPx);
  assert.ok(lanes[2].top - lanes[1].top > lanes[1].heightPx);
  assert.ok(heightPx > lanes[2].top + lanes[2].heightPx);
  assert.deepEqual(lanes.map((one) => one.first), [true, false, true]);
});

test("a place and its time are one", () => {
  const { x, t } = scaleOf({ from: 1000, to: 3000 }, 500);
  assert.equal(x(1000), 0);
  assert.equal(x(3000), 500);
  assert.equal(t(x(1234)), 1234);
});

test("zooming keeps what is under the pointer where it is, and stays in the job", () => {
  const view = { from: 1000, to: 2000 };
  const near = zoomed(view, 0.5, 1400, 10_000);
  assert.ok(Math.abs((1400 - near.from) / (near.to - near.from) - 0.4) < 0.01);
  assert.deepEqual(zoomed(view, 1000, 1400, 10_000), { from: 0, to: 10_000 });
  assert.deepEqual(panned(view, -5000, 10_000), { from: 0, to: 1000 });
  assert.deepEqual(panned(view, 50_000, 10_000), { from: 9000, to: 10_000 });
  assert.ok(zoomed(view, 1e-9, 1400, 10_000).to - zoomed(view, 1e-9, 1400, 10_000).from >= 20);
  assert.deepEqual(within({ from: -5, to: 5 }, 0), { from: 0, to: 10 });
});

test("what is asked for reaches beyond the window, and is asked for again when it is too coarse", () => {
  const view = { from: 4000, to: 5000 };
  assert.deepEqual(wanted(view, 10_000), { from: 3500, to: 5500 });
  const held = { ...wanted(view, 10_000), stepUs: 10 };
  assert.ok(covers(held, { from: 4300, to: 5300 }, 10_000));
  assert.ok(!covers(held, { from: 4800, to: 5800 }, 10_000));
  assert.ok(!covers(held, { from: 4400, to: 4500 }, 10_000), "ten times as near deserves finer marks");
  assert.ok(covers({ ...held, stepUs: 0 }, { from: 4400, to: 4500 }, 10_000), "each is there by itself already");
  assert.ok(!covers(undefined, view, 10_000));
});

test("a mark has a name where it is of one channel and attempt", () => {
  const rows = rowsOf(ANSWER);
  assert.equal(rows[0].name, "buffer:source.0>map.0/0#7");
  assert.equal(rows[1].name, undefined);
  assert.equal(nameOf({ channel: "a>b", attempt: 2, attempt_last: 2, seq: 3, seq_last: 9 }), "buffers:a>b/2#3-9");
  assert.equal(rows[2].source, 1);
});

test("marks go from sender to receiver, and what was never taken ends on the way", () => {
  const { lanes } = placeLanes(LANES);
  const rows = rowsOf(ANSWER);
  const x = (tUs) => tUs;
  const whole = cornersOf(rows[1], lanes, x);
  assert.deepEqual([whole.x1, whole.x1Last, whole.x2, whole.x2Last], [200, 280, 260, 400]);
  const never = cornersOf(rows[2], lanes, x);
  assert.ok(never.open && never.y2 < lanes[2].middle);
  assert.equal(distanceTo(whole, (230 + 300) / 2, (whole.y1 + whole.y2) / 2), 0);
  assert.equal(distanceTo(whole, 250, 2000), Infinity);
});

test("a way through hidden tasks leads from lane to lane", () => {
  const { lanes } = placeLanes(LANES);
  const at = wayOf([0, 10, 2, 90], lanes, (tUs) => tUs * 2);
  assert.deepEqual([at.x1, at.x2], [20, 180]);
  assert.ok(at.y1 > lanes[0].middle && at.y2 < lanes[2].middle);
});

test("the nearest mark is found, and of two the one that holds less", () => {
  const { lanes } = placeLanes(LANES);
  const rows = rowsOf({ ...ANSWER, marks: { ...ANSWER.marks, sent: [220, 200, 300], sent_last: [220, 280, 300], taken: [300, 260, null], taken_last: [300, 400, null] } });
  const x = (tUs) => tUs;
  const middle = (lanes[0].middle + lanes[2].middle) / 2;
  assert.equal(markAt(rows, lanes, x, 260, middle)?.count, 1);
  assert.equal(markAt(rows, lanes, x, 900, middle), undefined);
});

test("the next mark on a lane is the one that was sent next", () => {
  const rows = [3, 1, 2].map((n) => ({ n, source: 0, sent: n * 10, name: `buffer:a>b/0#${n}` }));
  assert.equal(nextOnLane(rows, rows[1], 1), rows[2]);
  assert.equal(nextOnLane(rows, rows[2], -1), rows[1]);
  assert.equal(nextOnLane(rows, rows[0], 1), undefined);
});

test("a folded vertex has one front, from its first barrier to its last snapshot", () => {
  const { lanes } = placeLanes(LANES);
  const fronts = [
    { checkpoint: 1, task: "map.0", acknowledged_us: 50, first_us: 30, last_us: 40 },
    { checkpoint: 1, task: "map.1", acknowledged_us: 60, first_us: 20, last_us: 45 },
    { checkpoint: 1, task: "source.0", acknowledged_us: 10, first_us: null, last_us: null },
    { checkpoint: 1, task: "hidden.0", acknowledged_us: 10, first_us: null, last_us: null },
  ];
  assert.deepEqual(placeFronts(fronts, lanes).map(({ lane, first, last, done, tasks }) => [lane, first, last, done, tasks]), [[0, 10, 10, 10, 1], [2, 20, 45, 60, 2]]);
});

test("ticks are round and told apart", () => {
  const { ticks, stepUs } = ticksIn({ from: 2_950_000, to: 3_060_000 }, 800);
  assert.deepEqual(ticks.map((one) => tickText(one, stepUs)), ["2.96 s", "2.98 s", "3.00 s", "3.02 s", "3.04 s", "3.06 s"]);
  assert.equal(tickText(4_000_000, 2_000_000), "4 s");
  assert.deepEqual(withRoom([{ x: 0, widthPx: 50 }, { x: 40, widthPx: 50 }, { x: 80, widthPx: 50 }], 10), [true, false, true]);
});
