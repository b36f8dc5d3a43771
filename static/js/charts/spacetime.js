// The space-time diagram on one canvas: bands of epochs, lanes with what their tasks were doing, fronts of barriers, and
// buffers as arrows. Nothing is kept between two paintings, so that every frame of a move is painted anew.
import { HEAD_PX, cornersOf, scaleOf, ticksIn, tickText, wayOf, withRoom } from "../layout/lanes.js";
import { moment } from "../state/format.js";
import { colours, shortened } from "./strip_marks.js";

const STATES = { Running: "scale-2", Failed: "bad", Suspected: "warn", Standby: "line-strong", WaitingConnections: "kind-source-checkpoint", WaitingDeterminants: "kind-rng", Replaying: "kind-order" };
const ARROW_PX = 5;
const HEAD_FROM_PX = 7; // a shorter arrow is nothing but its head
const BANDS = 1_200; // of more marks bands lie upon one another until nothing is told apart, and cost more than a frame
const GOLDEN = 0.618034; // its multiples lie evenly, however many there are

/** `picture`: {scene, placed, rows, fronts, reach, chosen, hovered, view}. */
export function paintSpacetime(canvas, picture, { widthPx, ratio }) {
  const heightPx = picture.placed.heightPx;
  canvas.width = Math.round(widthPx * ratio);
  canvas.height = Math.round(heightPx * ratio);
  canvas.style.height = `${heightPx}px`;
  const context = canvas.getContext("2d");
  const paint = { context, colour: colours(canvas), widthPx, heightPx, ...scaleOf(picture.view, widthPx), ...picture };
  context.scale(ratio, ratio);
  context.font = `500 11px ${paint.colour("font-text")}`;
  context.textBaseline = "middle";
  paintBands(paint);
  paintTicks(paint);
  paintLanes(paint);
  paintLost(paint);
  paintReach(paint);
  paintFronts(paint);
  paintWays(paint);
  paintMarks(paint);
  paintSpans(paint);
  paintFailures(paint);
  paintCut(paint);
}

function paintBands({ context, colour, scene, x, widthPx, heightPx }) {
  scene.epochs.forEach((one, n) => {
    const [left, right] = [Math.max(0, x(one.startUs)), Math.min(widthPx, x(one.endUs))];
    if (right <= left) return;
    context.fillStyle = colour("panel-sunk");
    context.globalAlpha = n % 2 ? 0.35 : 0.85;
    context.fillRect(left, 0, right - left, heightPx);
    context.globalAlpha = 1;
    context.fillStyle = colour("ink-soft");
    const text = right - left > 58 ? `epoch ${one.epoch}` : `${one.epoch}`;
    if (context.measureText(text).width + 10 < right - left) context.fillText(text, left + 6, 11);
  });
}

function paintTicks({ context, colour, view, x, widthPx, heightPx }) {
  const { ticks, stepUs } = ticksIn(view, widthPx);
  for (const tUs of ticks) {
    context.fillStyle = colour("line");
    context.fillRect(x(tUs), 36, 1, heightPx - 36);
    context.fillStyle = colour("ink-faint");
    context.fillText(tickText(tUs, stepUs), x(tUs) + 4, 29);
  }
}

function paintLanes({ context, colour, placed, widthPx }) {
  for (const lane of placed.lanes) {
    context.fillStyle = colour("line");
    context.fillRect(0, Math.round(lane.middle), widthPx, 1);
  }
}

/** What a task was doing: thin where it just ran, a block of its colour where it did anything else. */
function paintSpans({ context, colour, placed, scene, x, widthPx, reach }) {
  for (const lane of placed.lanes) {
    for (const task of lane.tasks) {
      for (const span of scene.spans[task] ?? []) {
        const [left, right] = [x(span.startUs), x(span.endUs)];
        if (right < 0 || left > widthPx) continue;
        const running = span.state === "Running";
        if (lane.folded && running) continue;
        const height = running ? 3 : Math.min(12, lane.heightPx * 0.45);
        context.globalAlpha = running && reach ? 0.3 : 1;
        context.fillStyle = colour(STATES[span.state] ?? "kind-timestamp");
        context.fillRect(left, lane.middle - height / 2, Math.max(running ? 1 : 2.5, right - left), height);
        context.globalAlpha = 1;
        const named = !running && right - left > 60 ? span.state : running && span.attempt ? `attempt ${span.attempt}` : "";
        if (named && lane.heightPx >= 22 && !lane.folded) paintName({ context, colour }, named, Math.max(4, left + 6), running ? lane.middle - 8 : lane.middle, running ? "ink-faint" : "kind-ink", right);
      }
    }
    if (lane.folded) {
      context.fillStyle = colour("scale-2");
      context.fillRect(0, lane.middle - 3, widthPx, 6);
    }
  }
}

