// Steps and ranges of steps, as a person writes them and as notes keep them.

/** The whole number that was written, separators and all; undefined where it is none. */
function stepIn(text) {
  const plain = text.trim().replaceAll(",", "");
  return /^\d{1,15}$/.test(plain) ? Number(plain) : undefined;
}

/** {first, last} of two ends in either order, or {why} where one of them is no step. An empty end is the other one. */
export function rangeOf(from, to) {
  const [first, last] = [stepIn(from || to), stepIn(to || from)];
  if (first === undefined || last === undefined) return { why: "A note is on a step, or from one step to another: write their numbers." };
  return { first: Math.min(first, last), last: Math.max(first, last) };
}

/** Asks once more when it was asked while it was at it, however often: for what must end up as it is now. */
export function once(work) {
  let running;
  let again = false;
  return function run() {
    if (running) {
      again = true;
      return running;
    }
    running = work().finally(() => {
      running = undefined;
      if (!again) return undefined;
      again = false;
      return run();
    });
    return running;
  };
}
