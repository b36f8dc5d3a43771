// The names beside the lanes: links that select, fold a vertex into one lane and hide a task. The server makes the lanes.
import { addressWith } from "../state/cursor.js";

const NOTHING = "-";

function link(className, text, title, href) {
  return Object.assign(document.createElement("a"), { className, textContent: text, title, href });
}

/** `lanes` as placed; `hidden` those that have none. */
export function lanesNamed(list, lanes, hidden) {
  const folded = new Set(lanes.filter((one) => one.folded).map((one) => one.vertex));
  const several = (lane) => lanes.filter((one) => one.vertex === lane.vertex).length > 1 || lane.tasks.length > 1;
  list.replaceChildren(...lanes.map((lane) => {
    const item = document.createElement("li");
    Object.assign(item.style, { top: `${lane.top}px`, height: `${lane.heightPx}px` });
    if (lane.heightPx < 20) item.className = "tight";
    item.append(nameOf(lane));
    if (lane.first && several(lane)) item.prepend(foldLink(lane, folded));
    item.append(hideLink(lane, hidden));
    return item;
  }));
}

/** The names once more, beside another picture of the same lanes. */
export function lanesRepeated(list, lanes) {
  list.replaceChildren(...lanes.map((lane) => {
    const item = document.createElement("li");
    Object.assign(item.style, { top: `${lane.top}px`, height: `${lane.heightPx}px` });
    if (lane.heightPx < 20) item.className = "tight";
    item.append(nameOf(lane));
    return item;
  }));
}

function nameOf(lane) {
  const name = document.createElement("span");
  name.dataset.word = "";
  return Object.assign(name, { className: "lane-name", textContent: lane.folded ? `${lane.vertex} ×${lane.tasks.length}` : lane.id, title: lane.folded ? `${lane.vertex}: ${lane.tasks.length} tasks in one lane` : lane.id });
}

function foldLink(lane, folded) {
  const after = new Set(folded);
  if (!after.delete(lane.vertex)) after.add(lane.vertex);
  const words = lane.folded ? `unfold ${lane.vertex} into its tasks` : `fold the tasks of ${lane.vertex} into one lane`;
  const made = link("lane-fold", lane.folded ? "▸" : "▾", words, addressWith(location.href, { folded: [...after].sort().join(",") || NOTHING }));
  made.setAttribute("aria-label", words);
  return made;
}

function hideLink(lane, hidden) {
  const words = `hide ${lane.folded ? lane.vertex : lane.id}`;
  const made = link("lane-hide", "×", words, addressWith(location.href, { hidden: [...new Set([...hidden, ...lane.tasks])].sort().join(",") }));
  made.setAttribute("aria-label", words);
  return made;
}