function paintName({ context, colour }, text, x, y, ink, endX) {
  const shown = shortened(context, text, endX - x - 6);
  if (!shown) return;
  if (ink === "ink-faint") {
    context.globalAlpha = 0.8;
    context.fillStyle = colour("panel");
    context.fillRect(x - 2, y - 6, context.measureText(shown).width + 4, 12);
    context.globalAlpha = 1;
  }
  context.fillStyle = colour(ink);
  context.fillText(shown, x, y);
}

/** Hatched: what had to be done again, with the checkpoint that it went back to. */
function paintLost({ context, colour, placed, scene, x, widthPx }) {
  const laneOf = new Map(placed.lanes.flatMap((lane) => lane.tasks.map((task) => [task, lane])));
  for (const one of scene.lost) {
    const lane = laneOf.get(one.task);
    const [left, right] = [Math.max(-10, x(one.startUs)), Math.min(widthPx + 10, x(one.endUs))];
    if (!lane || right < 0 || left > widthPx) continue;
    const height = Math.min(22, lane.heightPx - 6);
    context.save();
    context.beginPath();
    context.rect(left, lane.middle - height / 2, Math.max(2, right - left), height);
    context.fillStyle = colour("bad-soft");
    context.fill();
    context.clip();
    context.strokeStyle = colour("bad");
    context.globalAlpha = 0.35;
    context.beginPath();
    for (let at = left - height; at < right; at += 7) context.moveTo(at, lane.middle + height / 2), context.lineTo(at + height, lane.middle - height / 2);
    context.stroke();
    context.restore();
  }
}

/** Where the causes of what is selected end on each lane, and where its effects begin. */
function paintReach({ context, colour, placed, scene, reach, x, widthPx }) {
  if (!reach) return;
  const laneOf = new Map(placed.lanes.flatMap((lane) => lane.tasks.map((task) => [task, lane])));
  for (const one of reach) {
    const lane = laneOf.get(one.task);
    if (!lane) continue;
    const life = (scene.spans[one.task] ?? []).filter((span) => span.attempt === one.attempt && span.state !== "Failed");
    const begin = life.length ? life[0].startUs : 0;
    const end = life.length ? life.at(-1).endUs : scene.durationUs;
    if (one.past_us != null || one.whole_past) band(begin, one.past_us ?? end, "kind-timestamp");
    if (one.future_us != null || one.whole_future) band(one.future_us ?? begin, end, "kind-order");
    function band(fromUs, toUs, name) {
      const [left, right] = [Math.max(0, x(fromUs)), Math.min(widthPx, x(toUs))];
      if (right <= left) return;
      context.fillStyle = colour(name);
      context.globalAlpha = lane.folded ? 0.1 : 0.2;
      context.fillRect(left, lane.top + 3, right - left, lane.heightPx - 6);
      context.globalAlpha = 1;
      if (name === "kind-timestamp" && x(toUs) <= widthPx) context.fillRect(right - 2, lane.top + 3, 2, lane.heightPx - 6);
      if (name === "kind-order" && x(fromUs) >= 0) context.fillRect(left, lane.top + 3, 2, lane.heightPx - 6);
    }
  }
}

/** A line from snapshot to snapshot, and on each lane a bar from the first barrier to the last. */
function paintFronts({ context, colour, placed, fronts, x, widthPx, reach }) {
  let before;
  context.globalAlpha = reach ? 0.45 : 1;
  for (const one of fronts) {
    const lane = placed.lanes[one.lane];
    const [first, last, done] = [x(one.first), x(one.last), x(one.done)];
    context.strokeStyle = colour("kind-source-checkpoint");
    context.fillStyle = colour("kind-source-checkpoint");
    if (before?.checkpoint === one.checkpoint && Math.max(done, before.x) > 0 && Math.min(done, before.x) < widthPx) {
      context.lineWidth = 1.25;
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(before.x, before.y);
      context.lineTo(done, lane.middle);
      context.stroke();
      context.setLineDash([]);
    }
    before = { checkpoint: one.checkpoint, x: done, y: lane.middle };
    if (done < -8 || first > widthPx + 8) continue;
    if (last - first > 1.5) {
      context.globalAlpha *= 0.35;
      context.fillRect(first, lane.middle - 6, last - first, 12);
      context.globalAlpha = reach ? 0.45 : 1;
      context.fillRect(first, lane.middle - 6, 1.5, 12);
      context.fillRect(last - 1.5, lane.middle - 6, 1.5, 12);
    }
    diamond(context, done, lane.middle, 4.5);
  }
  context.globalAlpha = 1;
}

