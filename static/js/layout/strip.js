// The strip of all steps: a lane per group of kinds, cells as wide as a bin; never more cells than pixels, and all steps counted.

/** Cells from the server's bins ({bin, group, steps}). `share` of a cell is relative to the fullest cell of its lane. */
export function layoutStrip(bins, { steps, binCount, widthPx, lanes, laneHeightPx }) {
  const columns = Math.max(1, Math.min(binCount, steps, Math.floor(widthPx)));
  const cells = new Map();
  for (const { bin, group, steps: number } of bins) {
    const lane = lanes.findIndex((one) => one.groups.includes(group));
    if (lane < 0) continue;
    const column = Math.floor((bin * columns) / Math.max(1, binCount));
    const key = `${lane}:${column}`;
    const cell = cells.get(key) ?? cells.set(key, { lane, column, group, steps: 0 }).get(key);
    cell.steps += number;
  }
  const most = lanes.map(() => 1);
  for (const cell of cells.values()) most[cell.lane] = Math.max(most[cell.lane], cell.steps);
  // Whole pixels: cells that share a half-covered pixel would show as stripes.
  const edge = (column) => Math.round((column * widthPx) / columns);
  return [...cells.values()].map((cell) => ({
    ...cell,
    x: edge(cell.column),
    y: cell.lane * laneHeightPx,
    width: edge(cell.column + 1) - edge(cell.column),
    height: laneHeightPx - 2,
    share: Math.sqrt(cell.steps / most[cell.lane]),
  }));
}

const FEW_PX_APART = 12;

/** Where hits stand, from the server's bins ({bin, hits, first}): alone as long as there is room for each. */
export function layoutHits(bins, { steps, binCount, widthPx }) {
  const columns = Math.max(1, Math.min(binCount, Math.floor(widthPx)));
  const merged = new Map();
  for (const { bin, hits } of bins) {
    const column = Math.floor((bin * columns) / Math.max(1, binCount));
    merged.set(column, (merged.get(column) ?? 0) + hits);
  }
  const most = Math.max(1, ...merged.values());
  const alone = merged.size * FEW_PX_APART <= widthPx;
  const single = new Map(bins.map(({ bin, first }) => [Math.floor((bin * columns) / Math.max(1, binCount)), first]));
  return [...merged].map(([column, hits]) => {
    const [left, right] = [Math.round((column * widthPx) / columns), Math.round(((column + 1) * widthPx) / columns)];
    if (!alone) return { x: left, width: right - left, share: Math.sqrt(hits / most), alone };
    return { x: placeOf(single.get(column), { steps, widthPx }), width: 0, share: 1, alone };
  });
}

/** Which step a place on the strip means, and where a step's mark stands. */
export function stepAt(xPx, { steps, widthPx }) {
  return Math.min(Math.max(0, Math.floor((xPx / Math.max(1, widthPx)) * steps)), Math.max(0, steps - 1));
}

export function placeOf(step, { steps, widthPx }) {
  return ((step + 0.5) / Math.max(1, steps)) * widthPx;
}
