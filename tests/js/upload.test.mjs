// What an upload tells the server of a file.
import assert from "node:assert/strict";
import { test } from "node:test";

import { nameOf } from "../../static/js/net/upload.js";

test("a name that is longer than a job's may be keeps both its ends", () => {
  assert.equal(nameOf({ name: "orders.zip" }), "orders.zip");
  assert.equal(nameOf({ name: "o".repeat(200) }).length, 200);
  const cut = nameOf({ name: `orders-${"o".repeat(240)}-7.tar.zst` });
  assert.equal(cut.length, 200);
  assert.ok(cut.startsWith("orders-") && cut.endsWith("-7.tar.zst") && cut.includes("…"));
});
