// Where the parts of a job's timeline stand: epochs, checkpoints, lanes of attempts with their recovery, curves.

const ROW = { epochs: 24, checkpoints: 16, gap: 14, lane: 26, curve: 46, axis: 24, label: 18 };

export function layoutTimeline(job, { widthPx }) {
  const x = scaleOf(job.durationUs, widthPx);
  const parts = { x, widthPx, epochs: epochsOf(job, x), checkpoints: checkpointsOf(job, x) };
  let y = ROW.epochs + ROW.checkpoints + ROW.gap;
  parts.lanes = job.lanes.map((lane) => {
    const placed = placeLane(lane, x, y + ROW.label);
    y += ROW.label + ROW.lane + ROW.gap / 2;
    return placed;
  });
  parts.curves = job.curves.map((curve) => {
    const placed = placeCurve(curve, x, y + ROW.label);
    y += ROW.label + ROW.curve + ROW.gap;
    return placed;
  });
  parts.failures = job.failures.map((failure) => ({ ...failure, x: x(failure.failedUs), end: x(failure.endUs ?? failure.runningUs ?? failure.failedUs) }));
  parts.gaps = (job.gaps ?? []).map((one) => ({ ...one, x: x(one.tUs), y: ROW.epochs + ROW.checkpoints / 2 + 1 }));
  parts.rollbacks = (job.rollbacks ?? []).map((one) => ({ ...one, x: x(one.tUs) }));
  return { ...parts, ticks: ticksOf(job.durationUs, widthPx).map((tUs) => ({ tUs, x: x(tUs), label: tickLabel(tUs, job.durationUs) })), top: ROW.epochs + ROW.checkpoints, bottom: y, height: y + ROW.axis };
}

const LABEL = { letter: 6.6, more: " suspected, 000.000 s", away: 7, between: 8 };

/** The failures whose words have room: those of the right half stand to the left of their lines. */
export function labelsWithRoom(failures, { widthPx }) {
  const labelled = new Set();
  const taken = [];
  for (const one of failures) {
    const length = (one.task.length + LABEL.more.length) * LABEL.letter;
    const start = one.x > widthPx / 2 ? one.x - LABEL.away - length : one.x + LABEL.away;
    const end = start + length;
    if (taken.some(([from, to]) => start < to + LABEL.between && end > from - LABEL.between)) continue;
    taken.push([start, end]);
    labelled.add(one.failure);
  }
  return labelled;
}

function scaleOf(durationUs, widthPx) {
  const whole = Math.max(1, durationUs);
  return (tUs) => (Math.min(Math.max(tUs, 0), whole) / whole) * widthPx;
}

function epochsOf(job, x) {
  return job.epochs.map((epoch) => {
    const [start, end] = [x(epoch.startUs), x(epoch.endUs)];
    const width = Math.max(1, end - start - 2);
    return { ...epoch, x: start, y: 0, width, height: ROW.epochs, labelled: width >= 7 * String(epoch.epoch).length + 14 };
  });
}

function checkpointsOf(job, x) {
  return job.checkpoints.map((one) => ({ ...one, x: x(one.completedUs ?? one.abortedUs ?? one.triggeredUs), y: ROW.epochs + ROW.checkpoints / 2 + 1 }));
}

function placeLane(lane, x, y) {
  const spans = lane.spans.map((span) => ({ ...span, x: x(span.startUs), y, width: Math.max(1.5, x(span.endUs) - x(span.startUs)), height: ROW.lane - 8 }));
  return { ...lane, y, labelY: y - 6, spans };
}

function placeCurve(curve, x, y) {
  const most = Math.max(...curve.points.map((point) => point.value), 0);
  const height = (value) => y + ROW.curve - (most ? (value / most) * (ROW.curve - 4) : 0);
  const placesOf = (points) => points.map((point) => [x(point.tUs), height(point.value)]);
  return { ...curve, y, height: ROW.curve, most, base: y + ROW.curve, places: placesOf(curve.points), lower: placesOf(curve.p50 ?? []) };
}

/** Round times that leave at least 90 pixels between their labels. */
export function ticksOf(durationUs, widthPx) {
  const least = (durationUs * 90) / Math.max(1, widthPx);
  if (!(least > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(least));
  const stepUs = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least);
  return Array.from({ length: Math.floor(durationUs / stepUs) + 1 }, (_, n) => n * stepUs);
}

/** One unit for the whole axis, so that its labels can be compared. */
export function tickLabel(tUs, durationUs) {
  if (tUs === 0) return "0";
  const [unit, name] = durationUs >= 1e6 ? [1e6, "s"] : durationUs >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${Number((tUs / unit).toPrecision(6))} ${name}`;
}
