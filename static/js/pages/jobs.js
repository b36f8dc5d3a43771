// The first page: drops and picks become resumable uploads; rows follow their jobs live.
import { getPart } from "../net/api.js";
import { upload } from "../net/upload.js";
import { after, waiting } from "../state/uploads.js";
import { bindKeys } from "./frame.js";
import { followProgress } from "./progress.js";

const AT_ONCE = 2;
const drop = document.getElementById("drop");
const picker = document.getElementById("bundles");
const list = document.getElementById("uploads");
const rows = document.getElementById("job-rows");
const queue = [];
let sending = 0;
let following = [];

document.getElementById("choose").addEventListener("click", () => picker.click());
picker.addEventListener("change", () => {
  take([...picker.files]);
  picker.value = "";
});
drop.addEventListener("submit", (event) => event.preventDefault());

// The whole page takes a drop; the zone only shows where.
for (const type of ["dragenter", "dragover"]) {
  document.addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  drop.classList.remove("over");
  take([...event.dataTransfer.files]);
});

function take(files) {
  for (const file of files) queue.push({ file, view: waiting(file.name, file.size), element: card() });
  for (const item of queue) paint(item);
  sendNext();
}

function sendNext() {
  while (sending < AT_ONCE && queue.length) {
    sending += 1;
    const item = queue.shift();
    send(item).finally(() => {
      sending -= 1;
      sendNext();
    });
  }
}

async function send(item) {
  const tell = (event) => {
    item.view = after(item.view, event);
    paint(item);
  };
  try {
    const job = await upload(item.file, tell);
    tell({ type: "accepted", job: job.id, repeated: job.repeated });
    await refresh();
  } catch (fault) {
    tell({ type: "refused", why: fault.message });
  }
}

function card() {
  const element = document.createElement("li");
  element.append(made("span", "name"), made("span", "text small soft"), made("progress"));
  list.append(element);
  return element;
}

function made(tag, className = "") {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}

function paint({ element, view }) {
  element.className = `upload ${view.phase}`;
  const name = element.querySelector(".name");
  name.replaceChildren(view.job ? linkTo(view) : view.name);
  element.querySelector(".text").textContent = view.text;
  const bar = element.querySelector("progress");
  bar.setAttribute("aria-label", `Upload of ${view.name}`);
  bar.hidden = view.phase === "refused" || view.phase === "accepted";
  bar.max = Math.max(1, view.size);
  bar.value = view.sent;
}

function linkTo(view) {
  const link = document.createElement("a");
  link.href = `/jobs/${view.job}/`;
  link.textContent = view.name;
  return link;
}

async function refresh() {
  const here = new URL(location.href);
  here.searchParams.set("part", "rows");
  const parts = await getPart(here);
  const kept = new Set(chosen().map((box) => box.value));
  rows.replaceChildren(...parts);
  for (const box of boxes()) box.checked = kept.has(box.value);
  tellChosen();
  follow();
}

function boxes() {
  return [...rows.querySelectorAll("input[name=job]")];
}

function chosen() {
  return boxes().filter((box) => box.checked);
}

function choose(all) {
  for (const box of boxes()) box.checked = all;
  tellChosen();
}

/** What can be done with jobs shows where some are chosen. */
function tellChosen() {
  const many = chosen().length;
  const bar = document.getElementById("chosen");
  if (!bar) return;
  bar.classList.toggle("some", many > 0);
  bar.querySelector("[data-chosen]").textContent = many === 1 ? "With the chosen job:" : `With the ${many} chosen jobs:`;
  const all = document.getElementById("choose-all");
  all.checked = many > 0 && many === boxes().length;
  all.indeterminate = many > 0 && many < boxes().length;
}

function follow() {
  following.forEach((stop) => stop());
  following = followProgress(rows, () => refresh());
}

rows.addEventListener("change", (event) => {
  if (event.target.id === "choose-all") choose(event.target.checked);
  else if (event.target.name === "job") tellChosen();
});

// A choice is made once it is made; words wait for Enter.
document.addEventListener("change", (event) => {
  if (event.target.matches?.(".job-find select")) event.target.form.requestSubmit();
});
bindKeys([
  { keys: ["/"], what: "find jobs", run: () => document.querySelector("[data-find]")?.focus() },
  { keys: ["a"], what: "choose all jobs shown, or none", run: () => choose(chosen().length < boxes().length) },
]);

// A row says queued until its work begins: then it is asked for anew, once for each state.
const asked = new Set();
rows.addEventListener("progressed", ({ target, detail }) => {
  const row = target.closest("tr");
  const state = `${row?.id} ${detail.status}`;
  if (!row || asked.has(state) || row.querySelector(".status-cell").textContent.includes(detail.status)) return;
  asked.add(state);
  refresh().catch(() => undefined);
});
follow();
tellChosen();
