// Where things stand in a space-time diagram: lanes below one another, time to the right, buffers as arrows between lanes.
// Pure geometry: everything in pixels from the left of the first moment and the top of the first lane.

const SIZES = [{ upTo: 14, heightPx: 40 }, { upTo: 26, heightPx: 30 }, { upTo: 60, heightPx: 22 }, { upTo: Infinity, heightPx: 16 }];
const GAP_PX = 12;
export const HEAD_PX = 46;
const LEAST_US = 20;

/** Each lane with its top, its middle and its height; the lanes of a vertex stand closer together than vertices do. */
export function placeLanes(lanes) {
  const { heightPx } = SIZES.find(({ upTo }) => lanes.length <= upTo);
  let top = HEAD_PX;
  const placed = lanes.map((lane, n) => {
    const first = n === 0 || lanes[n - 1].vertex !== lane.vertex;
    if (first && n) top += GAP_PX;
    const at = { ...lane, number: n, first, top, heightPx, middle: top + heightPx / 2 };
    top += heightPx;
    return at;
  });
  return { lanes: placed, heightPx: top + 8, lanePx: heightPx };
}

export function scaleOf({ from, to }, widthPx) {
  const per = widthPx / Math.max(1, to - from);
  return { x: (tUs) => (tUs - from) * per, t: (x) => from + x / per, per };
}

/** The window zoomed about a moment, and never past the ends of the job by more than it is wide. */
export function zoomed(view, factor, aboutUs, durationUs) {
  const width = Math.min(Math.max((view.to - view.from) * factor, LEAST_US), Math.max(LEAST_US, durationUs));
  const share = (aboutUs - view.from) / Math.max(1, view.to - view.from);
  return within({ from: aboutUs - width * share, to: aboutUs + width * (1 - share) }, durationUs);
}

export function panned(view, byUs, durationUs) {
  return within({ from: view.from + byUs, to: view.to + byUs }, durationUs);
}

/** Whole microseconds inside the job; a window that sticks out is moved in. */
export function within({ from, to }, durationUs) {
  const width = Math.min(to - from, Math.max(LEAST_US, durationUs));
  const begin = Math.min(Math.max(from, 0), Math.max(0, durationUs - width));
  return { from: Math.round(begin), to: Math.round(begin + Math.max(1, width)) };
}

/** What to ask the server for: the window and half of it on either side, so that a small move needs no answer. */
export function wanted(view, durationUs) {
  const width = view.to - view.from;
  return { from: Math.max(0, Math.floor(view.from - width / 2)), to: Math.min(Math.max(durationUs, view.to), Math.ceil(view.to + width / 2)) };
}

/** Whether what is there is enough for a window, and not much coarser than what one would get for it. */
export function covers(held, view, durationUs) {
  if (!held) return false;
  const inside = held.from <= view.from && held.to >= Math.min(view.to, Math.max(durationUs, view.to));
  return inside && (held.stepUs === 0 || held.to - held.from <= 2.5 * (wanted(view, durationUs).to - wanted(view, durationUs).from));
}

/** Marks as rows of objects, out of the columns that the server gives. */
export function rowsOf({ marks, pairs, channels }) {
  return marks.count.map((count, n) => {
    const [source, target] = pairs[marks.pair[n]];
    const one = { n, count, source, target };
    for (const name of Object.keys(marks)) if (!["count", "pair"].includes(name)) one[name] = marks[name][n];
    one.channel = one.place === one.place_last ? channels[one.place] : undefined;
    one.name = nameOf(one);
    return one;
  });
}

/** The name that the address has for a mark: buffers of one channel and attempt have one, others are only counted. */
export function nameOf({ channel, attempt, attempt_last, seq, seq_last }) {
  if (channel === undefined || attempt !== attempt_last) return undefined;
  return seq === seq_last ? `buffer:${channel}/${attempt}#${seq}` : `buffers:${channel}/${attempt}#${seq}-${seq_last}`;
}

/** The corners of a mark: on the lane of its sender when it was sent, on that of its receiver when it was taken.
 *  What was never taken ends on the way. */
