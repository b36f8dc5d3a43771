// Geometry: where vertices, tasks, bands, stairs and cells stand.
import assert from "node:assert/strict";
import { test } from "node:test";

import { layersOf, layoutGraph, roomFor, shortened } from "../../static/js/layout/graph.js";
import { heldAt, stairs } from "../../static/js/layout/holdings.js";
import { centred, layoutHits, layoutNotes, layoutStrip, panned, placeOf, shapeOf, stepAt, viewIn, viewText, zoomed } from "../../static/js/layout/strip.js";
import { MOST_PX, clampOffset, inSight, scaleOf, wantedRows } from "../../static/js/layout/window.js";
import { labelled, layoutPlot } from "../../static/js/layout/plot.js";
import { labelsWithRoom, layoutTimeline, tickLabel, ticksOf } from "../../static/js/layout/timeline.js";

const tasksOf = (vertex, parallelism) => Array.from({ length: parallelism }, (_, n) => `${vertex}.${n}`);

function diamond(parallelism = 3) {
  const vertices = ["persons", "auctions", "join", "sink"].map((id) => ({ id, kind: "operator", tasks: tasksOf(id, parallelism) }));
  const edges = [["persons", "join"], ["auctions", "join"], ["join", "sink"], ["persons", "sink"]].map(([from, to]) => ({ from, to, ship: "hash" }));
  const channels = edges.flatMap(({ from, to }) =>
    tasksOf(from, parallelism).flatMap((source) =>
      tasksOf(to, parallelism).map((target) => ({ id: `${source}>${target}`, from: source, to: target, fromVertex: from, toVertex: to })),
    ),
  );
  return { vertices, edges, channels };
}

const overlap = (one, other) =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

test("every edge leads to a later layer", () => {
  const { vertices, edges } = diamond();
  const layers = layersOf(vertices, edges);
  assert.deepEqual(layers, [["persons", "auctions"], ["join"], ["sink"]]);
});

for (const [name, opened, widthPx] of [["closed", [], 900], ["opened", ["join", "sink"], 900], ["on a phone", ["join"], 340]]) {
  test(`no two vertices overlap, and tasks stand inside theirs: ${name}`, () => {
    const { nodes, width, height } = layoutGraph(diamond(5), { widthPx, opened: new Set(opened) });
    for (const [place, node] of nodes.entries()) {
      for (const other of nodes.slice(place + 1)) assert.ok(!overlap(node, other), `${node.id} and ${other.id}`);
      assert.ok(node.x >= 0 && node.y >= 0 && node.x + node.width <= width + 0.01 && node.y + node.height <= height + 0.01, node.id);
      for (const task of node.tasks) {
        assert.ok(task.x >= node.x && task.x + task.width <= node.x + node.width, task.id);
        assert.ok(task.y >= node.y && task.y + task.height <= node.y + node.height, task.id);
      }
    }
  });
}

test("closed vertices are joined by one link, opened ones by one per channel", () => {
  const closed = layoutGraph(diamond(3), { widthPx: 900 });
  assert.equal(closed.links.length, 4);
  assert.ok(closed.links.every((link) => link.bundled));
  const opened = layoutGraph(diamond(3), { widthPx: 900, opened: new Set(["sink"]) });
  assert.equal(opened.links.filter((link) => link.edge.to === "sink").length, 18);
});

test("tasks past what a card can show are counted, not dropped silently", () => {
  const { nodes } = layoutGraph(diamond(50), { widthPx: 900 });
  for (const node of nodes) assert.equal(node.tasks.length + node.hidden, 50);
  assert.equal(nodes[0].hidden, 14);
});

test("a narrow page lays the graph downwards", () => {
  const { downward, width } = layoutGraph(diamond(2), { widthPx: 350 });
  assert.ok(downward);
  assert.ok(width <= 350);
});

test("labels of edges that go down side by side have the room between them", () => {
  const { links } = layoutGraph(diamond(2), { widthPx: 350 });
  for (const one of links) {
    for (const other of links) {
      if (one === other || one.labelY !== other.labelY) continue;
      assert.ok(one.roomPx / 2 + other.roomPx / 2 <= Math.abs(one.labelX - other.labelX));
    }
  }
  assert.ok(links.every((one) => one.roomPx > 0) && links.some((one) => Number.isFinite(one.roomPx)));
});

test("a job without edges still has a place for every vertex", () => {
  const alone = { vertices: [{ id: "only", kind: "source", tasks: ["only.0"] }], edges: [], channels: [] };
  const { nodes, links } = layoutGraph(alone, { widthPx: 400 });
  assert.equal(nodes.length, 1);
  assert.deepEqual(links, []);
});

