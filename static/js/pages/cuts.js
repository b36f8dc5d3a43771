// A cut through all lanes: a slider moves it, it snaps to consistent ones, and what is in flight in it is told.
import { behind, cutAt, lineOf } from "../layout/cuts.js";
import { getJson } from "../net/api.js";
import { addressWith, numberIn } from "../state/cursor.js";
import { count, moment, plural } from "../state/format.js";

const RUNS_TOLD = 8;

/** `onCut({line, runs})` is told of every cut that is shown, and of undefined where none is. */
export function cuts({ view, lanes, durationUs, onCut }) {
  const button = document.getElementById("cut-button");
  const row = document.getElementById("cut-row");
  const slider = document.getElementById("cut");
  const text = document.getElementById("cut-text");
  let held;
  let asking;
  let tUs = numberIn(location.href, "cut");

  function show() {
    const on = tUs !== undefined;
    row.hidden = text.hidden = !on;
    button.setAttribute("aria-pressed", String(on));
    if (!on) return onCut(undefined);
    return moved();
  }

  /** The slider reaches as far as the window does. */
  function moved() {
    if (tUs === undefined) return;
    const { from, to } = view();
    Object.assign(slider, { min: from, max: to, value: Math.min(Math.max(tUs, from), to) });
    if (!held || held.from !== from || held.to !== to) fetchCuts(from, to);
    else tell();
  }

  async function fetchCuts(from, to) {
    asking?.abort();
    const mine = (asking = new AbortController());
    text.textContent = "Working out which cuts are consistent …";
    try {
      const answer = await getJson(`/api/v1${location.pathname.replace("/spacetime/", "/cuts")}?from_us=${from}&to_us=${Math.min(to, Math.max(from, durationUs))}`, { signal: mine.signal });
      held = { from, to, ...answer };
      tell();
    } catch (fault) {
      if (fault.name === "AbortError") return;
      text.textContent = `No cut can be shown. ${fault.message}`;
      onCut(undefined);
    }
  }

  function tell() {
    const cut = cutAt(held.cuts, tUs);
    slider.setAttribute("aria-valuetext", moment(cut.asked_us));
    document.getElementById("cut-moment").textContent = moment(cut.asked_us);
    const late = behind(cut, held.tasks);
    const flying = cut.buffers ? `${plural(cut.buffers, "buffer is", "buffers are")} in flight in it: ${cut.in_flight.slice(0, RUNS_TOLD).map(wordsOf).join("; ")}${cut.runs > RUNS_TOLD ? `; and ${plural(cut.runs - RUNS_TOLD, "more run", "more runs")}` : ""}.` : "Nothing is in flight in it.";
    const bent = late.length ? `${plural(late.length, "task stands", "tasks stand")} behind, as what ${late.length === 1 ? "it" : "they"} took later is not sent there: ${late.slice(0, 6).map((one) => `${one.task} at ${moment(one.tUs)}`).join(", ")}${late.length > 6 ? ` and ${late.length - 6} more` : ""}.` : "All tasks stand at that time.";
    const unknown = held.unknown ? ` Of ${plural(held.unknown, "buffer", "buffers")} the recording does not hold enough to say.` : "";
    text.textContent = `Consistent cut at ${moment(cut.asked_us)}. ${bent} ${flying}${unknown}${held.faults.length ? ` ${held.faults[0]}` : ""}`;
    onCut({ line: lineOf(cut, held.tasks, lanes), runs: cut.in_flight });
  }

  function wordsOf({ channel, attempt, first, last }) {
    return `${channel} ${first === last ? count(first) : `${count(first)} to ${count(last)}`}${attempt ? ` of attempt ${attempt}` : ""}`;
  }

  function remember() {
    history.replaceState(null, "", addressWith(location.href, { cut: tUs }));
  }

  function toggle() {
    const { from, to } = view();
    tUs = tUs === undefined ? Math.round((from + to) / 2) : undefined;
    remember();
    show();
  }

  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => {
    tUs = Number(slider.value);
    if (held) tell();
  });
  slider.addEventListener("change", remember);
  window.addEventListener("popstate", () => {
    tUs = numberIn(location.href, "cut");
    show();
  });
  return { show, moved, toggle };
}
