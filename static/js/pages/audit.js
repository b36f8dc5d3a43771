// An audit's page: claims are found as one types, sections open and close by keys, and a new report shows itself.
import { getPart } from "../net/api.js";
import { addressWith } from "../state/cursor.js";
import { bindKeys, copyLink, notice } from "./frame.js";
import { followProgress } from "./progress.js";

const WAIT_MS = 180;
const form = document.querySelector(".audit-find");
const field = document.getElementById("find");
const place = document.getElementById("sections");
let waiting;
let asking;

async function find() {
  asking?.abort();
  asking = new AbortController();
  const address = addressWith(location.href, { find: field.value.trim(), all: undefined });
  try {
    place.replaceChildren(...(await getPart(addressWith(new URL(address, location.href), { part: "sections" }), { signal: asking.signal })));
    history.replaceState(null, "", address);
  } catch (fault) {
    if (fault.name !== "AbortError") notice(fault.message);
  }
}

function openAll(open) {
  for (const section of document.querySelectorAll(".audit-section, .audit-claims")) section.open = open;
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  find();
});
field?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(find, WAIT_MS);
});

bindKeys([
  { keys: ["/"], what: "find in all claims", run: () => field?.focus() },
  { keys: ["o"], what: "open all sections", run: () => openAll(true) },
  { keys: ["O"], what: "close all sections", run: () => openAll(false) },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
// The report that was asked for stands at the same address.
followProgress(document, () => location.reload());
