// What of a step can be shown at once from its row: the sentence, the state, where it stands. Panels follow.
import { addressWith } from "../state/cursor.js";
import { count, moment } from "../state/format.js";

/** Shows a row; kinds are those of the page, by name. */
export function showRow(row, kinds) {
  const shown = document.getElementById("now");
  if (!shown || !row) return;
  shown.dataset.shown = row.step;
  document.getElementById("sentence-text").textContent = row.text ?? "";
  document.getElementById("sentence-kind").replaceChildren(glyph(row.kind, kinds));
  const whose = document.querySelector("#where strong");
  const facts = [row.kind, row.actor, row.epoch != null && `epoch ${count(row.epoch)}`, row.record_count != null && `record ${count(row.record_count)}`,
    row.t_us != null && `at ${moment(row.t_us)}`, row.log && `${row.log}${row.log_offset != null ? ` byte ${count(row.log_offset)}` : ""}`];
  document.getElementById("where").replaceChildren(...facts.filter(Boolean).map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  if (whose) document.getElementById("where").prepend(Object.assign(whose, { textContent: row.task }));
  for (const lane of shown.querySelectorAll("[data-lane]")) {
    if (lane.dataset.lane === row.task) lane.setAttribute("aria-current", "true");
    else lane.removeAttribute("aria-current");
  }
  // Another task has been in other states: its diagram comes with its panels.
  if (whose && shown.dataset.of !== row.task) return;
  for (const item of shown.querySelectorAll(".diagram li")) showState(item, row);
}

/** The step that was asked for has not come yet, or no server answers: no other one is passed off as it. */
export function showAwaited(step) {
  const shown = document.getElementById("now");
  if (!shown || Number(shown.dataset.shown) === step) return; // as the server sent it
  delete shown.dataset.shown;
  document.getElementById("sentence-text").textContent = `Step ${count(step)} has not come yet.`;
  document.getElementById("sentence-kind").replaceChildren();
  for (const item of shown.querySelectorAll(".diagram .current")) {
    item.className = "";
    item.removeAttribute("aria-current");
  }
  const whose = document.querySelector("#where strong");
  document.getElementById("where").replaceChildren(...(whose ? [Object.assign(whose, { textContent: "" })] : []));
}

function showState(item, row) {
  const current = item.dataset.state === row.state;
  const first = item.dataset.first === "" ? undefined : Number(item.dataset.first);
  item.className = current ? "current" : first === undefined ? "never" : first > row.step ? "to-come" : "";
  if (current) item.setAttribute("aria-current", "step");
  else item.removeAttribute("aria-current");
}

function glyph(name, kinds) {
  const kind = kinds.get(name) ?? { letter: "?", shape: "square", colour: "step-state", meaning: name };
  const shown = document.createElement("span");
  shown.className = `kind ${kind.colour} ${kind.shape}`;
  shown.title = `${name}: ${kind.meaning}`;
  shown.append(Object.assign(document.createElement("span"), { textContent: kind.letter, ariaHidden: "true" }));
  shown.append(Object.assign(document.createElement("span"), { textContent: name, className: "visually-hidden" }));
  return shown;
}

/** The links and the field in the header, which must be right even when somebody opens one in a new window. */
export function showSteering(step, last) {
  const link = (id, to) => document.getElementById(id)?.setAttribute("href", addressWith(location.href, { step: to, keys: undefined }));
  link("back", Math.max(0, step - 1));
  link("forward", Math.min(last, step + 1));
  link("last-step", last);
  for (const moving of document.querySelectorAll("a[data-go]")) {
    const address = new URL(moving.href);
    address.searchParams.set("step", step);
    moving.href = address.pathname + address.search;
  }
  for (const follows of document.querySelectorAll("input[data-follows]")) follows.value = step;
  document.title = document.title.replace(/^Step (\d|,\d)+/, `Step ${count(step)}`);
  const field = document.getElementById("step-field");
  if (field && document.activeElement !== field) field.value = count(step);
  document.getElementById("last").textContent = count(last);
  document.getElementById("back").setAttribute("aria-disabled", String(step === 0));
  document.getElementById("forward").setAttribute("aria-disabled", String(step === last));
}

/** Puts panels in the place of those with the same id, and keeps the focus on the same element, if it still is there. */
export function putPanels(nodes) {
  const active = document.activeElement;
  for (const node of nodes) {
    const old = node.id ? document.getElementById(node.id) : undefined;
    if (!old || (node.dataset.same !== undefined && node.dataset.same === old.dataset.same) || (node.dataset.ofStep === old.dataset.ofStep && isWrittenIn(old))) continue;
    const [focused, opened] = [old.contains(active) ? pathTo(active) : undefined, Boolean(old.querySelector("details[open]"))];
    old.replaceWith(node);
    if (opened) for (const details of node.querySelectorAll("details")) details.open = true;
    if (focused) node.querySelector(focused)?.focus();
  }
}

/** A panel of the same step in which somebody has begun to write stays as it is. */
function isWrittenIn(panel) {
  return "ofStep" in panel.dataset && [...panel.querySelectorAll("input[type=text]")].some((field) => field.value !== field.defaultValue);
}

function pathTo(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.dataset.window) return `[data-window="${element.dataset.window}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : undefined;
}
