// How long to wait before the next try: doubling up to a cap, with jitter so that a hundred pages don't come back at once.

export function backoffMs(tries, { baseMs = 250, capMs = 15_000, jitter = Math.random() } = {}) {
  const fullMs = Math.min(capMs, baseMs * 2 ** Math.min(tries, 30));
  return Math.round(fullMs * (0.5 + jitter / 2));
}