test("a card is as wide as its names, up to what a page has", () => {
  const vertex = (id) => ({ id, kind: "operator", tasks: [`${id}.0`, `${id}.1`] });
  const placed = (id, widthPx) => layoutGraph({ vertices: [vertex(id)], edges: [], channels: [] }, { widthPx, opened: new Set([id]) }).nodes[0];
  assert.equal(placed("map", 900).width, 152);
  const fitting = placed("orders-write-to-shop", 900);
  assert.ok(fitting.width > 152 && fitting.width < 320);
  assert.ok(roomFor(fitting.tasks[1]) >= "orders-write-to-shop.1".length * 6.6);
  assert.ok(roomFor(fitting) > roomFor(fitting.tasks[0]));
  const long = "orders-enrich-with-customer-address-and-region";
  assert.deepEqual([placed(long, 900).width, placed(long, 250).width], [320, 250]);
});

test("a name that has no room loses its middle, never its end", () => {
  assert.equal(shortened("orders-write.12", 15), "orders-write.12");
  assert.equal(shortened("orders-write.12", 9), "orde…e.12");
  assert.equal(shortened("orders-write.12", 3), "o…2");
  for (const letters of [1, 0, -4]) assert.ok(shortened("orders-write.12", letters).length <= 2);
});

test("vertices that nothing joins stand in rows as wide as the page, and none on another", () => {
  const vertices = Array.from({ length: 7 }, (_, n) => ({ id: `stage-${n}`, kind: "operator", tasks: [`stage-${n}.0`] }));
  const { nodes, width } = layoutGraph({ vertices, edges: [], channels: [] }, { widthPx: 700 });
  assert.deepEqual(nodes.map((one) => one.y > 0), [false, false, false, false, true, true, true]);
  assert.ok(width <= 700);
  for (const [place, node] of nodes.entries()) for (const other of nodes.slice(place + 1)) assert.ok(!overlap(node, other), `${node.id} and ${other.id}`);
});

const growth = [[10, 100], [20, 250], [20, 300], [90, 400]].map(([tUs, upto]) => ({ tUs, upto }));

test("what was held at a moment is the last growth up to it", () => {
  assert.equal(heldAt(growth, 9), undefined);
  assert.equal(heldAt(growth, 10).upto, 100);
  assert.equal(heldAt(growth, 20).upto, 300);
  assert.equal(heldAt(growth, 89).upto, 300);
  assert.equal(heldAt(growth, 1e9).upto, 400);
  assert.equal(heldAt([], 5), undefined);
});

test("stairs begin at nothing, never go down and end at what was held", () => {
  const points = stairs(growth, { startUs: 0, endUs: 100, total: 400, widthPx: 200, heightPx: 20 });
  assert.deepEqual(points[0], [0, 20]);
  assert.deepEqual(points.at(-1), [200, 0]);
  for (let place = 1; place < points.length; place += 1) {
    assert.ok(points[place][0] >= points[place - 1][0]);
    assert.ok(points[place][1] <= points[place - 1][1]);
  }
});

test("stairs of very many growths need no more points than pixels show", () => {
  const many = Array.from({ length: 50_000 }, (_, n) => ({ tUs: n, upto: n }));
  const points = stairs(many, { startUs: 0, endUs: 50_000, total: 50_000, widthPx: 100, heightPx: 20 });
  assert.ok(points.length <= 4 * 100 + 4, points.length);
});

const lanes = [{ groups: ["a"] }, { groups: ["b", "c"] }];

test("the strip counts every step once, in whole pixels, and never has more cells than pixels in a lane", () => {
  const bins = Array.from({ length: 720 }, (_, bin) => [{ bin, group: "a", steps: 3 }, { bin, group: bin % 2 ? "b" : "c", steps: 2 }]).flat();
  const cells = layoutStrip(bins, { steps: 3600, binCount: 720, widthPx: 290, lanes, laneHeightPx: 11 });
  assert.equal(cells.reduce((sum, cell) => sum + cell.steps, 0), 3600);
  for (const lane of [0, 1]) {
    const its = cells.filter((cell) => cell.lane === lane).sort((one, other) => one.x - other.x);
    assert.ok(its.length <= 290);
    for (const cell of its) assert.ok(Number.isInteger(cell.x) && Number.isInteger(cell.width) && cell.share > 0 && cell.share <= 1);
    for (let place = 1; place < its.length; place += 1) assert.ok(its[place].x >= its[place - 1].x + its[place - 1].width);
  }
});

