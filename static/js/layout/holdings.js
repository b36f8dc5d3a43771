// Who held how much of a log over time: stairs that rise where a delta was logged, and what each held at a moment.

/** Growth {tUs, upto} in order of time; the last one not later than tUs says how much was held. */
export function heldAt(growth, tUs) {
  let [low, high] = [0, growth.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (growth[middle].tUs <= tUs) low = middle + 1;
    else high = middle;
  }
  return low ? growth[low - 1] : undefined;
}

/** The stairs as points, thinned to what the pixels can show; the last growth of each pixel stands. */
export function stairs(growth, { startUs, endUs, total, widthPx, heightPx }) {
  const x = (tUs) => ((Math.min(Math.max(tUs, startUs), endUs) - startUs) / Math.max(1, endUs - startUs)) * widthPx;
  const y = (upto) => heightPx - (Math.min(upto, total) / Math.max(1, total)) * heightPx;
  const points = [[0, y(heldAt(growth, startUs)?.upto ?? 0)]];
  for (const { tUs, upto } of growth) {
    if (tUs < startUs || tUs > endUs) continue;
    const [at, last] = [Math.round(x(tUs) * 2) / 2, points.at(-1)];
    if (at === last[0]) last[1] = y(upto);
    else points.push([at, last[1]], [at, y(upto)]);
  }
  return [...points, [widthPx, points.at(-1)[1]]];
}
