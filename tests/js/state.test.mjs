// The page's state: the cursor in the address, keys, steps at hand, uploads, waiting.
import assert from "node:assert/strict";
import { test } from "node:test";

import { backoffMs } from "../../static/js/state/backoff.js";
import { addressWith, clampStep, numberIn } from "../../static/js/state/cursor.js";
import { Hits, likeStep, together } from "../../static/js/state/hits.js";
import { once, rangeOf } from "../../static/js/state/ranges.js";
import { newerWords } from "../../static/js/state/newer.js";
import { bindingFor } from "../../static/js/state/keys.js";
import { StepCache, nextLike } from "../../static/js/state/steps.js";
import { after, waiting } from "../../static/js/state/uploads.js";

const page = "http://127.0.0.1:8000/replays/r_1/?step=41&prefix=by";

test("the address holds the step, and changing it keeps what else stands there", () => {
  assert.equal(numberIn(page, "step"), 41);
  assert.equal(addressWith(page, { step: 42 }), "/replays/r_1/?step=42&prefix=by");
  assert.equal(addressWith(page, { prefix: "" }), "/replays/r_1/?step=41");
  assert.equal(addressWith(page, { step: undefined, prefix: undefined }), "/replays/r_1/");
});

test("a bent link counts as none", () => {
  for (const text of ["", "-3", "1e9", "0x10", "1.5", "9".repeat(40)]) assert.equal(numberIn(`${page.split("?")[0]}?step=${text}`, "step"), undefined, text);
});

test("a step stays among those that there are", () => {
  assert.equal(clampStep(-1, -1), 0);
  assert.equal(clampStep(12.7, 100), 12);
  assert.equal(clampStep(120, 100), 100);
});

test("hits come in pieces, and the last line says how many there were", () => {
  const hits = new Hits();
  hits.take({ bins: [[0, 2, 3, 9], [4, 1, 44, 44]] });
  hits.take({ bins: [[4, 3, 45, 49]] });
  assert.deepEqual([hits.count, hits.done], [6, false]);
  hits.take({ hits: 6, steps: 100, bin_count: 10, complete: true });
  assert.deepEqual([hits.count, hits.done], [6, true]);
  assert.deepEqual([...hits.bins.values()], [{ bin: 0, hits: 2, first: 3, last: 9 }, { bin: 4, hits: 4, first: 44, last: 49 }]);
  const other = new Hits();
  other.take({ bins: [[4, 1, 41, 41], [7, 1, 70, 70]] });
  assert.deepEqual(together([hits, other]).map(({ bin, hits: number, first }) => [bin, number, first]), [[0, 2, 3], [4, 5, 41], [7, 1, 70]]);
  assert.deepEqual(together([]), []);
});

test("steps like this one, as a search", () => {
  assert.equal(likeStep({ kind: "take-buffer", channel: "a.0>b.1", actor: "main" }), 'kind = take-buffer and channel = "a.0>b.1"');
  assert.equal(likeStep({ kind: "cut-buffer", channel: null, actor: "out-0" }), "kind = cut-buffer and thread = out-0");
  assert.equal(likeStep({ kind: "append", actor: "main" }), "kind = append");
  assert.equal(likeStep({ kind: "transition", state: "Running", actor: "main" }), "kind = transition and state = Running");
  assert.equal(likeStep({ kind: "x", channel: 'a"\\', actor: "main" }), 'kind = x and channel = "a\\"\\\\"');
});

const bindings = [{ keys: ["n", "→"], what: "step" }, { keys: ["N"], what: "back" }, { keys: ["Home"], what: "first" }, { keys: ["Escape"], what: "close" }];
const press = (key, more = {}) => bindingFor({ key, target: { tagName: "BODY" }, ...more }, bindings)?.what;

test("keys lead to what they do, and upper case is another key", () => {
  assert.deepEqual(["n", "N", "ArrowRight", "Home", "q"].map((key) => press(key)), ["step", "back", "step", "first", undefined]);
});

test("combinations and typing belong to the browser and the field", () => {
  for (const held of ["ctrlKey", "altKey", "metaKey", "isComposing"]) assert.equal(press("n", { [held]: true }), undefined, held);
  for (const target of [{ tagName: "INPUT", type: "text" }, { tagName: "TEXTAREA" }, { tagName: "SELECT" }, { tagName: "DIV", isContentEditable: true }]) {
    assert.equal(press("n", { target }), undefined, target.tagName);
  }
  assert.equal(press("Escape", { target: { tagName: "INPUT", type: "text" } }), "close");
  assert.equal(press("n", { target: { tagName: "INPUT", type: "checkbox" } }), "step");
  assert.equal(press("ArrowRight", { target: { tagName: "INPUT", type: "range" } }), undefined);
  assert.equal(press("Home", { target: { tagName: "BUTTON" } }), "first");
});

const rowsFrom = (from, count) => Array.from({ length: count }, (_, n) => ({ step: from + n }));

test("steps are found again, asked for by block, and the one ahead as well", () => {
  const cache = new StepCache({ blockSteps: 100, mostBlocks: 3 });
  assert.deepEqual(cache.wanted(250, 1, 999), [{ from: 200, to: 300 }, { from: 300, to: 400 }]);
  cache.put(200, rowsFrom(200, 100));
  assert.equal(cache.at(250).step, 250);
  assert.equal(cache.at(199), undefined);
  assert.deepEqual(cache.wanted(250, -1, 999), [{ from: 100, to: 200 }]);
  assert.deepEqual(cache.wanted(950, 1, 999), [{ from: 900, to: 1000 }]);
});

