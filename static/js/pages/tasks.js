// A replay of several tasks: one of them alone, in the strip, the list and while stepping; and from one task to another.
import { addressWith } from "../state/cursor.js";
import { notice, toast } from "./frame.js";

/** `page` is what it moves: {step(), row(), go(step, how), along(towards, like, missing), find(towards, step, where), changed()}. */
export function tasks(page) {
  const chosen = () => document.getElementById("only");
  const names = () => [...(chosen()?.options ?? [])].map((one) => one.value).filter(Boolean);
  let only = inAddress();

  function inAddress() {
    const wanted = new URL(location.href).searchParams.get("task") ?? "";
    return names().includes(wanted) ? wanted : "";
  }

  /** The strip, the list and stepping are of this task alone; of all of them where it is none. */
  function alone(task, { remember = true } = {}) {
    if (!chosen() || task === only) return;
    only = task;
    chosen().value = task;
    if (remember) history.pushState(null, "", addressWith(location.href, { step: page.step(), task, view: undefined }));
    page.changed();
  }

  async function toggle() {
    if (!names().length) return toast("There is one task so far.");
    return alone(only ? "" : ((await page.row())?.task ?? ""));
  }

  const along = (towards, task) => page.along(towards, { task }, `${task} has no step ${towards > 0 ? "behind" : "before"} this one.`);

  /** One step on or back: of the task that is looked at alone, or of all. */
  function walk(towards) {
    if (only) return along(towards, only);
    return page.go(page.step() + towards, {});
  }

  /** Along the task whose step this is. */
  async function ofThis(towards) {
    const { task } = (await page.row()) ?? {};
    if (task) await along(towards, task);
  }

  /** To another task, at its nearest step: the next one, or where none follows the last. */
  async function to(task) {
    try {
      if ((await page.row())?.task === task) return undefined;
      const found = await page.find(1, page.step(), { task });
      const nearest = found.step ?? (await page.find(-1, page.step(), { task })).step;
      if (nearest && only) alone(task);
      return nearest && page.go(nearest.step, { jump: true });
    } catch (fault) {
      return notice(fault.message);
    }
  }

  /** To the lane below or above. */
  async function beside(by) {
    const all = names();
    const next = all[all.indexOf((await page.row())?.task) + by];
    if (next) await to(next);
  }

  function begin() {
    document.addEventListener("change", (event) => event.target === chosen() && alone(chosen().value));
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[data-to-task], a[data-only]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return undefined;
      event.preventDefault();
      return link.dataset.only === undefined ? to(link.dataset.toTask) : alone(link.dataset.only);
    });
  }

  return { begin, only: () => only, alone, toggle, walk, ofThis, beside, fromAddress: () => alone(inAddress(), { remember: false }) };
}
