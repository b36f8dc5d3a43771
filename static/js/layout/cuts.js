// Consistent cuts: which of those that are there a time snaps to, its line through the lanes, and what is in flight in it.

/** The last one that was asked for at or before a time; before all of them the first. */
export function cutAt(cuts, tUs) {
  return cuts.findLast((one) => one.asked_us <= tUs) ?? cuts[0];
}

/** From lane to lane; of a folded vertex from its earliest task to its latest one. */
export function lineOf(cut, tasks, lanes) {
  const stands = new Map(tasks.map((task, n) => [task, cut.stands[n]]));
  return lanes.flatMap((lane) => {
    const times = lane.tasks.filter((task) => stands.has(task)).map((task) => stands.get(task)[1]);
    return times.length ? [{ lane: lane.number, first: Math.min(...times), last: Math.max(...times) }] : [];
  });
}

/** Whether a mark holds any buffer that is in flight. */
export function isInFlight(one, runs) {
  return Boolean(one.channel) && runs.some((run) => run.channel === one.channel && run.attempt >= one.attempt && run.attempt <= one.attempt_last && run.first <= one.seq_last && run.last >= one.seq);
}

/** The tasks that stand behind the time that was asked for, with how far: there the line bends. */
export function behind(cut, tasks) {
  return tasks.map((task, n) => ({ task, attempt: cut.stands[n][0], tUs: cut.stands[n][1] })).filter(({ tUs }) => tUs < cut.asked_us);
}