test("the block at the end of a growing replay is asked for again", () => {
  const cache = new StepCache({ blockSteps: 100 });
  cache.put(0, rowsFrom(0, 40));
  assert.deepEqual(cache.wanted(10, 1, 39), []);
  assert.deepEqual(cache.wanted(10, 1, 80), [{ from: 0, to: 81 }]);
});

test("the least recently used block is forgotten", () => {
  const cache = new StepCache({ blockSteps: 10, mostBlocks: 2 });
  cache.put(0, rowsFrom(0, 10));
  cache.put(10, rowsFrom(10, 10));
  assert.ok(cache.at(5));
  cache.put(20, rowsFrom(20, 10));
  assert.ok(cache.at(5));
  assert.equal(cache.at(15), undefined);
});

test("waiting doubles up to its cap and never ends in zero", () => {
  const waits = [0, 1, 2, 10, 100].map((tries) => backoffMs(tries, { jitter: 1 }));
  assert.deepEqual(waits, [250, 500, 1000, 15_000, 15_000]);
  assert.ok(backoffMs(0, { jitter: 0 }) > 0);
});

test("an upload tells every stage in words, a break and a refusal among them", () => {
  let view = waiting("a.zip", 2048);
  const texts = [view.text];
  for (const event of [{ type: "began" }, { type: "progressed", sent: 1024 }, { type: "interrupted" }, { type: "sent" }, { type: "accepted", job: "j_1", repeated: true }]) {
    view = after(view, event);
    texts.push(view.text);
  }
  assert.deepEqual(texts, ["waiting for its turn", "0 B of 2 KiB", "1 KiB of 2 KiB", "the connection broke at 1 KiB; trying again", "checking its shape", "is already here"]);
  assert.equal(view.phase, "accepted");
  assert.equal(after(waiting("b", 1), { type: "refused", why: "Not a bundle." }).text, "Not a bundle.");
  assert.throws(() => after(view, { type: "unheard of" }), /unheard of/);
});

test("a range of a note is read as a person writes it, in either order", () => {
  assert.deepEqual(rangeOf("1,200", "7"), { first: 7, last: 1200 });
  assert.deepEqual(rangeOf("5", ""), { first: 5, last: 5 });
  for (const [from, to] of [["", ""], ["five", "6"], ["5", "-6"], ["1e9", "2"]]) assert.match(rangeOf(from, to).why, /write their numbers/);
});

test("what is asked for while it is being done is done once more, however often it was asked", async () => {
  let runs = 0;
  let release = () => undefined;
  const run = once(() => {
    runs += 1;
    return new Promise((done) => (release = done));
  });
  const all = [run(), run(), run()];
  release();
  await new Promise((done) => setImmediate(done));
  assert.equal(runs, 2);
  release();
  await Promise.all(all);
  assert.equal(runs, 2);
});

test("a key that only a part of the page holds is left alone elsewhere", () => {
  const bindings = [{ keys: ["↑", "↓"], within: "#strip", what: "another task" }, { keys: ["n"], what: "step" }];
  const target = (...selectors) => ({ tagName: "DIV", closest: (selector) => (selectors.includes(selector) ? {} : null), dataset: { ownKeys: "↑ ↓" } });
  assert.equal(bindingFor({ key: "ArrowDown", target: target("#strip") }, bindings)?.what, "another task");
  assert.equal(bindingFor({ key: "ArrowDown", target: target("#log") }, bindings), undefined);
  assert.equal(bindingFor({ key: "ArrowDown", target: target("#strip"), ctrlKey: true }, bindings), undefined);
  assert.equal(bindingFor({ key: "n", target: target("#log") }, bindings)?.what, "step");
  assert.equal(bindingFor({ key: "Enter", target: target() }, [{ keys: ["Enter"], what: "in the search", run: null }]), undefined);
});

test("along a task one walks over what is at hand, and asks where it ends", () => {
  const rows = ["a", "b", "b", "a", "c", "a", undefined, "b"].map((task) => task && { task });
  const at = (step) => rows[step];
  const next = (task, from, towards) => nextLike(at, { like: { task }, from, towards, last: rows.length - 1 });
  assert.deepEqual([next("a", 0, 1), next("a", 3, 1), next("a", 3, -1), next("b", 1, 1)], [3, 5, 0, 2]);
  assert.deepEqual([next("b", 2, 1), next("c", 3, -1), next("b", 7, -1), next("a", 0, -1)], [undefined, undefined, undefined, undefined]);
});

test("a page says how many epochs are newer than those that it shows", () => {
  const shown = { epochs: 3, updated: "2026-01-01T10:00:00.500000+00:00" };
  const job = (updated_at, facts) => ({ updated_at, facts });
  const later = "2026-01-01T10:00:02.000Z";
  assert.equal(newerWords(shown, job(shown.updated, { epochs: 3 })), undefined);
  assert.equal(newerWords(shown, job("2026-01-01T09:59:00Z", { epochs: 9 })), undefined);
  assert.equal(newerWords(shown, job(later, { epochs: 4 })), "1 newer epoch: show it");
  assert.equal(newerWords(shown, job(later, { epochs: 1503, complete: true })), "1,500 newer epochs: show them");
  assert.equal(newerWords(shown, job(later, { epochs: 3 })), "A newer version: show it");
  assert.equal(newerWords(shown, job(later, { epochs: 3, complete: true })), "The recording is complete: show all of it");
  assert.equal(newerWords(shown, job(later, {})), "A newer version: show it");
});