export function cornersOf(one, lanes, x) {
  const [source, target] = [lanes[one.source], lanes[one.target]];
  const down = target.middle > source.middle ? 1 : -1;
  const lane = Math.min(9, source.heightPx * 0.28);
  const [y1, y2] = [source.middle + down * lane, target.middle - down * lane];
  const [x1, x1Last] = [x(one.sent), x(one.sent_last)];
  if (one.taken == null) return { x1, x1Last, y1, x2: x1 + 4, x2Last: x1Last + 4, y2: y1 + (y2 - y1) * 0.4, open: true };
  return { x1, x1Last, y1, x2: x(one.taken), x2Last: x(one.taken_last), y2, open: false };
}

/** A way through hidden tasks, from lane to lane. */
export function wayOf([source, sent, target, taken], lanes, x) {
  const [from, to] = [lanes[source], lanes[target]];
  const down = to.middle > from.middle ? 1 : -1;
  return { x1: x(sent), y1: from.middle + down * 3, x2: x(taken), y2: to.middle - down * 3 };
}

/** How far a place is from a mark, in pixels: 0 inside it. */
export function distanceTo({ x1, x1Last, y1, x2, x2Last, y2 }, px, py) {
  const [top, bottom] = [Math.min(y1, y2), Math.max(y1, y2)];
  if (py < top - 6 || py > bottom + 6) return Infinity;
  const share = Math.min(1, Math.max(0, (py - y1) / (y2 - y1 || 1)));
  const [left, right] = [x1 + (x2 - x1) * share, x1Last + (x2Last - x1Last) * share];
  return px < left ? left - px : px > right ? px - right : 0;
}

/** The mark nearest to a place, if one is near; of two that are as near the one that holds less. */
export function markAt(rows, lanes, x, px, py, reachPx = 7) {
  let best;
  let least = reachPx;
  for (const one of rows) {
    const away = distanceTo(cornersOf(one, lanes, x), px, py);
    if (away < least || (away === least && best && one.count < best.count)) [best, least] = [one, away];
  }
  return best;
}

/** The mark before or after one on the lane of its sender, by the time at which it was sent. */
export function nextOnLane(rows, current, direction) {
  const own = rows.filter((one) => one.source === current.source && one.name).sort((one, other) => one.sent - other.sent || one.n - other.n);
  const at = own.findIndex((one) => one.name === current.name && one.sent === current.sent);
  if (at >= 0) return own[at + direction];
  return direction > 0 ? own.find((one) => one.sent > current.sent) : own.findLast((one) => one.sent < current.sent);
}

/** Fronts of one checkpoint by lane: of a folded vertex from its first barrier to its last snapshot. */
export function placeFronts(fronts, lanes) {
  const laneOf = new Map(lanes.flatMap((lane) => lane.tasks.map((task) => [task, lane.number])));
  const found = new Map();
  for (const one of fronts) {
    const number = laneOf.get(one.task);
    if (number === undefined) continue;
    const key = `${one.checkpoint} ${number}`;
    const known = found.get(key);
    const [first, last] = [one.first_us ?? one.acknowledged_us, one.last_us ?? one.acknowledged_us];
    if (!known) found.set(key, { checkpoint: one.checkpoint, lane: number, first, last, doneFirst: one.acknowledged_us, done: one.acknowledged_us, tasks: 1 });
    else Object.assign(known, { first: Math.min(known.first, first), last: Math.max(known.last, last), doneFirst: Math.min(known.doneFirst, one.acknowledged_us), done: Math.max(known.done, one.acknowledged_us), tasks: known.tasks + 1 });
  }
  return [...found.values()].sort((one, other) => one.checkpoint - other.checkpoint || one.lane - other.lane);
}

/** Round times in a window, at least so many pixels apart. */
export function ticksIn({ from, to }, widthPx, leastPx = 96) {
  const least = ((to - from) * leastPx) / Math.max(1, widthPx);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const stepUs = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least) ?? 10 * power;
  const ticks = [];
  for (let at = Math.ceil(from / stepUs) * stepUs; at <= to; at += stepUs) ticks.push(at);
  return { stepUs, ticks };
}

/** With as many digits as it takes to tell one from the next. */
export function tickText(tUs, stepUs) {
  const digits = Math.min(6, Math.max(0, 6 - Math.floor(Math.log10(Math.max(1, stepUs)))));
  return `${(tUs / 1e6).toFixed(stepUs >= 1e6 ? 0 : digits)} s`;
}

/** Labels from the left as long as they have room; true where one has. */
export function withRoom(places, roomPx) {
  let free = -Infinity;
  return places.map(({ x, widthPx }) => {
    if (x < free) return false;
    free = x + widthPx + roomPx;
    return true;
  });
}
