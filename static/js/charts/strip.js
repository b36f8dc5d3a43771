// The strip of all steps on one canvas: lanes by what steps touch, states and divergences as marks, the cursor.
import { layoutHits, layoutStrip, placeOf, stepAt } from "../layout/strip.js";

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
const HEIGHT = HITS_TOP + LANE + 14;
const GUTTER = 64;
const HIT_REACH_PX = 8;

export function strip(element) {
  const canvas = element.appendChild(document.createElement("canvas"));
  canvas.setAttribute("aria-hidden", "true");
  let data;
  let step = 0;
  let wholePx = 0;
  let widthPx = 0;
  let background;
  let hits = { stops: [], found: [] };

  function resize() {
    wholePx = canvas.clientWidth;
    widthPx = wholePx - GUTTER - 6;
    background = undefined;
    paint();
  }

  /** Columns are painted once; a step only moves the cursor over them. */
  function paint() {
    if (!data || !widthPx) return;
    const ratio = window.devicePixelRatio || 1;
    if (!background) background = painted(ratio);
    canvas.width = wholePx * ratio;
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext("2d");
    context.drawImage(background, 0, 0);
    context.scale(ratio, ratio);
    context.translate(GUTTER, 0);
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
    for (const cell of layoutStrip(data.bins, { ...data, widthPx, lanes: LANES, laneHeightPx: LANE })) {
      context.fillStyle = colour(cell.group);
      context.globalAlpha = 0.25 + 0.75 * cell.share;
      context.fillRect(cell.x, TOP + cell.y, cell.width > 4 ? cell.width - 1 : cell.width, cell.height);
    }
    context.globalAlpha = 1;
    for (const mark of data.marks) paintMark(context, mark, colour);
    paintHits(context, hits.stops, colour("step-diverge"), triangle);
    paintHits(context, hits.found, colour("ink"), diamond);
    return copy;
  }

  function paintNames(context, colour) {
    context.font = `500 11px ${colour("font-text")}`;
    context.textBaseline = "middle";
    [...LANES, { name: "hits" }].forEach(({ name }, lane) => {
      const middle = TOP + lane * LANE + (LANE - 2) / 2;
      context.fillStyle = colour("panel-sunk");
      context.fillRect(GUTTER, middle - (LANE - 2) / 2, widthPx, LANE - 2);
      context.fillStyle = colour("ink-faint");
      context.fillText(name, 0, middle + 0.5);
    });
  }

  function paintMark(context, mark, colour) {
    const x = placeOf(mark.step, { steps: data.steps, widthPx });
    const diverged = mark.kind === "diverge";
    context.fillStyle = colour(diverged ? "step-diverge" : "ink-faint");
    const y = diverged ? HITS_TOP + LANE + 2 : 2;
    context.beginPath();
    if (diverged) [[x, y], [x + 5, y + 8], [x - 5, y + 8]].forEach(([px, py]) => context.lineTo(px, py));
    else [[x - 4, y], [x + 4, y], [x, y + 6]].forEach(([px, py]) => context.lineTo(px, py));
    context.fill();
  }

  /** Few hits stand as triangles, many as a band that is fuller where there are more. */
  function paintHits(context, bins, colour, shape) {
    context.fillStyle = colour;
    for (const { x, width, share, alone } of layoutHits(bins, { steps: data.steps, binCount: data.binCount, widthPx })) {
      context.globalAlpha = alone ? 1 : 0.35 + 0.65 * share;
      if (!alone) context.fillRect(x, HITS_TOP, width, LANE - 2);
      else shape(context, x + width / 2, HITS_TOP);
    }
    context.globalAlpha = 1;
  }

  function triangle(context, x, y) {
    context.beginPath();
    [[x, y], [x + 5, y + LANE - 2], [x - 5, y + LANE - 2]].forEach(([px, py]) => context.lineTo(px, py));
    context.fill();
  }

  // What was searched for stands on top of what is stopped at, and is told from it by its shape.
  function diamond(context, x, y) {
    context.beginPath();
    const middle = y + (LANE - 2) / 2;
    [[x, y - 1], [x + 4, middle], [x, y + LANE - 1], [x - 4, middle]].forEach(([px, py]) => context.lineTo(px, py));
    context.fill();
  }

  /** A click among the hits means the nearest one. */
  function pointed(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - GUTTER, event.clientY - box.top];
    const all = y >= HITS_TOP && y < HITS_TOP + LANE ? [...hits.stops, ...hits.found] : [];
    const near = all.map(({ first }) => ({ first, apart: Math.abs(placeOf(first, { steps: data.steps, widthPx }) - x) })).sort((one, other) => one.apart - other.apart)[0];
    return near && near.apart <= HIT_REACH_PX ? near.first : stepAt(x, { steps: data?.steps ?? 0, widthPx });
  }

  function paintCursor(context) {
    const colour = colours(element);
    const x = placeOf(step, { steps: data.steps, widthPx });
    context.fillStyle = colour("panel");
    context.fillRect(x - 2, 6, 4, HEIGHT - 14);
    context.fillStyle = colour("accent");
    context.fillRect(x - 1, 6, 2, HEIGHT - 14);
    context.beginPath();
    context.arc(x, HEIGHT - 7, 5, 0, 2 * Math.PI);
    context.fill();
  }

  return {
    resize,
    data(value) {
      data = value;
      background = undefined;
      paint();
    },
    step(value) {
      step = value;
      paint();
    },
    hits(value) {
      hits = value;
      background = undefined;
      paint();
    },
    stepAt: pointed,
  };
}

function colours(element) {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}
