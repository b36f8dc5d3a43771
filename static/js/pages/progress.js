// Progress that stands on a page: what is being done, how far it is, and what to do when it ends.
import { live } from "../net/live.js";
import { byteSize, count } from "../state/format.js";

/** Follows every progress element below `root`; `onEnd(element, state)` when its work is over. */
export function followProgress(root, onEnd) {
  return [...root.querySelectorAll("[data-progress]")].map((element) =>
    live({
      socket: element.dataset.socket,
      poll: element.dataset.poll,
      of: element.dataset.of,
      onState: (state) => {
        show(element, state);
        if (["ready", "ready-partial", "failed", "cancelled"].includes(state.status)) onEnd(element, state);
        else element.dispatchEvent(new CustomEvent("progressed", { bubbles: true, detail: state }));
      },
    }),
  );
}

function show(element, state) {
  element.querySelector("[data-progress-text]").textContent = state.phase || state.status;
  const known = state.total > 0;
  element.querySelector("[data-progress-count]").textContent = known
    ? state.unit === "bytes"
      ? `${byteSize(state.done)} of ${byteSize(state.total)}`
      : `${count(state.done)} of ${count(state.total)} ${state.unit ?? ""}`.trim()
    : state.done > 0 && state.unit !== "bytes"
      ? `${count(state.done)} ${state.unit ?? ""}`.trim()
      : "";
  element.querySelector("[data-progress-message]").textContent = state.message ?? "";
  const bar = element.querySelector("progress");
  if (known) {
    bar.max = state.total;
    bar.value = state.done;
  } else {
    bar.removeAttribute("value");
  }
}