/** Dashed: what went through tasks that are hidden. */
function paintWays({ context, colour, placed, ways, x, widthPx, reach }) {
  context.strokeStyle = context.fillStyle = colour("kind-rng");
  context.lineWidth = 1;
  for (const one of ways) {
    const at = wayOf(one, placed.lanes, x);
    if (Math.max(at.x1, at.x2) < 0 || Math.min(at.x1, at.x2) > widthPx) continue;
    context.globalAlpha = reach ? 0.15 : Math.min(0.65, Math.max(0.12, 160 / ways.length));
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(at.x1, at.y1);
    context.lineTo(at.x2, at.y2);
    context.stroke();
    context.setLineDash([]);
    arrow(context, { x: at.x2, y: at.y2, fromX: at.x1, fromY: at.y1 }, { open: true });
  }
  context.globalAlpha = 1;
}

function paintMarks(paint) {
  const { rows, reach, chosen, hovered } = paint;
  const later = [];
  // Where bands lie above one another, each is the lighter the more there are: what counts is where more went.
  paint.most = rows.reduce((most, { count }) => Math.max(most, count), 1);
  paint.crowd = Math.min(1, Math.sqrt(400 / Math.max(1, rows.length)));
  paint.crowded = rows.length > BANDS;
  for (const one of rows) {
    const lit = one.past > 0 ? "past" : one.future > 0 ? "future" : "";
    if (one.name && one.name === chosen) later.push([one, "chosen"]);
    else if (paint.cut?.marks.has(one.n)) later.push([one, "flight"]);
    else if (one === hovered) later.push([one, lit || "hovered"]);
    else if (reach && lit) later.push([one, lit]);
    else paintMark(paint, one, reach ? "dim" : "plain");
  }
  for (const [one, how] of later) paintMark(paint, one, how);
}

const INK = { plain: "ink-faint", dim: "ink-faint", hovered: "ink", chosen: "ink", past: "kind-timestamp", future: "kind-order", flight: "good" };
const ALPHA = { plain: 0.6, dim: 0.14, hovered: 1, chosen: 1, past: 0.9, future: 0.9, flight: 1 };

function paintMark({ context, colour, placed, x, widthPx, most, crowd, crowded }, one, how) {
  const at = cornersOf(one, placed.lanes, x);
  if (Math.max(at.x1Last, at.x2Last) < -4 || Math.min(at.x1, at.x2) > widthPx + 4) return;
  const many = one.count > 1;
  if (many && crowded && (how === "plain" || how === "dim")) return paintThread({ context, colour, most }, at, one, how);
  context.strokeStyle = context.fillStyle = colour(one.lost ? "bad" : INK[how]);
  context.globalAlpha = ALPHA[how];
  context.lineWidth = how === "chosen" ? 2.75 : how === "hovered" || how === "flight" ? 2 : 1.1;
  if (one.resent) context.setLineDash([4, 3]);
  context.beginPath();
  if (many && at.x1Last - at.x1 + (at.x2Last - at.x2) > 2) {
    context.moveTo(at.x1, at.y1);
    context.lineTo(at.x1Last, at.y1);
    context.lineTo(at.x2Last, at.y2);
    context.lineTo(at.x2, at.y2);
    context.closePath();
    context.globalAlpha = ALPHA[how] * (0.08 + 0.42 * Math.sqrt(one.count / most)) * (how === "plain" || how === "dim" ? crowd : 1);
    context.fill();
    context.globalAlpha = ALPHA[how] * (how === "plain" ? crowd : 1);
    if (how === "chosen" || how === "hovered") context.stroke();
  } else {
    if (many) context.lineWidth += Math.min(3, 0.5 * Math.log2(one.count));
    context.moveTo(at.x1, at.y1);
    context.lineTo(at.x2, at.y2);
    context.stroke();
  }
  context.setLineDash([]);
  const middle = { x: (at.x2 + at.x2Last) / 2, y: at.y2, fromX: (at.x1 + at.x1Last) / 2, fromY: at.y1 };
  if (at.open) cross(context, middle.x, middle.y, 3.5);
  else if (Math.hypot(middle.x - middle.fromX, middle.y - middle.fromY) > HEAD_FROM_PX) arrow(context, middle, { open: how === "future" });
  context.globalAlpha = 1;
}

