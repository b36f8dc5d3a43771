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

/** Which step a place on the strip means, and where a step's mark stands. */
export function stepAt(xPx, { steps, widthPx }) {
  return Math.min(Math.max(0, Math.floor((xPx / Math.max(1, widthPx)) * steps)), Math.max(0, steps - 1));
}

export function placeOf(step, { steps, widthPx }) {
  return ((step + 0.5) / Math.max(1, steps)) * widthPx;
}
