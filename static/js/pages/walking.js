// From a step to the next one like it: those at hand are walked over at once, beyond them the server is asked, once at a time.
import { nextLike } from "../state/steps.js";
import { notice, toast } from "./frame.js";

/** `page` is what it moves: {step(), last(), at(step), go(step, how), find(towards, step, where)}. */
export function walking(page) {
  let asking = false;

  /** To the nearest step whose fields are those of `like`; `missing` is said where there is none. */
  async function along(towards, like, missing) {
    const near = nextLike(page.at, { like, from: page.step(), towards, last: page.last() });
    if (near !== undefined) return page.go(near);
    if (asking) return undefined;
    asking = true;
    try {
      const found = await page.find(towards, page.step(), like);
      return found.step ? page.go(found.step.step) : toast(missing);
    } catch (fault) {
      return notice(fault.message);
    } finally {
      asking = false;
    }
  }

  return along;
}
