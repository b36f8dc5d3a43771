// Quantities on the page; the cases are shared with tests/dashboard/test_measures.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as format from "../../static/js/state/format.js";

const cases = JSON.parse(readFileSync(new URL("./format-cases.json", import.meta.url), "utf8"));

for (const [name, pairs] of Object.entries(cases)) {
  test(`${name} writes every shared case`, () => {
    for (const [value, text] of pairs) assert.equal(format[name](...[value].flat()), text, JSON.stringify(value));
  });
}
