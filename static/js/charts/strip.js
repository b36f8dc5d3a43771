// The strip of all steps, or of a part of them, on one canvas: lanes by what steps touch, states, hits, notes, the cursor.
import { layoutHits, layoutNotes, layoutStrip, placeOf, stepAt } from "../layout/strip.js";
import { colours, diamond, down, shortened, triangle } from "./strip_marks.js";

const LANES = [
  { name: "recovery", groups: ["step-recovery"] },
  { name: "inputs", groups: ["step-input"] },
  { name: "log", groups: ["step-determinant"] },
  { name: "outputs", groups: ["step-output"] },
  { name: "state", groups: ["step-state", "step-finish", "step-diverge"] },
];
const LANE = 11;
const TOP = 10;
const HITS_TOP = TOP + LANES.length * LANE;
const NOTES_TOP = HITS_TOP + LANE;
const FOOT = NOTES_TOP + LANE;
const HEIGHT = FOOT + 14;
const GUTTER = 64;
const REACH_PX = 8;

export function strip(element) {
  const canvas = element.appendChild(document.createElement("canvas"));
  canvas.setAttribute("aria-hidden", "true");
  const tip = element.appendChild(Object.assign(document.createElement("div"), { className: "strip-tip", hidden: true }));
  tip.setAttribute("aria-hidden", "true");
  let data;
  let view = { first: 0, end: 1 };
  let step = 0;
  let wholePx = 0;
  let widthPx = 0;
  let background;
  let hits = { stops: [], found: [] };
  let notes = [];
  let range;

  const shape = () => ({ steps: data.steps, binCount: data.binCount, widthPx, view });
  const place = (one) => placeOf(one, { view, widthPx });

  function resize() {
    wholePx = canvas.clientWidth;
    widthPx = wholePx - GUTTER - 6;
    anew();
  }

  function anew() {
    background = undefined;
    paint();
  }

  /** Columns are painted once; a step only moves the cursor over them. */
  function paint() {
    if (!data || widthPx <= 0) return;
    const ratio = window.devicePixelRatio || 1;
    if (!background) background = painted(ratio);
    canvas.width = wholePx * ratio;
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext("2d");
    context.drawImage(background, 0, 0);
    context.scale(ratio, ratio);
    context.translate(GUTTER, 0);
    if (range) paintRange(context);
    paintCursor(context);
  }

  function painted(ratio) {
    const copy = document.createElement("canvas");
    copy.width = wholePx * ratio;
    copy.height = HEIGHT * ratio;
    const context = copy.getContext("2d");
    context.scale(ratio, ratio);
    const colour = colours(element);
    paintNames(context, colour);
    context.translate(GUTTER, 0);
    context.beginPath();
    context.rect(-5, 0, widthPx + 10, HEIGHT);
    context.clip();
    paintCells(context, colour);
    for (const mark of data.marks) if (mark.step >= view.first && mark.step < view.end) paintMark(context, mark, colour);
    paintHits(context, hits.stops, colour("step-diverge"), triangle);
    paintHits(context, hits.found, colour("ink"), diamond);
    paintNotes(context, colour);
    return copy;
  }

  function paintNames(context, colour) {
    context.font = `500 11px ${colour("font-text")}`;
    context.textBaseline = "middle";
    [...LANES, { name: "hits" }, { name: "notes" }].forEach(({ name }, lane) => {
      const middle = TOP + lane * LANE + (LANE - 2) / 2;
      context.fillStyle = colour("panel-sunk");
      context.fillRect(GUTTER, middle - (LANE - 2) / 2, widthPx, LANE - 2);
      context.fillStyle = colour("ink-faint");
      context.fillText(name, 0, middle + 0.5);
    });
  }

  /** Until the part that is looked at has come from the server, what is there is drawn as large as it would be. */
  function paintCells(context, colour) {
    const [first, end] = [data.first ?? 0, data.end ?? data.steps];
    const scale = (end - first) / Math.max(1, view.end - view.first);
    const shift = place(first - 0.5);
    for (const cell of layoutStrip(data.bins, { ...data, steps: end - first, widthPx, lanes: LANES, laneHeightPx: LANE })) {
      const [x, width] = [shift + cell.x * scale, Math.max(1, cell.width * scale)];
      context.fillStyle = colour(cell.group);
      context.globalAlpha = 0.25 + 0.75 * cell.share;
      context.fillRect(x, TOP + cell.y, width > 4 ? width - 1 : width, cell.height);
    }
    context.globalAlpha = 1;
  }

  function paintMark(context, mark, colour) {
    const diverged = mark.kind === "diverge";
    context.fillStyle = colour(diverged ? "step-diverge" : "ink-faint");
    if (diverged) triangle(context, place(mark.step), FOOT + 2, 8);
    else down(context, place(mark.step), 2);
  }

  /** Few hits stand as triangles, many as a band that is fuller where there are more. */
  function paintHits(context, bins, colour, mark) {
    context.fillStyle = colour;
    for (const { x, width, share, alone } of layoutHits(bins, shape())) {
      context.globalAlpha = alone ? 1 : 0.35 + 0.65 * share;
      if (!alone) context.fillRect(x, HITS_TOP, width, LANE - 2);
      else mark(context, x + width / 2, HITS_TOP, LANE - 2);
    }
    context.globalAlpha = 1;
  }

  /** A pin on a step, a bar over a range, and the beginning of what they say where there is room for it. */
  function paintNotes(context, colour) {
    const shown = layoutNotes(notes, shape());
    shown.forEach(({ x, width, note }, place_) => {
      context.fillStyle = colour("accent");
      context.fillRect(x - 1.5, NOTES_TOP, Math.max(3, width), LANE - 2);
      if (width <= 0) context.fillRect(x - 1.5, NOTES_TOP, 7, 4);
      const begin = x + Math.max(8, width + 4);
      const room = (shown[place_ + 1]?.x ?? widthPx) - begin - 6;
      context.fillStyle = colour("ink-soft");
      context.fillText(shortened(context, note.text, room), begin, NOTES_TOP + LANE / 2);
    });
  }

  function paintRange(context) {
    const [left, right] = [place(range.first - 0.5), place(range.last + 0.5)];
    context.fillStyle = colours(element)("accent");
    context.globalAlpha = 0.22;
    context.fillRect(left, TOP - 2, Math.max(2, right - left), FOOT - TOP + 2);
    context.globalAlpha = 1;
  }

  function paintCursor(context) {
    if (step < view.first || step >= view.end) return;
    const colour = colours(element);
    const x = place(step);
    context.fillStyle = colour("panel");
    context.fillRect(x - 2, 6, 4, HEIGHT - 14);
    context.fillStyle = colour("accent");
    context.fillRect(x - 1, 6, 2, HEIGHT - 14);
    context.beginPath();
    context.arc(x, HEIGHT - 7, 5, 0, 2 * Math.PI);
    context.fill();
  }

  // --- pointing ---

  function at(event) {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left - GUTTER, y: event.clientY - box.top };
  }

  function nearest(all, x) {
    const near = all.map((one) => ({ one, apart: Math.abs(place(one.first) - x) })).sort((one, other) => one.apart - other.apart)[0];
    return near && near.apart <= REACH_PX ? near.one : undefined;
  }

  /** What lies under the pointer: its step, and the hit or the note that is meant. */
  function under(event) {
    const { x, y } = at(event);
    const plain = { step: stepAt(x, { view, widthPx }) };
    if (y >= HITS_TOP && y < NOTES_TOP) {
      const hit = nearest([...hits.stops, ...hits.found], x);
      return hit ? { step: hit.first, hits: hit.hits } : plain;
    }
    if (y < NOTES_TOP || y >= FOOT) return plain;
    const on = notes.find(({ first, last }) => last > first && place(first) <= x && x <= place(last)) ?? nearest(notes, x);
    return on ? { step: on.first, note: on } : plain;
  }

  function showTip(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { x } = at(event);
    tip.style.left = `${Math.min(Math.max(0, x + GUTTER - tip.offsetWidth / 2), Math.max(0, wholePx - tip.offsetWidth))}px`;
  }

  return {
    resize,
    under,
    showTip,
    hideTip: () => (tip.hidden = true),
    stepAt: (event) => under(event).step,
    /** The step under the pointer itself, whatever mark is near. */
    placeAt: (event) => stepAt(at(event).x, { view, widthPx }),
    data(value) {
      data = value;
      anew();
    },
    view(value) {
      view = value;
      anew();
    },
    step(value) {
      step = value;
      paint();
    },
    hits(value) {
      hits = value;
      anew();
    },
    notes(value) {
      notes = value;
      anew();
    },
    /** Steps that are being marked with the pointer; undefined ends it. */
    range(value) {
      range = value;
      paint();
    },
  };
}
