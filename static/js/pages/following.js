// A job that is still being recorded: its page takes in each newer version of it.
import { getJson, getPart } from "../net/api.js";
import { live } from "../net/live.js";
import { remember, renew } from "./renewal.js";

const PARTS = ["#content > .stack", ".header-badges", ".header-actions"];
const PAUSE_SHARE = 2;
const LEAST_PAUSE_MS = 300;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Follows the job of this page, if it grows; to be called before anything is drawn. `address()` is what is shown,
 * `onNewer()` draws it again.
 */
export function watchFollowing({ address, onNewer }) {
  const element = document.getElementById("following");
  if (!element) return;
  const { socket, poll, updated, following } = element.dataset;
  let wanted = false;
  let busy = false;
  let pressed = false;
  PARTS.forEach((part) => remember(document.querySelector(part)));

  async function hear(what) {
    if (what === undefined) wanted ||= await isOlder();
    else wanted ||= what === "version" || what === "following";
    await show();
  }

  async function isOlder() {
    const job = await getJson(poll).catch(() => undefined);
    return job !== undefined && (Date.parse(job.updated_at) > Date.parse(updated) || job.following !== (following === "1"));
  }

  // One after the other, and with a pause: versions may come faster than the server makes pages.
  async function show() {
    if (busy) return;
    busy = true;
    try {
      while (wanted && !pressed && !document.hidden) {
        wanted = false;
        const began = performance.now();
        await takeIn();
        await pause(Math.max(LEAST_PAUSE_MS, PAUSE_SHARE * (performance.now() - began)));
      }
    } catch {
      wanted = true; // the server is away; who reconnects is told again
    } finally {
      busy = false;
    }
  }

  async function takeIn() {
    const fresh = document.createElement("div");
    fresh.append(...(await getPart(address())));
    if (PARTS.some((part) => !fresh.querySelector(part))) return;
    PARTS.forEach((part) => renew(document.querySelector(part), fresh.querySelector(part)));
    onNewer();
  }

  // A click that begins on what is replaced would never come.
  document.addEventListener("pointerdown", () => (pressed = true));
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, () => {
      pressed = false;
      setTimeout(show);
    });
  }
  document.addEventListener("visibilitychange", show);
  live({ socket, poll, onState: () => undefined, onNews: hear });
}
