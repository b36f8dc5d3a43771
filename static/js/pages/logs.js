// The log page: choosing shows at once; keys turn pages.
import { bindKeys, copyLink } from "./frame.js";

const form = document.getElementById("choose-log");

// Another task has other attempts, another attempt other threads: what no longer fits is left to the server to choose.
const DEPENDENT = { task: ["attempt", "thread", "epoch", "kind", "seq"], attempt: ["thread", "epoch", "kind", "seq"], thread: ["epoch", "kind", "seq"], epoch: ["kind", "seq"], kind: ["seq"] };

form.addEventListener("change", (event) => {
  if (event.target.name === "seq") return;
  for (const name of DEPENDENT[event.target.name] ?? []) form.elements[name]?.setAttribute("disabled", "");
  form.requestSubmit();
});
form.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
document.querySelector("tr[aria-current]")?.scrollIntoView({ block: "center" });

bindKeys([
  { keys: ["n", "]"], what: "next page of the log", run: () => document.getElementById("later")?.click() },
  { keys: ["N", "["], what: "page before", run: () => document.getElementById("earlier")?.click() },
  { keys: ["g"], what: "go to a sequence number", run: () => document.getElementById("seq")?.select() },
  { keys: ["y"], what: "copy the link to this view", run: copyLink },
]);
