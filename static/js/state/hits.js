// Hits of a search as they come, bin by bin; and a search that says what a step is like.

/** Gathers the lines of the server's answer: bins may come in several pieces. */
export class Hits {
  constructor() {
    this.bins = new Map();
    this.count = 0;
    this.done = false;
    this.binCount = undefined;
  }

  take(line) {
    for (const [bin, hits, first, last] of line.bins ?? []) {
      const known = this.bins.get(bin);
      this.bins.set(bin, known ? { ...known, hits: known.hits + hits, last } : { bin, hits, first, last });
      this.count += hits;
    }
    if (line.hits === undefined) return;
    this.done = true;
    this.count = line.hits;
    this.binCount = line.bin_count;
    this.steps = line.steps;
    this.why = line.why;
  }
}

/** The bins of several searches in one: what a strip draws. */
export function together(all) {
  const merged = new Map();
  for (const hits of all) {
    for (const one of hits.bins.values()) {
      const known = merged.get(one.bin);
      merged.set(one.bin, known ? { bin: one.bin, hits: known.hits + one.hits, first: Math.min(known.first, one.first) } : { ...one });
    }
  }
  return [...merged.values()].sort((one, other) => one.bin - other.bin);
}

const quoted = (text) => (/^[A-Za-z_][\w.-]*$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);

/** The search that finds steps like this one: of its kind, and on its channel or in its thread. */
export function likeStep(row) {
  if (row.kind === "transition" && row.state) return `kind = transition and state = ${quoted(row.state)}`;
  const beside = row.channel ? ` and channel = ${quoted(row.channel)}` : row.actor && row.actor !== "main" ? ` and thread = ${quoted(row.actor)}` : "";
  return `kind = ${quoted(row.kind)}${beside}`;
}
