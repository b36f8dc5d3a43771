// The strip of all steps: a lane per group of kinds, cells as wide as a bin; never more cells than pixels, and all steps counted.

/** Where things stand from top to bottom, and how much room names have: lanes of kinds are lower than those of tasks. */
export function shapeOf({ lanes, byTask, wholePx, namePx = 0 }) {
  const lanePx = byTask ? 15 : 11;
  const gutterPx = byTask ? Math.min(Math.max(64, Math.ceil(namePx) + 10), Math.max(64, Math.round(wholePx * 0.2))) : 64;
  const [topPx, rowPx] = [10, 11];
  const hitsPx = topPx + lanes * lanePx;
  const notesPx = hitsPx + rowPx;
  const footPx = notesPx + rowPx;
  return { lanePx, gutterPx, topPx, rowPx, hitsPx, notesPx, footPx, heightPx: footPx + 14, widthPx: wholePx - gutterPx - 6 };
}

/**
 * Cells from the server's bins ({bin, group, steps} and of several tasks {lane, first}). `share` of a cell is relative to
 * the fullest cell of its lane; it is of the group that has most steps in it.
 */
export function layoutStrip(bins, { steps, binCount, widthPx, lanes, laneHeightPx }) {
  const columns = Math.max(1, Math.min(binCount, steps, Math.floor(widthPx)));
  const cells = new Map();
  for (const { bin, group, steps: number, lane = lanes.findIndex((one) => one.groups?.includes(group)), first } of bins) {
    if (lane < 0) continue;
    const column = Math.floor((bin * columns) / Math.max(1, binCount));
    const key = `${lane}:${column}`;
    const cell = cells.get(key) ?? cells.set(key, { lane, column, group, steps: 0, first, groups: new Map() }).get(key);
    cell.steps += number;
    cell.first = Math.min(cell.first, first);
    cell.groups.set(group, (cell.groups.get(group) ?? 0) + number);
    if (cell.groups.get(group) > cell.groups.get(cell.group)) cell.group = group;
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

/** Where hits stand, from the server's bins ({bin, hits, first, last}): alone as long as there is room for each. */
export function layoutHits(bins, { steps, binCount, widthPx, view }) {
  if (isPart(view, steps)) return zoomedHits(bins, { view, widthPx });
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

/** In a part of the strip a bin of several hits is a band from its first to its last: where between, nobody was told. */
function zoomedHits(bins, { view, widthPx }) {
  return bins
    .filter(({ first, last = first }) => last >= view.first && first < view.end)
    .map(({ hits, first, last = first }) => {
      const place = (step) => Math.min(widthPx, Math.max(0, placeOf(step, { view, widthPx })));
      if (hits === 1 || first === last) return { x: place(first), width: 0, share: 1, alone: true };
      return { x: place(first), width: Math.max(2, place(last) - place(first)), share: 0.4, alone: false };
    });
}

/** Where notes stand: {x, width, note}; a range as wide as its steps, a step as a mark. */
export function layoutNotes(notes, { steps, widthPx, view = { first: 0, end: steps } }) {
  return notes
    .filter(({ first, last }) => last >= view.first && first < view.end)
    .map((note) => {
      const left = Math.max(0, placeOf(note.first, { view, widthPx }));
      const right = Math.min(widthPx, placeOf(note.last, { view, widthPx }));
      return { x: left, width: Math.max(0, right - left), note };
    });
}

/** Which step a place on the strip means, and where a step's mark stands; `view` is the part of the strip that is shown. */
export function stepAt(xPx, { steps, widthPx, view = { first: 0, end: steps } }) {
  const span = view.end - view.first;
  return view.first + Math.min(Math.max(0, Math.floor((xPx / Math.max(1, widthPx)) * span)), Math.max(0, span - 1));
}

export function placeOf(step, { steps, widthPx, view = { first: 0, end: steps } }) {
  return ((step - view.first + 0.5) / Math.max(1, view.end - view.first)) * widthPx;
}

const LEAST_VIEW_STEPS = 20;

export function isPart(view, steps) {
  return view !== undefined && (view.first > 0 || view.end < steps);
}

/** The view made narrower or wider around a step, which stays where it is on the strip. */
export function zoomed(view, { by, around, steps }) {
  const span = view.end - view.first;
  const wanted = Math.min(steps, Math.max(Math.min(LEAST_VIEW_STEPS, steps), Math.round(span * by)));
  const share = Math.min(1, Math.max(0, (around - view.first) / Math.max(1, span)));
  return within(Math.round(around - share * wanted), wanted, steps);
}

/** The view moved by a share of its width. */
export function panned(view, { by, steps }) {
  const span = view.end - view.first;
  return within(view.first + Math.round(span * by), span, steps);
}

/** The view with a step in its middle. */
export function centred(view, { step, steps }) {
  const span = view.end - view.first;
  return within(step - Math.floor(span / 2), span, steps);
}

function within(first, span, steps) {
  const begin = Math.min(Math.max(0, first), Math.max(0, steps - span));
  return { first: begin, end: begin + span };
}

/** A view as it stands in an address, and back: `1000-2000`, the end exclusive; undefined where it is all or no view. */
export function viewIn(text, steps) {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "");
  if (!found) return undefined;
  const [first, end] = [Number(found[1]), Math.min(Number(found[2]), steps)];
  return end - first >= Math.min(LEAST_VIEW_STEPS, steps) && isPart({ first, end }, steps) ? { first, end } : undefined;
}

export function viewText(view, steps) {
  return isPart(view, steps) ? `${view.first}-${view.end}` : undefined;
}
