// Steps that are at hand: blocks of rows by their first step, the least recently used of them forgotten.

export class StepCache {
  constructor({ blockSteps = 500, mostBlocks = 24 } = {}) {
    this.blockSteps = blockSteps;
    this.mostBlocks = mostBlocks;
    this.blocks = new Map();
  }

  /** The row of a step, or undefined when it has not come yet. */
  at(step) {
    const block = this.#blockOf(step);
    const rows = this.blocks.get(block);
    if (!rows) return undefined;
    this.blocks.delete(block);
    this.blocks.set(block, rows);
    return rows[step - block * this.blockSteps];
  }

  /** The ranges to ask for around a step, nearest first: its block, then the one it is walking towards. */
  wanted(step, direction, last) {
    const here = this.#blockOf(step);
    const ahead = here + (direction < 0 ? -1 : 1);
    return [here, ahead]
      .filter((block) => block >= 0 && block * this.blockSteps <= last && !this.#isFull(block, last))
      .map((block) => ({ from: block * this.blockSteps, to: Math.min((block + 1) * this.blockSteps, last + 1) }));
  }

  put(from, rows) {
    this.blocks.set(this.#blockOf(from), rows);
    while (this.blocks.size > this.mostBlocks) this.blocks.delete(this.blocks.keys().next().value);
  }

  #blockOf(step) {
    return Math.floor(step / this.blockSteps);
  }

  // A block that was the last one while the replay was still being written is asked for again when there is more.
  #isFull(block, last) {
    const rows = this.blocks.get(block);
    return rows !== undefined && rows.length >= Math.min(this.blockSteps, last + 1 - block * this.blockSteps);
  }
}

/** The next step with these fields among those that are at hand; undefined where the way to it leads over steps that are not. */
export function nextLike(at, { like, from, towards, last }) {
  const fields = Object.entries(like);
  for (let step = from + towards; step >= 0 && step <= last; step += towards) {
    const row = at(step);
    if (!row) return undefined;
    if (fields.every(([name, value]) => row[name] === value)) return step;
  }
  return undefined;
}
