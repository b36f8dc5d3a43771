// Cuts through the lanes of a space-time diagram.
import assert from "node:assert/strict";
import { test } from "node:test";
import { behind, cutAt, isInFlight, lineOf } from "../../static/js/layout/cuts.js";

const TASKS = ["a.0", "b.0", "b.1"];
const CUTS = [{ asked_us: 10, stands: [[0, 10], [0, 10], [0, 10]] }, { asked_us: 20, stands: [[1, 20], [0, 12], [0, 15]] }];

test("a time snaps to the cut at it or before it", () => {
  assert.equal(cutAt(CUTS, 19), CUTS[0]);
  assert.equal(cutAt(CUTS, 20), CUTS[1]);
  assert.equal(cutAt(CUTS, 3), CUTS[0]);
});

test("a cut bends where tasks stand behind, and spans the tasks of a folded vertex", () => {
  const lanes = [{ number: 0, tasks: ["a.0"] }, { number: 1, tasks: ["b.0", "b.1"] }, { number: 2, tasks: ["nobody.0"] }];
  assert.deepEqual(lineOf(CUTS[1], TASKS, lanes), [{ lane: 0, first: 20, last: 20 }, { lane: 1, first: 12, last: 15 }]);
  assert.deepEqual(behind(CUTS[1], TASKS).map((one) => one.task), ["b.0", "b.1"]);
  assert.deepEqual(behind(CUTS[0], TASKS), []);
});

test("a mark is in flight where it holds a buffer that is", () => {
  const runs = [{ channel: "a.0>b.0", attempt: 1, first: 5, last: 9 }];
  const mark = { channel: "a.0>b.0", attempt: 1, attempt_last: 1, seq: 9, seq_last: 12 };
  assert.ok(isInFlight(mark, runs));
  assert.ok(!isInFlight({ ...mark, seq: 10 }, runs));
  assert.ok(!isInFlight({ ...mark, attempt: 0, attempt_last: 0 }, runs));
  assert.ok(!isInFlight({ ...mark, channel: undefined }, runs));
});