test("lanes of tasks count all steps, are of the kind that most of them are, and know their first", () => {
  const groups = ["step-input", "step-output", "step-recovery"];
  const bins = [];
  for (let bin = 0; bin < 720; bin += 1) for (let lane = 0; lane < 5; lane += 1) if ((bin + lane) % 3)
    groups.forEach((group, number) => bins.push({ bin, lane, group, steps: 1 + ((bin + lane + number) % 7), first: bin * 10 + number }));
  const lanes = Array.from({ length: 5 }, (_, number) => ({ name: `map.${number}` }));
  for (const widthPx of [40, 290, 1200]) {
    const cells = layoutStrip(bins, { steps: 7200, binCount: 720, widthPx, lanes, laneHeightPx: 15 });
    assert.equal(cells.reduce((sum, cell) => sum + cell.steps, 0), bins.reduce((sum, bin) => sum + bin.steps, 0));
    assert.equal(new Set(cells.map((cell) => `${cell.lane}:${cell.x}`)).size, cells.length);
    const columns = Math.min(720, widthPx);
    for (const cell of cells) {
      const its = bins.filter(({ bin, lane }) => lane === cell.lane && Math.floor((bin * columns) / 720) === cell.column);
      assert.equal(cell.first, Math.min(...its.map(({ first }) => first)));
      const of = (group) => its.filter((one) => one.group === group).reduce((sum, one) => sum + one.steps, 0);
      assert.equal(of(cell.group), Math.max(...groups.map(of)));
      assert.equal(cell.y, cell.lane * 15);
    }
  }
});

test("the strip is as high as its lanes need, and names take their room from it", () => {
  const kinds = shapeOf({ lanes: 5, byTask: false, wholePx: 1000 });
  assert.deepEqual([kinds.heightPx, kinds.gutterPx, kinds.widthPx], [101, 64, 930]);
  for (const wholePx of [300, 1000, 1400]) for (const lanes of [2, 16]) for (const namePx of [10, 90, 900]) {
    const shape = shapeOf({ lanes, byTask: true, wholePx, namePx });
    assert.ok(shape.topPx + lanes * shape.lanePx === shape.hitsPx && shape.hitsPx < shape.notesPx && shape.notesPx < shape.footPx && shape.footPx < shape.heightPx);
    assert.ok(shape.gutterPx >= 64 && shape.gutterPx <= Math.max(64, wholePx * 0.2 + 1));
    assert.equal(shape.gutterPx + shape.widthPx + 6, wholePx);
  }
});

test("a place on the strip and a step's mark are each other's inverse", () => {
  for (const [steps, widthPx] of [[7, 700], [3419, 1280], [61_034, 960]]) {
    for (const step of [0, 1, Math.floor(steps / 2), steps - 1]) assert.equal(stepAt(placeOf(step, { steps, widthPx }), { steps, widthPx }), step);
  }
  assert.equal(stepAt(-40, { steps: 10, widthPx: 100 }), 0);
  assert.equal(stepAt(4000, { steps: 10, widthPx: 100 }), 9);
});

const job = {
  durationUs: 6_000_000,
  epochs: [{ epoch: 0, startUs: 0, endUs: 1e6 }, { epoch: 1, startUs: 1e6, endUs: 6e6 }],
  checkpoints: [{ checkpoint: 1, triggeredUs: 0.9e6, completedUs: 1e6 }, { checkpoint: 2, triggeredUs: 5e6, abortedUs: 5.5e6 }],
  failures: [{ failure: 0, task: "map.0", failedUs: 3e6, runningUs: 3.1e6 }, { failure: 1, task: "map.1", failedUs: 4e6, runningUs: null }],
  lanes: [{ task: "map.0", spans: [{ state: "Running", attempt: 0, startUs: 0, endUs: 3e6 }, { state: "Failed", attempt: 0, startUs: 3e6, endUs: 3e6 + 10 }] }],
  curves: [{ name: "throughput", unit: "records/s", points: [{ tUs: 0, value: 5 }, { tUs: 6e6, value: 10 }] }, { name: "flat", unit: "us", points: [{ tUs: 0, value: 0 }, { tUs: 1, value: 0 }] }],
};

test("a vertex of many tasks says how many are not drawn, and an edge of too many channels stays one line", () => {
  const ids = (name) => Array.from({ length: 80 }, (_, n) => `${name}.${n}`);
  const vertices = ["a", "b"].map((id) => ({ id, kind: "operator", tasks: ids(id), count: 25_000 }));
  const big = { vertices, edges: [{ from: "a", to: "b", ship: "hash", channels: 625_000_000 }], channels: [] };
  const placed = layoutGraph(big, { widthPx: 900, opened: new Set(["a"]) });
  assert.deepEqual(placed.nodes.map(({ hidden, tasks }) => hidden + tasks.length), [25_000, 25_000]);
  assert.deepEqual(placed.links.map(({ bundled, key }) => [bundled, key]), [[true, "a>b"]]);
});

