// Where the parts of recoveries stand: a lane for each, bars of its parts, the critical path with its hops from lane to lane.

const ROW = { lane: 44, bar: 22, top: 6, inset: 7, path: 5, axis: 28 };
const LEAST_PX = 2;
export const LETTER_PX = 6.4;

/** `span` is [fromUs, toUs], what is in sight; bars are clipped to it, and those outside are left out. */
export function layoutGantt({ lanes, path }, { span, widthPx, labelPx }) {
  const [fromUs, toUs] = span;
  const innerPx = Math.max(40, widthPx - labelPx - 16);
  const x = (tUs) => labelPx + ((tUs - fromUs) / Math.max(1, toUs - fromUs)) * innerPx;
  const clip = (px) => Math.min(Math.max(px, labelPx), labelPx + innerPx);
  const placed = lanes.map((lane, n) => placeLane(lane, n, { x, clip, span }));
  const height = ROW.top + lanes.length * ROW.lane + ROW.axis;
  return { x, lanes: placed, path: placePath(path, placed, { x, clip, span }), height, bottom: height - ROW.axis, left: labelPx, right: labelPx + innerPx, laneHeight: ROW.lane };
}

function placeLane(lane, n, { x, clip, span }) {
  const y = ROW.top + n * ROW.lane;
  const bars = lane.spans.filter((one) => one.to_us > span[0] && one.from_us < span[1]).map((one) => {
    const left = clip(x(one.from_us));
    const width = Math.max(LEAST_PX, clip(x(one.to_us)) - left);
    return { ...one, lane: lane.key, x: left, y: y + ROW.inset, width, height: ROW.bar };
  });
  return { ...lane, n, y, labelY: y + ROW.lane / 2 - 7, bars, ends: endsOf(lane).filter((one) => one.tUs >= span[0] && one.tUs <= span[1]).map((one) => ({ ...one, x: x(one.tUs), y: y + ROW.inset + ROW.bar / 2 })) };
}

/** What stands at a moment of a lane: it failed, was done again, was ended. */
function endsOf(lane) {
  const marks = [];
  if (lane.rollback === null) marks.push({ kind: "failed", tUs: lane.begun_us });
  if (lane.done_us !== null) marks.push({ kind: "done", tUs: lane.done_us });
  else if (lane.ended_us !== null) marks.push({ kind: "ended", tUs: lane.ended_us });
  return marks;
}

/** Stretches as lines under the bars, and the hops between lanes as upright lines. */
function placePath(path, lanes, { x, clip, span }) {
  const under = (n) => lanes[n].y + ROW.inset + ROW.bar + ROW.path;
  const seen = path.filter((one) => one.to_us > span[0] && one.from_us < span[1]);
  const stretches = seen.map((one) => ({ ...one, x1: clip(x(one.from_us)), x2: clip(x(one.to_us)), y: under(one.lane) }));
  const hops = seen.slice(1).map((one, at) => [seen[at], one]).filter(([before, one]) => before.lane !== one.lane)
    .map(([before, one]) => ({ from: before.lane, to: one.lane, tUs: one.from_us, x: clip(x(one.from_us)), y1: under(before.lane), y2: under(one.lane) }));
  return { stretches, hops };
}

/** What has room in a bar: number and name, the number alone, or nothing. */
export function wordsFor(bar, number, name) {
  const whole = `${number} ${name}`;
  if (bar.width >= whole.length * LETTER_PX + 12) return whole;
  return bar.width >= 14 ? String(number) : "";
}

/** Zoomed around a moment by a factor, never wider than the whole, never narrower than 20 µs. */
export function zoomed([fromUs, toUs], whole, factor, aroundUs = (fromUs + toUs) / 2) {
  const width = Math.min(Math.max((toUs - fromUs) * factor, 20), whole[1] - whole[0]);
  const share = (aroundUs - fromUs) / Math.max(1, toUs - fromUs);
  return within([aroundUs - share * width, aroundUs + (1 - share) * width], whole);
}

/** Moved by a share of its width. */
export function panned([fromUs, toUs], whole, share) {
  const by = (toUs - fromUs) * share;
  return within([fromUs + by, toUs + by], whole);
}

function within([fromUs, toUs], whole) {
  const width = Math.min(toUs - fromUs, whole[1] - whole[0]);
  const from = Math.round(Math.min(Math.max(fromUs, whole[0]), whole[1] - width));
  return [from, Math.round(from + width)];
}

/** Round times after the beginning that leave room between their labels. */
export function ticksAfter(beginUs, [fromUs, toUs], widthPx) {
  const least = ((toUs - fromUs) * 88) / Math.max(1, widthPx);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const stepUs = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least) ?? power * 10;
  const first = Math.ceil((fromUs - beginUs) / stepUs);
  const last = Math.floor((toUs - beginUs) / stepUs);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => beginUs + (first + n) * stepUs);
}
