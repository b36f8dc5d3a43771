// Where the marks of a small picture of rows stand. Pure: numbers in, numbers out.

// What can be drawn: rows in which both are there. A text stands at the place of its row, in the order given.
export function layoutPlot(rows, { as, x, y, widthPx, heightPx }) {
  const kept = rows.filter((row) => Number.isFinite(row[y]) && row[x] !== null);
  const even = as === "bars" || !kept.every((row) => typeof row[x] === "number" && Number.isFinite(row[x]));
  const values = kept.map((row) => row[y]);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const toY = (value) => heightPx - ((value - low) / (high - low || 1)) * heightPx;
  const xs = even ? kept.map((_, n) => n) : kept.map((row) => row[x]);
  const first = Math.min(...xs);
  const span = Math.max(...xs) - first || 1;
  const step = widthPx / Math.max(1, kept.length);
  const marks = kept.map((row, n) => ({
    x: even ? (n + 0.5) * step : ((xs[n] - first) / span) * widthPx,
    y: toY(row[y]),
    label: String(row[x]),
    value: row[y],
  }));
  if (!even) marks.sort((one, other) => one.x - other.x);
  return { marks, zero: toY(0), low, high, barPx: Math.max(1, step * 0.8), leftOut: rows.length - kept.length, even };
}

// Some of the marks, evenly spread, to be named below the axis without touching one another.
export function labelled(marks, roomPx, widthPx) {
  const every = Math.max(1, Math.ceil((marks.length * roomPx) / Math.max(1, widthPx)));
  return marks.filter((_, n) => n % every === 0);
}
