// The strip on the replay page: pointing and dragging on it, zooming into a part of it, and its data from the server.
import { strip } from "../charts/strip.js";
import { centred, isPart, panned, viewIn, viewText, zoomed } from "../layout/strip.js";
import { addressWith } from "../state/cursor.js";
import { count, plural } from "../state/format.js";
import { once } from "../state/ranges.js";
import { onResize } from "./elements.js";
import { notice } from "./frame.js";

const FETCH_AFTER_MS = 80;

/** `page` is what it moves: {step(), last(), go(step, how), note(range), strip(from, to), only(), alone(task)}. */
export function stripView(element, page) {
  const picture = strip(element);
  const steps = () => page.last() + 1;
  let view = viewIn(new URL(location.href).searchParams.get("view"), steps());
  let timer;
  let marking; // where a range that is being marked begins

  const shown = () => view ?? { first: 0, end: steps() };
  const failed = (fault) => notice(fault.message);

  /** Asks for what is shown now; whatever was asked meanwhile is asked once, at the end. */
  const refresh = once(async () => {
    const wanted = view;
    const only = page.only();
    const data = await page.strip(wanted?.first, wanted?.end);
    if (only === page.only() && viewText(wanted ?? shown(), steps()) === viewText(shown(), steps())) picture.data(data);
  });

  function look(next, { remember = true } = {}) {
    view = isPart(next, steps()) ? next : undefined;
    picture.view(shown());
    element.toggleAttribute("data-zoomed", view !== undefined);
    const whole = document.getElementById("strip-whole");
    whole.hidden = view === undefined;
    whole.textContent = view ? `steps ${count(view.first)} to ${count(view.end - 1)}: show all` : "";
    clearTimeout(timer);
    timer = setTimeout(() => {
      refresh().catch(failed);
      if (remember) history.replaceState(null, "", addressWith(location.href, { view: viewText(shown(), steps()) }));
    }, FETCH_AFTER_MS);
  }

  /** The cursor stays in sight: a view that it leaves goes along. */
  function step(value) {
    if (view && (value < view.first || value >= view.end)) look(centred(view, { step: value, steps: steps() }));
    picture.step(value);
  }

  function zoom(by) {
    look(zoomed(shown(), { by, around: page.step(), steps: steps() }));
  }

  function told(event) {
    const { step: at, note, hits, lane, named } = picture.under(event);
    if (named && lane) return lane.task ? `${lane.task} alone` : `${lane.name} tasks: choose one above the strip`;
    if (note) return `${note.first === note.last ? `step ${count(note.first)}` : `steps ${count(note.first)} to ${count(note.last)}`}: ${note.text.slice(0, 300)}`;
    return hits > 1 ? `${plural(hits, "hit", "hits")} from step ${count(at)}` : `step ${count(at)}${lane?.task ? `, ${lane.task}` : ""}`;
  }

  function pressed(event) {
    element.setPointerCapture(event.pointerId);
    if (event.shiftKey) {
      marking = picture.placeAt(event);
      event.preventDefault();
      return picture.range({ first: marking, last: marking });
    }
    const { step: at, lane, named } = picture.under(event);
    return named && lane?.task ? page.alone(lane.task) : page.go(at, { jump: true });
  }

  const marked = (event) => {
    const to = picture.placeAt(event);
    return { first: Math.min(marking, to), last: Math.max(marking, to) };
  };

  function moved(event) {
    picture.showTip(event, told(event));
    if (!(event.buttons & 1)) return undefined;
    return marking === undefined ? page.go(picture.stepAt(event), {}) : picture.range(marked(event));
  }

  function released(event) {
    if (marking === undefined) return;
    const range = marked(event);
    marking = undefined;
    picture.range(undefined);
    if (event.type === "pointerup") page.note(range);
  }

  onResize([element], picture.resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", picture.resize);
  const lanes = page.only() || !element.dataset.lanes ? undefined : Array.from({ length: Number(element.dataset.lanes) }, () => ({ task: "" }));
  picture.data({ steps: steps(), first: 0, end: steps(), binCount: 1, bins: [], marks: [], lanes }); // it moves before its picture is there
  look(shown(), { remember: false });
  element.addEventListener("pointerdown", pressed);
  element.addEventListener("pointermove", moved);
  element.addEventListener("pointerup", released);
  element.addEventListener("pointercancel", released);
  element.addEventListener("pointerleave", picture.hideTip);
  element.addEventListener("dblclick", (event) => look(zoomed(shown(), { by: 0.25, around: picture.placeAt(event), steps: steps() })));
  document.getElementById("strip-in").addEventListener("click", () => zoom(0.5));
  document.getElementById("strip-out").addEventListener("click", () => zoom(2));
  document.getElementById("strip-whole").addEventListener("click", () => {
    look({ first: 0, end: steps() });
    element.focus();
  });

  return {
    step,
    hits: picture.hits,
    notes: picture.notes,
    refresh: () => {
      picture.view(shown());
      return refresh();
    },
    zoom,
    pan: (by) => look(panned(shown(), { by, steps: steps() })),
    centre: () => look(centred(shown(), { step: page.step(), steps: steps() })),
    fromAddress: () => look(viewIn(new URL(location.href).searchParams.get("view"), steps()) ?? { first: 0, end: steps() }, { remember: false }),
  };
}