test("the timeline keeps everything within its width, and the shortest span visible", () => {
  const placed = layoutTimeline(job, { widthPx: 1000 });
  assert.equal(placed.epochs[1].x, placed.x(1e6));
  for (const span of placed.lanes[0].spans) assert.ok(span.width >= 1 && span.x + span.width <= 1001.5);
  assert.equal(placed.failures[1].end, placed.failures[1].x);
  const [ended] = layoutTimeline({ ...job, failures: [{ ...job.failures[1], endUs: 4.5e6 }] }, { widthPx: 1000 }).failures;
  assert.equal(ended.end, placed.x(4.5e6), "a recovery that another failure ended is shaded until then");
  assert.equal(Math.round(placed.checkpoints[1].x), Math.round((5.5 / 6) * 1000));
  for (const [, y] of placed.curves.flatMap((curve) => curve.places)) assert.ok(Number.isFinite(y));
  assert.ok(placed.bottom < placed.height);
});

test("no two failures' words lie upon each other, from whichever side they come", () => {
  const failures = [380, 402, 460, 520, 900].map((x, failure) => ({ failure, x, task: "auctions.0" }));
  const labelled = labelsWithRoom(failures, { widthPx: 960 });
  assert.deepEqual([...labelled], [0, 4]);
});

test("ticks are round, far enough apart and speak one unit", () => {
  for (const durationUs of [37_200, 6_019_000, 75_000_000, 3_600_000_000]) {
    const ticks = ticksOf(durationUs, 900);
    assert.ok(ticks.length >= 2 && ticks.length <= 11, `${durationUs}: ${ticks.length}`);
    assert.ok(ticks.at(-1) <= durationUs);
  }
  assert.deepEqual([0, 500_000, 1_500_000].map((tUs) => tickLabel(tUs, 6_019_000)), ["0", "0.5 s", "1.5 s"]);
  assert.deepEqual(ticksOf(0, 900), [0]);
});

test("few hits stand alone where they are, many share a band, and none is left out", () => {
  const shape = { steps: 1000, binCount: 720, widthPx: 900 };
  const few = layoutHits([{ bin: 0, hits: 1, first: 0 }, { bin: 719, hits: 3, first: 999 }], shape);
  assert.deepEqual(few.map(({ x, alone }) => [x, alone]), [[placeOf(0, shape), true], [placeOf(999, shape), true]]);
  const bins = Array.from({ length: 300 }, (_, n) => ({ bin: 2 * n, hits: n + 1, first: 3 * n }));
  const many = layoutHits(bins, shape);
  assert.equal(many.length, 300);
  assert.ok(many.every(({ alone, x, width, share }) => !alone && width >= 1 && x >= 0 && x + width <= 900 && share > 0 && share <= 1));
  const narrow = layoutHits(bins, { ...shape, widthPx: 40 });
  assert.ok(narrow.length <= 40);
  assert.deepEqual(layoutHits([], shape), []);
});

test("zooming keeps the step where it is on the strip, and never leaves all the steps or passes the narrowest view", () => {
  const steps = 1_000_000;
  let view = { first: 0, end: steps };
  for (let n = 0; n < 40; n += 1) {
    const before = placeOf(400_000, { view, widthPx: 1000 });
    view = zoomed(view, { by: 0.5, around: 400_000, steps });
    assert.ok(view.first <= 400_000 && 400_000 < view.end);
    if (view.end - view.first > 2000) assert.ok(Math.abs(placeOf(400_000, { view, widthPx: 1000 }) - before) < 2);
  }
  assert.equal(view.end - view.first, 20);
  assert.equal(viewIn(viewText(view, steps), steps).first, view.first);
  for (let n = 0; n < 40; n += 1) view = zoomed(view, { by: 2, around: 400_000, steps });
  assert.deepEqual(view, { first: 0, end: steps });
  assert.equal(viewText(view, steps), undefined);
  assert.deepEqual(zoomed({ first: 0, end: 7 }, { by: 0.5, around: 3, steps: 7 }), { first: 0, end: 7 });
});

test("panning and centring end at either end of the strip", () => {
  const steps = 1000;
  assert.deepEqual(panned({ first: 900, end: 1000 }, { by: 0.25, steps }), { first: 900, end: 1000 });
  assert.deepEqual(panned({ first: 10, end: 110 }, { by: -0.25, steps }), { first: 0, end: 100 });
  assert.deepEqual(centred({ first: 0, end: 100 }, { step: 500, steps }), { first: 450, end: 550 });
  assert.deepEqual(centred({ first: 0, end: 100 }, { step: 990, steps }), { first: 900, end: 1000 });
});

