// The strip of all steps, or of a part of them, on one canvas: lanes by what steps touch, or by the task whose they are,
// with states, hits, notes and the cursor.
import { layoutHits, layoutNotes, layoutStrip, placeOf, shapeOf, stepAt } from "../layout/strip.js";
import { colours, diamond, down, shortened, triangle } from "./strip_marks.js";

const KINDS = [
  { name: "recovery", groups: ["step-recovery"] },
  { name: "inputs", groups: ["step-input"] },
  { name: "log", groups: ["step-determinant"] },
  { name: "outputs", groups: ["step-output"] },
  { name: "state", groups: ["step-state", "step-finish", "step-diverge"] },
];
const REACH_PX = 8;
const fontOf = (colour) => `500 11px ${colour("font-text")}`;

export function strip(element) {
  const canvas = element.appendChild(document.createElement("canvas"));
  canvas.setAttribute("aria-hidden", "true");
  const tip = element.appendChild(Object.assign(document.createElement("div"), { className: "strip-tip", hidden: true }));
  tip.setAttribute("aria-hidden", "true");
  let data;
  let lanes = KINDS;
  let at = shapeOf({ lanes: KINDS.length, byTask: false, wholePx: 0 });
  let view = { first: 0, end: 1 };
  let step = 0;
  let wholePx = 0;
  let cells = [];
  let background;
  let hits = { stops: [], found: [] };
  let notes = [];
  let range;

  const shape = () => ({ steps: data.steps, binCount: data.binCount, widthPx: at.widthPx, view });
  const place = (one) => placeOf(one, { view, widthPx: at.widthPx });

  /** Where everything stands, when there is more or less room, or other lanes came. */
  function resize() {
    wholePx = canvas.clientWidth;
    at = shapeOf({ lanes: lanes.length, byTask: lanes !== KINDS, wholePx, namePx: widestName() });
    canvas.style.height = `${at.heightPx}px`;
    anew();
  }

  function widestName() {
    const context = canvas.getContext("2d");
    context.font = fontOf(colours(element));
    return Math.max(...lanes.map(({ name }) => context.measureText(name).width));
  }

  function anew() {
    background = undefined;
    paint();
  }

  /** Columns are painted once; a step only moves the cursor over them. */
  function paint() {
    if (!data || at.widthPx <= 0) return;
    const ratio = window.devicePixelRatio || 1;
    if (!background) background = painted(ratio);
    canvas.width = wholePx * ratio;
    canvas.height = at.heightPx * ratio;
    const context = canvas.getContext("2d");
    context.drawImage(background, 0, 0);
    context.scale(ratio, ratio);
    context.translate(at.gutterPx, 0);
    if (range) paintRange(context);
    paintCursor(context);
  }

  function painted(ratio) {
    const copy = document.createElement("canvas");
    copy.width = wholePx * ratio;
    copy.height = at.heightPx * ratio;
    const context = copy.getContext("2d");
    context.scale(ratio, ratio);
    const colour = colours(element);
    paintNames(context, colour);
    context.translate(at.gutterPx, 0);
    context.beginPath();
    context.rect(-5, 0, at.widthPx + 10, at.heightPx);
    context.clip();
    paintCells(context, colour);
    for (const mark of data.marks) if (mark.step >= view.first && mark.step < view.end) paintMark(context, mark, colour);
    paintHits(context, hits.stops, colour("step-diverge"), triangle);
    paintHits(context, hits.found, colour("ink"), diamond);
    paintNotes(context, colour);
    return copy;
  }

  function paintNames(context, colour) {
    context.font = fontOf(colour);
    context.textBaseline = "middle";
    const name = (text, topPx, heightPx) => {
      context.fillStyle = colour("panel-sunk");
      context.fillRect(at.gutterPx, topPx, at.widthPx, heightPx - 2);
      context.fillStyle = colour("ink-faint");
      context.fillText(shortened(context, text, at.gutterPx - 8), 0, topPx + (heightPx - 2) / 2 + 0.5);
    };
    lanes.forEach((lane, number) => name(lane.name, at.topPx + number * at.lanePx, at.lanePx));
    name("hits", at.hitsPx, at.rowPx);
    name("notes", at.notesPx, at.rowPx);
  }

  /** Until the part that is looked at has come from the server, what is there is drawn as large as it would be. */
  function paintCells(context, colour) {
    const [first, end] = [data.first ?? 0, data.end ?? data.steps];
    const scale = (end - first) / Math.max(1, view.end - view.first);
    const shift = place(first - 0.5);
    cells = layoutStrip(data.bins, { ...data, steps: end - first, widthPx: at.widthPx, lanes, laneHeightPx: at.lanePx });
    for (const cell of cells) {
      const [x, width] = [shift + cell.x * scale, Math.max(1, cell.width * scale)];
      context.fillStyle = colour(cell.group);
      context.globalAlpha = 0.25 + 0.75 * cell.share;
      context.fillRect(x, at.topPx + cell.y, width > 4 ? width - 1 : width, cell.height);
    }
    context.globalAlpha = 1;
  }

  function paintMark(context, mark, colour) {
    const diverged = mark.kind === "diverge";
    context.fillStyle = colour(diverged ? "step-diverge" : "ink-faint");
    if (mark.lane !== undefined) {
      context.fillStyle = colour(diverged ? "step-diverge" : "ink");
      context.fillRect(place(mark.step) - 0.75, at.topPx + mark.lane * at.lanePx - 1, 1.5, at.lanePx);
    }
    if (diverged) triangle(context, place(mark.step), at.footPx + 2, 8);
    else if (mark.lane === undefined) down(context, place(mark.step), 2);
  }

  /** Few hits stand as triangles, many as a band that is fuller where there are more. */
  function paintHits(context, bins, colour, mark) {
    context.fillStyle = colour;
    for (const { x, width, share, alone } of layoutHits(bins, shape())) {
      context.globalAlpha = alone ? 1 : 0.35 + 0.65 * share;
      if (!alone) context.fillRect(x, at.hitsPx, width, at.rowPx - 2);
      else mark(context, x + width / 2, at.hitsPx, at.rowPx - 2);
    }
    context.globalAlpha = 1;
  }

  /** A pin on a step, a bar over a range, and the beginning of what they say where there is room for it. */
  function paintNotes(context, colour) {
    const shown = layoutNotes(notes, shape());
    shown.forEach(({ x, width, note }, place_) => {
      context.fillStyle = colour("accent");
      context.fillRect(x - 1.5, at.notesPx, Math.max(3, width), at.rowPx - 2);
      if (width <= 0) context.fillRect(x - 1.5, at.notesPx, 7, 4);
      const begin = x + Math.max(8, width + 4);
      const room = (shown[place_ + 1]?.x ?? at.widthPx) - begin - 6;
      context.fillStyle = colour("ink-soft");
      context.fillText(shortened(context, note.text, room), begin, at.notesPx + at.rowPx / 2);
    });
  }

  function paintRange(context) {
    const [left, right] = [place(range.first - 0.5), place(range.last + 0.5)];
    context.fillStyle = colours(element)("accent");
    context.globalAlpha = 0.22;
    context.fillRect(left, at.topPx - 2, Math.max(2, right - left), at.footPx - at.topPx + 2);
    context.globalAlpha = 1;
  }

  function paintCursor(context) {
    if (step < view.first || step >= view.end) return;
    const colour = colours(element);
    const x = place(step);
    context.fillStyle = colour("panel");
    context.fillRect(x - 2, 6, 4, at.heightPx - 14);
    context.fillStyle = colour("accent");
    context.fillRect(x - 1, 6, 2, at.heightPx - 14);
    context.beginPath();
    context.arc(x, at.heightPx - 7, 5, 0, 2 * Math.PI);
    context.fill();
  }

  // --- pointing ---

  function pointed(event) {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left - at.gutterPx, y: event.clientY - box.top };
  }

  function nearest(all, x) {
    const near = all.map((one) => ({ one, apart: Math.abs(place(one.first) - x) })).sort((one, other) => one.apart - other.apart)[0];
    return near && near.apart <= REACH_PX ? near.one : undefined;
  }

  /** The task whose lane lies under the pointer, where there is a lane for each. */
  function laneAt(y) {
    return lanes === KINDS ? undefined : lanes[Math.floor((y - at.topPx) / at.lanePx)];
  }

  /** The first step of the task's in what is drawn under the pointer. */
  function ofLane(lane, x) {
    const scale = ((data.end ?? data.steps) - (data.first ?? 0)) / Math.max(1, view.end - view.first);
    const shift = place((data.first ?? 0) - 0.5);
    const near = cells
      .filter((cell) => lanes[cell.lane] === lane)
      .map((cell) => ({ step: cell.first, apart: Math.max(shift + cell.x * scale - x, x - shift - (cell.x + cell.width) * scale, 0) }))
      .sort((one, other) => one.apart - other.apart)[0];
    return near && near.apart <= REACH_PX ? near.step : undefined;
  }

  /** What lies under the pointer: its step, and the lane, the hit or the note that is meant. */
  function under(event) {
    const { x, y } = pointed(event);
    const lane = laneAt(y);
    const plain = { step: (lane && ofLane(lane, x)) ?? stepAt(x, { view, widthPx: at.widthPx }), lane, named: x < 0 };
    if (y >= at.hitsPx && y < at.notesPx) {
      const hit = nearest([...hits.stops, ...hits.found], x);
      return hit ? { step: hit.first, hits: hit.hits } : plain;
    }
    if (y < at.notesPx || y >= at.footPx) return plain;
    const on = notes.find(({ first, last }) => last > first && place(first) <= x && x <= place(last)) ?? nearest(notes, x);
    return on ? { step: on.first, note: on } : plain;
  }

  function showTip(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { x } = pointed(event);
    tip.style.left = `${Math.min(Math.max(0, x + at.gutterPx - tip.offsetWidth / 2), Math.max(0, wholePx - tip.offsetWidth))}px`;
  }

  return {
    resize,
    under,
    showTip,
    hideTip: () => (tip.hidden = true),
    stepAt: (event) => under(event).step,
    /** The step under the pointer itself, whatever mark is near. */
    placeAt: (event) => stepAt(pointed(event).x, { view, widthPx: at.widthPx }),
    data(value) {
      data = value;
      lanes = value.lanes?.map(({ task, more }) => ({ name: task ?? `${more} more`, task })) ?? KINDS;
      resize();
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