/** Of very many marks each is one line, somewhere in the stretch that its band would have: not all at one place. */
function paintThread({ context, colour, most }, at, one, how) {
  const share = ((one.source * 7 + one.target) * GOLDEN) % 1;
  context.strokeStyle = colour(one.lost ? "bad" : INK[how]);
  context.globalAlpha = ALPHA[how] * (0.15 + 0.5 * Math.sqrt(one.count / most));
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(at.x1 + (at.x1Last - at.x1) * share, at.y1);
  context.lineTo(at.x2 + (at.x2Last - at.x2) * share, at.y2);
  context.stroke();
  context.globalAlpha = 1;
}

/** Filled; of an effect open, so that the two are told apart without their colours. */
function arrow(context, { x, y, fromX, fromY }, { open }) {
  const angle = Math.atan2(y - fromY, x - fromX);
  const corner = (turn) => [x - ARROW_PX * Math.cos(angle + turn), y - ARROW_PX * Math.sin(angle + turn)];
  context.beginPath();
  context.moveTo(...corner(0.45));
  context.lineTo(x, y);
  context.lineTo(...corner(-0.45));
  if (open) context.stroke();
  else context.fill();
}

function cross(context, x, y, size) {
  context.lineWidth = 1.75;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}

function diamond(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.fill();
}

function paintFailures({ context, colour, placed, scene, chosen, x, widthPx, heightPx }) {
  const laneOf = new Map(placed.lanes.flatMap((lane) => lane.tasks.map((task) => [task, lane])));
  const seen = scene.failures.filter((one) => x(one.failedUs) >= -2 && x(one.failedUs) <= widthPx + 2);
  const texts = seen.map((one) => `${one.task} ${one.suspected ? "suspected" : "failed"} at ${moment(one.failedUs)}`);
  const room = withRoom(seen.map((one, n) => ({ x: x(one.failedUs), widthPx: context.measureText(texts[n]).width })), 20);
  seen.forEach((one, n) => {
    const at = x(one.failedUs);
    const lane = laneOf.get(one.task);
    context.strokeStyle = context.fillStyle = colour(one.suspected ? "warn" : "bad");
    context.lineWidth = chosen === `failure:${one.failure}` ? 2.5 : 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(at, 18);
    context.lineTo(at, heightPx);
    context.stroke();
    context.setLineDash([]);
    if (lane) badge(context, colour, at, lane.middle);
    if (!room[n]) return;
    const width = context.measureText(texts[n]).width;
    const left = at + width + 12 > widthPx ? at - width - 6 : at + 6;
    context.fillStyle = colour("panel");
    context.globalAlpha = 0.85;
    context.fillRect(left - 3, 36, width + 6, 14);
    context.globalAlpha = 1;
    context.fillStyle = colour(one.suspected ? "warn" : "bad");
    context.fillText(texts[n], left, 43);
  });
}

function badge(context, colour, x, y) {
  context.beginPath();
  context.arc(x, y, 7, 0, 2 * Math.PI);
  context.fill();
  context.strokeStyle = colour("panel");
  cross(context, x, y, 2.75);
}

/** A cut is a line from where one task stands to where the next one does; of a folded vertex a bar over all its tasks. */
function paintCut({ context, colour, placed, cut, x, widthPx }) {
  if (!cut) return;
  context.strokeStyle = context.fillStyle = colour("good");
  context.lineWidth = 2;
  context.beginPath();
  cut.line.forEach((one, n) => {
    const lane = placed.lanes[one.lane];
    const at = x(one.last);
    if (n === 0) context.moveTo(at, HEAD_PX - 6);
    context.lineTo(at, lane.top);
    context.lineTo(at, lane.top + lane.heightPx);
  });
  context.stroke();
  for (const one of cut.line) {
    const lane = placed.lanes[one.lane];
    if (one.last > one.first) context.fillRect(x(one.first), lane.middle - 2, x(one.last) - x(one.first), 4);
    const [left, right] = [x(one.last) < 0, x(one.last) > widthPx];
    if (left || right) wedge(context, left ? 8 : widthPx - 8, lane.middle, left ? -6 : 6);
  }
}

/** The line goes on where the window does not. */
function wedge(context, x, y, size) {
  context.beginPath();
  context.moveTo(x + size, y);
  context.lineTo(x, y - 4);
  context.lineTo(x, y + 4);
  context.fill();
}