test("a view in an address that cannot be shown shows all", () => {
  for (const text of [null, "", "x", "5-2", "10-12", "0-1000", "-5-10", "5-6-7", "99999-100000"]) assert.equal(viewIn(text, 1000), undefined, text);
  assert.deepEqual(viewIn("100-5000", 1000), { first: 100, end: 1000 });
});

test("in a part of the strip a step and its place are each other's inverse, and hits and notes outside are left out", () => {
  const view = { first: 500, end: 600 };
  for (const step of [500, 550, 599]) assert.equal(stepAt(placeOf(step, { view, widthPx: 700 }), { view, widthPx: 700 }), step);
  const hits = [{ bin: 0, hits: 3, first: 1, last: 499 }, { bin: 1, hits: 1, first: 510, last: 510 }, { bin: 2, hits: 9, first: 590, last: 800 }];
  const shown = layoutHits(hits, { steps: 1000, binCount: 720, widthPx: 700, view });
  assert.deepEqual(shown.map(({ alone }) => alone), [true, false]);
  assert.ok(shown.every(({ x, width }) => x >= 0 && x + width <= 700));
  const notes = layoutNotes([{ first: 0, last: 999 }, { first: 3, last: 4 }, { first: 599, last: 599 }], { steps: 1000, widthPx: 700, view });
  assert.deepEqual(notes.map(({ x, width }) => [x, width]), [[0, 700], [placeOf(599, { view, widthPx: 700 }), 0]]);
});

test("a list of any length has a place no taller than browsers make, and its last row can be reached", () => {
  for (const total of [0, 1, 9, 100_000, 10_000_000]) {
    const shape = { total, rowPx: 30, heightPx: 300, headPx: 28 };
    const { sizePx, scale } = scaleOf(shape);
    assert.ok(sizePx <= MOST_PX && scale >= 1);
    const end = clampOffset(Infinity, shape);
    assert.ok(Math.abs((sizePx - 300) * scale - Math.max(0, end)) < 1 || total * 30 + 28 <= 300);
    const sight = inSight({ ...shape, offsetPx: end });
    assert.equal(sight.end, total);
    const wanted = wantedRows(sight, { total, most: 80 });
    assert.ok(wanted.first <= sight.first && wanted.end >= sight.end && wanted.end - wanted.first <= 80);
  }
});

test("rows that the server sent for a step are those in sight, and no more are asked for", () => {
  const shape = { total: 102_889, rowPx: 29.796875, headPx: 28.09375, heightPx: 10 * 29.796875 + 28.09375 };
  assert.deepEqual(inSight({ ...shape, offsetPx: clampOffset(25_058 * shape.rowPx, shape) }), { first: 25_058, end: 25_068 });
});

test("bars stand in the order of the rows, and grow from zero both ways", () => {
  const placed = layoutPlot([["a", 4], ["b", -4], ["c", null]], { as: "bars", x: 0, y: 1, widthPx: 100, heightPx: 80 });
  assert.deepEqual(placed.marks.map(({ x, y }) => [x, y]), [[25, 0], [75, 80]]);
  assert.equal(placed.zero, 40);
  assert.equal(placed.leftOut, 1);
});

test("points over numbers stand where the numbers do, in their order", () => {
  const placed = layoutPlot([[10, 1], [0, 2], [40, 0]], { as: "line", x: 0, y: 1, widthPx: 200, heightPx: 100 });
  assert.deepEqual(placed.marks.map(({ x, y }) => [x, y]), [[0, 0], [50, 50], [200, 100]]);
  assert.equal(placed.even, false);
});

test("an answer without numbers, or with one row, still has a place", () => {
  assert.deepEqual(layoutPlot([["a", "b"]], { as: "points", x: 0, y: 1, widthPx: 10, heightPx: 10 }).marks, []);
  const alone = layoutPlot([[5, 5]], { as: "points", x: 0, y: 1, widthPx: 10, heightPx: 10 });
  assert.deepEqual(alone.marks.map(({ x, y }) => [x, y]), [[0, 0]]);
});

test("only so many marks are named as there is room for", () => {
  const marks = Array.from({ length: 100 }, (_, n) => ({ x: n }));
  assert.equal(labelled(marks, 50, 500).length, 10);
  assert.equal(labelled(marks.slice(0, 3), 50, 500).length, 3);
});
