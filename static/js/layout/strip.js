// The strip of all steps: never more columns than pixels; a column says how many steps of which group it stands for.

/** Columns of stacked groups from the server's bins ({bin, group, steps}); heights grow with the root, so that rare kinds show. */
export function layoutStrip(bins, { steps, binCount, widthPx, heightPx, groups }) {
  const columns = new Map();
  for (const { bin, group, steps: number } of bins) {
    const column = columns.get(bin) ?? columns.set(bin, { bin, total: 0, groups: {} }).get(bin);
    column.groups[group] = (column.groups[group] ?? 0) + number;
    column.total += number;
  }
  const most = Math.max(1, ...[...columns.values()].map((column) => column.total));
  const width = widthPx / Math.max(1, Math.min(binCount, steps));
  return [...columns.values()].sort((one, other) => one.bin - other.bin).map((column) => {
    const full = heightPx * (0.35 + 0.65 * Math.sqrt(column.total / most));
    let y = heightPx;
    const parts = groups.filter((group) => column.groups[group]).map((group) => {
      const height = (full * column.groups[group]) / column.total;
      y -= height;
      return { group, y, height };
    });
    return { bin: column.bin, x: column.bin * width, width, total: column.total, parts };
  });
}

/** Which step a place on the strip means, and where a step's mark stands. */
export function stepAt(xPx, { steps, widthPx }) {
  return Math.min(Math.max(0, Math.floor((xPx / Math.max(1, widthPx)) * steps)), Math.max(0, steps - 1));
}

export function placeOf(step, { steps, widthPx }) {
  return ((step + 0.5) / Math.max(1, steps)) * widthPx;
}
