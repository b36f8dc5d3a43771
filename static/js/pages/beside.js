// Another failure below the lanes, at the same scale and moved so that both failures stand below one another.
import { paintSpacetime } from "../charts/spacetime.js";
import { placeFronts, rowsOf } from "../layout/lanes.js";
import { getJson } from "../net/api.js";
import { addressWith, numberIn } from "../state/cursor.js";
import { moment, plural } from "../state/format.js";
import { lanesRepeated } from "./lane_names.js";

const ASK_AFTER_MS = 150;

/** `base()` is the failure that the upper picture is about. */
export function beside({ scene, placed, base, parameters }) {
  const choice = document.getElementById("beside");
  const row = document.getElementById("beside-row");
  const place = document.getElementById("beside-picture");
  const text = document.getElementById("beside-text");
  const picture = { scene, placed, rows: [], fronts: [], ways: [], view: { from: 0, to: 1 } };
  lanesRepeated(row.querySelector(".lane-names"), placed.lanes);
  let timer;
  let asking;
  let held;
  let other = scene.failures.find((one) => one.failure === numberIn(location.href, "beside"));

  function follow(view) {
    row.hidden = text.hidden = !other;
    if (choice) choice.value = other ? String(other.failure) : "";
    if (!other) return;
    const byUs = other.failedUs - base().failedUs;
    picture.view = { from: view.from + byUs, to: view.to + byUs };
    paint();
    clearTimeout(timer);
    timer = setTimeout(() => ask().catch((fault) => fault.name !== "AbortError" && (text.textContent = `The buffers could not be read. ${fault.message}`)), ASK_AFTER_MS);
  }

  function paint() {
    if (other && place.clientWidth) paintSpacetime(place.querySelector("canvas"), picture, { widthPx: place.clientWidth, ratio: window.devicePixelRatio || 1 });
  }

  async function ask() {
    const { from, to } = picture.view;
    const key = `${from} ${to}`;
    if (held === key) return;
    asking?.abort();
    asking = new AbortController();
    const window = { from_us: Math.max(0, from), to_us: Math.max(0, to) };
    const answer = await getJson(`/api/v1${location.pathname.replace(/\/$/, "")}?${parameters(window)}`, { signal: asking.signal });
    held = key;
    Object.assign(picture, { rows: rowsOf(answer), fronts: placeFronts(answer.fronts, placed.lanes), ways: answer.through });
    text.textContent = `Below: ${other.task} failed at ${moment(other.failedUs)}, at the same scale as ${base().task} at ${moment(base().failedUs)} above, with both failures in one line. ${plural(answer.buffers, "sending", "sendings")} there, as ${plural(answer.marks.count.length, "mark", "marks")}.`;
    paint();
  }

  /** Tells which failure was chosen, so that the window can go where both are seen. */
  function onChoice(run) {
    choice?.addEventListener("change", () => {
      other = scene.failures.find((one) => String(one.failure) === choice.value);
      held = undefined;
      history.replaceState(null, "", addressWith(location.href, { beside: other?.failure }));
      run(other);
    });
  }
  return { follow, onChoice };
}
