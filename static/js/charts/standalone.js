// A picture as a file that stands alone: what the page's style says of each element is written onto it, with a caption below.
import { isClear, lettersOf, make, wordingOf } from "./wording.js";

const INHERITED = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "paint-order", "opacity", "display", "visibility", "font-family", "font-size", "font-weight", "letter-spacing", "text-anchor", "dominant-baseline",
];
const PAD_PX = 20;
const LINE_PX = 18;

/** All that is drawn in a place, canvases and drawings over one another and words beside them, as one drawing. Below it
 * stand its legend, where it has one, and `lines`. */
export function standalone(place, lines, legend) {
  const at = place.getBoundingClientRect();
  const box = { left: at.left - place.scrollLeft, top: at.top - place.scrollTop };
  const parts = [...place.querySelectorAll("canvas, svg")].filter((one) => !one.parentElement.closest("svg") && one.checkVisibility() && !one.querySelector("use"));
  const words = place.hasAttribute("data-words") ? wordingOf(place, { dx: PAD_PX - box.left, dy: PAD_PX - box.top }) : [];
  const sides = [...parts.map((one) => one.getBoundingClientRect()), ...words];
  const bottom = Math.max(0, ...sides.map((one) => one.bottom - box.top));
  const below = legend ? keys(legend, bottom + 2 * PAD_PX) : { drawn: [], right: 0, height: 0 };
  const right = Math.max(at.width, below.right, ...sides.map((one) => one.right - box.left));
  const linesAt = bottom + 2 * PAD_PX + below.height;
  const [width, height] = [Math.ceil(right + 2 * PAD_PX), Math.ceil(linesAt + lines.length * LINE_PX)];
  const file = make("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  file.append(make("rect", { width, height, fill: groundOf(place) }));
  file.append(...parts.map((one) => moved(one, one.getBoundingClientRect(), box)), ...words.map((one) => one.drawn), ...below.drawn);
  file.append(...[...place.querySelectorAll("[data-word]")].filter((one) => one.checkVisibility()).map((one) => word(one, box)));
  file.append(...lines.map((line, number) => caption(line, number, linesAt + (number + 0.5) * LINE_PX, place)));
  return { file, width, height };
}

function keys(legend, topPx) {
  const [box, look] = [legend.getBoundingClientRect(), getComputedStyle(legend)];
  const found = wordingOf(legend, { dx: PAD_PX - box.left - Number.parseFloat(look.paddingLeft), dy: topPx - box.top });
  if (!found.length) return { drawn: [], right: 0, height: 0 };
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...found.map((one) => one[side])));
  return { drawn: found.map((one) => one.drawn), right: right - box.left, height: bottom - box.top + PAD_PX / 2 };
}

/** The family's files, so that letters are as wide in the picture as on the page. */
export function withFonts(file, faces) {
  const style = make("style", {});
  style.textContent = faces.join("\n");
  file.prepend(style);
  return file;
}

export const textOf = (file) => new XMLSerializer().serializeToString(file);

function moved(part, at, box) {
  const [x, y] = [at.left - box.left + PAD_PX, at.top - box.top + PAD_PX];
  if (part.localName === "canvas") return make("image", { x, y, width: at.width, height: at.height, href: part.toDataURL("image/png") });
  const copy = part.cloneNode(true);
  styled(part, copy);
  const ground = getComputedStyle(part).backgroundColor;
  if (!isClear(ground)) copy.prepend(make("rect", { width: "100%", height: "100%", fill: ground }));
  Object.entries({ x, y, width: at.width, height: at.height }).forEach(([name, value]) => copy.setAttribute(name, value));
  return copy;
}

function styled(original, copy) {
  const look = getComputedStyle(original);
  // As attributes: a page whose policy allows no inline style may not write any.
  for (const name of INHERITED) copy.setAttribute(name, look.getPropertyValue(name));
  for (const name of ["class", "style", "tabindex", "role", "id"]) copy.removeAttribute(name);
  if (copy.hasAttribute("href")) copy.setAttribute("href", new URL(copy.getAttribute("href"), document.baseURI).href);
  [...original.children].forEach((child, number) => styled(child, copy.children[number]));
}

function word(element, box) {
  const [look, at] = [getComputedStyle(element), element.getBoundingClientRect()];
  const [x, y] = [at.left - box.left + PAD_PX, at.top + at.height / 2 - box.top + PAD_PX];
  const text = make("text", { x, y, "dominant-baseline": "central", ...lettersOf(look) });
  text.textContent = element.textContent;
  return text;
}

function caption(line, number, y, place) {
  const look = getComputedStyle(place);
  const text = make("text", { x: PAD_PX, y, fill: look.color, "font-family": look.fontFamily, "font-size": 12, "font-weight": number ? 400 : 650 });
  text.textContent = line;
  return text;
}

function groundOf(place) {
  for (let at = place; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!isClear(colour)) return colour;
  }
  return "#fff";
}
