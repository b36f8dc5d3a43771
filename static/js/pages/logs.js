// The log page: choosing shows at once; keys turn pages.
import { ask, getPart } from "../net/api.js";
import { bindKeys, copyLink, notice, toast } from "./frame.js";

const form = document.getElementById("choose-log");

// Another task has other attempts, another attempt other threads: what no longer fits is left to the server to choose.
const DEPENDENT = { task: ["attempt", "thread", "epoch", "kind", "seq"], attempt: ["thread", "epoch", "kind", "seq"], thread: ["epoch", "kind", "seq"], epoch: ["kind", "seq"], kind: ["seq"] };

form.addEventListener("change", (event) => {
  if (event.target.type === "text") return;
  for (const name of DEPENDENT[event.target.name] ?? []) form.elements[name]?.setAttribute("disabled", "");
  form.requestSubmit();
});
form.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
document.querySelector("#rows tr[aria-current]")?.scrollIntoView({ block: "center" });

// What a link would show as a page of text comes to the clipboard instead.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("[data-copy]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  try {
    const answer = await ask(link.href);
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    await navigator.clipboard.writeText(text);
    const rows = text.split("\n").length - 1;
    toast(rows === 1 ? "1 determinant copied." : `${rows} determinants copied.`);
  } catch {
    location.assign(link.href);
  }
});

// A scan of the log, or of all deltas, is made where it is asked for.
for (const details of document.querySelectorAll("details[data-part]")) details.addEventListener("toggle", () => workOut(details));

async function workOut(details) {
  const place = details.querySelector("[data-place]");
  if (!details.open || place.hasAttribute("data-worked-out")) return;
  place.textContent = "Being worked out …";
  try {
    place.replaceChildren(...(await getPart(details.dataset.part)));
    place.setAttribute("data-worked-out", "");
  } catch (fault) {
    place.textContent = "Close it and open it again to try once more.";
    notice(fault.message);
  }
}

bindKeys([
  { keys: ["n", "]"], what: "next page of the log", run: () => document.getElementById("later")?.click() },
  { keys: ["N", "["], what: "page before", run: () => document.getElementById("earlier")?.click() },
  { keys: ["g"], what: "go to a sequence number", run: () => document.getElementById("seq")?.select() },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
