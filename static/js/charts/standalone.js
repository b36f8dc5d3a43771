// A picture as a file that stands alone: what the page's style says of each element is written onto it, with a caption below.
const SVG = "http://www.w3.org/2000/svg";
const INHERITED = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "paint-order", "opacity", "display", "visibility", "font-family", "font-size", "font-weight", "letter-spacing", "text-anchor", "dominant-baseline",
];
const PAD_PX = 20;
const LINE_PX = 18;

/** All that is drawn in a place, canvases and drawings over one another and words beside them, as one drawing. `lines`
 * stand below it. */
export function standalone(place, lines) {
  const box = place.getBoundingClientRect();
  const parts = [...place.querySelectorAll("canvas, svg")].filter((one) => !one.parentElement.closest("svg") && one.checkVisibility());
  const right = Math.max(box.width, ...parts.map((one) => one.getBoundingClientRect().right - box.left));
  const bottom = Math.max(0, ...parts.map((one) => one.getBoundingClientRect().bottom - box.top));
  const [width, height] = [Math.ceil(right + 2 * PAD_PX), Math.ceil(bottom + 2 * PAD_PX + lines.length * LINE_PX)];
  const file = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  file.append(drawn("rect", { width, height, fill: groundOf(place) }));
  file.append(...parts.map((one) => moved(one, one.getBoundingClientRect(), box)));
  file.append(...[...place.querySelectorAll("[data-word]")].filter((one) => one.checkVisibility()).map((one) => word(one, box)));
  file.append(...lines.map((line, number) => caption(line, number, bottom + 2 * PAD_PX + (number + 0.5) * LINE_PX, place)));
  return { file, width, height };
}

/** The family's files, so that letters are as wide in the picture as on the page. */
export function withFonts(file, faces) {
  const style = drawn("style", {});
  style.textContent = faces.join("\n");
  file.prepend(style);
  return file;
}

export const textOf = (file) => new XMLSerializer().serializeToString(file);

function moved(part, at, box) {
  const [x, y] = [at.left - box.left + PAD_PX, at.top - box.top + PAD_PX];
  if (part.localName === "canvas") return drawn("image", { x, y, width: at.width, height: at.height, href: part.toDataURL("image/png") });
  const copy = part.cloneNode(true);
  styled(part, copy);
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
  const text = drawn("text", { x, y, "dominant-baseline": "central", fill: look.color, "font-family": look.fontFamily, "font-size": look.fontSize, "font-weight": look.fontWeight });
  text.textContent = element.textContent;
  return text;
}

function caption(line, number, y, place) {
  const look = getComputedStyle(place);
  const text = drawn("text", { x: PAD_PX, y, fill: look.color, "font-family": look.fontFamily, "font-size": 12, "font-weight": number ? 400 : 650 });
  text.textContent = line;
  return text;
}

function groundOf(place) {
  for (let at = place; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/^rgba\(.*, 0\)$|^transparent$/.test(colour)) return colour;
  }
  return "#fff";
}

function drawn(name, attributes) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}
