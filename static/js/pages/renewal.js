// A page takes in what the server would render now: parts that are another than before are replaced, all others stay as
// they are, with what the reader has opened, scrolled to or filled in.

const CONTAINERS = ".stack, .split, .panel, #following";
// What is replaced under somebody's hands is lost: it waits for the next time.
const BUSY = "input:focus, select:focus, textarea:focus, details.keep[open], details.menu[open]";
const TOKENS = /(name="csrfmiddlewaretoken" value=)"[^"]*"/g;
const sources = new WeakMap();

/** Notes how the server rendered the parts of a place; to be called before anything is drawn there. */
export function remember(place) {
  sources.set(place, sourceOf(place));
  if (place.matches(CONTAINERS)) for (const part of place.children) remember(part);
}

/** Makes a place what its newer self is. */
export function renew(place, newer) {
  if (place.matches(CONTAINERS) && sameParts(place, newer)) [...newer.children].forEach((one, at) => renew(place.children[at], one));
  else if (sources.get(place) !== sourceOf(newer) && !place.querySelector(BUSY)) replace(place, newer);
}

function replace(place, newer) {
  const left = { open: opened(place), scrolled: scrolled(place), focus: nameOf(place.contains(document.activeElement) ? document.activeElement : undefined) };
  remember(newer);
  place.replaceWith(newer);
  for (const one of within(newer, "details")) if (left.open.has(nameOf(one.querySelector("summary")))) one.open = true;
  within(newer, ".scroll").forEach((one, at) => one.scrollTo(left.scrolled[at] ?? {}));
  if (left.focus) within(newer, "a, button, summary, [tabindex]").find((one) => nameOf(one) === left.focus)?.focus({ preventScroll: true });
}

const within = (place, selector) => [...(place.matches(selector) ? [place] : []), ...place.querySelectorAll(selector)];
const sourceOf = (part) => part.outerHTML.replace(TOKENS, "$1");
const keyOf = (part) => part.id || part.getAttribute("aria-labelledby") || part.localName;
const sameParts = (one, other) => [...one.children].map(keyOf).join() === [...other.children].map(keyOf).join();
const opened = (place) => new Set([...place.querySelectorAll("details[open] > summary")].map(nameOf));
const scrolled = (place) => within(place, ".scroll").map(({ scrollTop, scrollLeft }) => ({ top: scrollTop, left: scrollLeft }));

// Numbers in its words may be others by now.
function nameOf(element) {
  return element && (element.id || element.getAttribute("href") || element.getAttribute("aria-label") || element.textContent.replace(/\d+/g, "#").trim());
}
