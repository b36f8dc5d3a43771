// A window on a list of any length: which rows are in sight, and where they stand. Places are in pixels, rows have one height.

// Browsers make no element much taller than this: beyond, a place of the scroll bar stands for more than one pixel.
export const MOST_PX = 8_000_000;
// Of a row: what a division leaves is not in sight.
const HAIR = 0.01;

/** How tall the scrolled place is, and how many pixels of rows one of its pixels stands for. */
export function scaleOf({ total, rowPx, heightPx, headPx = 0 }) {
  const rowsPx = total * rowPx + headPx;
  if (rowsPx <= MOST_PX) return { sizePx: rowsPx, scale: 1 };
  return { sizePx: MOST_PX, scale: (rowsPx - heightPx) / (MOST_PX - heightPx) };
}

/** The rows in sight when `offsetPx` of them lie above: {first, end}. */
export function inSight({ total, rowPx, heightPx, headPx = 0, offsetPx }) {
  const [first, end] = [Math.floor(offsetPx / rowPx + HAIR), Math.ceil((offsetPx + heightPx - headPx) / rowPx - HAIR)];
  return { first: Math.min(Math.max(0, first), Math.max(0, total - 1)), end: Math.min(total, end) };
}

/** Which rows to have around those in sight: some screens more, never more than `most`. */
export function wantedRows({ first, end }, { total, most }) {
  const beside = Math.floor((most - (end - first)) / 2);
  const begin = Math.max(0, first - beside);
  return { first: begin, end: Math.min(total, begin + most) };
}

export function clampOffset(offsetPx, { total, rowPx, heightPx, headPx = 0 }) {
  return Math.min(Math.max(0, offsetPx), Math.max(0, total * rowPx + headPx - heightPx));
}
