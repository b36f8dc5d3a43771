// Steps of a replay from the server: ranges into the cache, each asked for once at a time; panels of single steps.
import { getJson, getPart } from "./api.js";

const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value));

export function stepSource(replay, cache) {
  const underWay = new Map();

  /** Fetches a range unless it is under way already; resolves to how many steps are written. */
  function fetchRange({ from, to }) {
    const key = `${from}-${to}`;
    if (!underWay.has(key)) {
      const asked = getJson(`/api/v1/replays/${replay}/steps?from=${from}&to=${to}`).then((page) => {
        cache.put(from, page.steps);
        return page.written;
      });
      underWay.set(key, asked.finally(() => underWay.delete(key)));
    }
    return underWay.get(key);
  }

  return {
    fetchRange,
    written: () => getJson(`/api/v1/replays/${replay}/steps?from=0&to=0`).then((page) => page.written),
    /** `keys` says which of the state's keys are asked for: those that begin with `prefix`, behind a cursor. */
    panels: (step, keys, options) => getPart(`/replays/${replay}/?${new URLSearchParams({ step, part: "panels", ...given(keys) })}`, options),
    /** Rows of a long list, from one's place in it: a table body. */
    rows: (name, { step, from, count, task, find }) => getPart(`/replays/${replay}/rows/${name}/?${new URLSearchParams({ step, from, count, ...given({ task, find }) })}`).then(([table]) => table.tBodies[0]),
    outcome: (step) => getPart(`/replays/${replay}/?step=${step}&part=outcome`),
    /** The strip, or the part of it from one step to another, exclusive; of one task where that is named. */
    strip: (from, to, task) => getJson(`/replays/${replay}/strip/?${new URLSearchParams(given({ from: from && String(from), to, task }))}`),
    find: (direction, step, where) =>
      getJson(`/api/v1/replays/${replay}/find?${direction > 0 ? "after" : "before"}=${step}&where=${encodeURIComponent(JSON.stringify(where))}`),
  };
}
