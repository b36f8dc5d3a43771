// What a page says beside its drawings, as parts of one: words where they stand, and the marks of a legend.
const SVG = "http://www.w3.org/2000/svg";
const NOT_SEEN = ".visually-hidden, svg";
const CLEAR = /^rgba\(.*, 0\)$|^transparent$/;

/** Of all words and marks below an element: {right, bottom} in the window, and `drawn`, moved by so much. */
export function wordingOf(element, { dx, dy }) {
  const found = [...marksIn(element), ...linesIn(element)];
  return found.map(({ name, attributes, text, right, bottom }) => {
    const drawn = make(name, { ...attributes, x: attributes.x + dx, y: attributes.y + dy });
    if (text) drawn.textContent = text;
    return { right, bottom, drawn };
  });
}

export function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}

export function lettersOf(look) {
  return { fill: look.color, "font-family": look.fontFamily, "font-size": look.fontSize, "font-weight": look.fontWeight };
}

export const isClear = (colour) => CLEAR.test(colour);

function* marksIn(element) {
  for (const one of seen(element)) {
    if (one.localName === "i") yield box(getComputedStyle(one), one.getBoundingClientRect());
    const before = getComputedStyle(one, "::before");
    if (before.content !== "none" && before.content !== "normal") yield beforeOf(one, before);
  }
}

function seen(element) {
  return [element, ...element.querySelectorAll("*")].filter((one) => !one.closest(NOT_SEEN) && one.checkVisibility());
}

function box(look, { left, top, width, height }) {
  const border = look.borderTopStyle === "none" ? 0 : Number.parseFloat(look.borderTopWidth);
  const line = border ? { stroke: look.borderTopColor, "stroke-width": border, ...(look.borderTopStyle === "dashed" && { "stroke-dasharray": "3 2" }) } : {};
  return {
    name: "rect",
    attributes: {
      x: left + border / 2, y: top + border / 2, width: width - border, height: height - border, rx: Number.parseFloat(look.borderTopLeftRadius) || 0,
      fill: isClear(look.backgroundColor) ? "none" : look.backgroundColor, ...line,
    },
    right: left + width,
    bottom: top + height,
  };
}

/** A mark that the style puts before an element: a box, or letters. */
function beforeOf(one, look) {
  const at = one.getBoundingClientRect();
  const [width, height, text] = [Number.parseFloat(look.width) || 0, Number.parseFloat(look.height) || 0, look.content.replace(/^"|"$/g, "")];
  const [left, middle] = [at.left + Number.parseFloat(getComputedStyle(one).paddingLeft), at.top + at.height / 2];
  if (!text) return box(look, { left, top: middle - height / 2, width, height });
  return letters(text, look, { left, right: left + width, top: middle - height / 2, height });
}

function* linesIn(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest(NOT_SEEN) && parent.checkVisibility()) yield* linesOf(walker.currentNode, getComputedStyle(parent));
  }
}

/** Word by word, as a line may end behind any of them. */
function* linesOf(node, look) {
  const range = document.createRange();
  let line;
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const at = range.getBoundingClientRect();
    if (line && Math.abs(line.at.top - at.top) < 1) {
      line.words.push(word);
      line.right = at.right;
    } else {
      if (line) yield letters(line.words.join(" "), look, { ...sides(line.at), right: line.right });
      line = { words: [word], at, right: at.right };
    }
  }
  if (line) yield letters(line.words.join(" "), look, { ...sides(line.at), right: line.right });
}

const sides = ({ left, top, height }) => ({ left, top, height });

function letters(words, look, { left, top, height, right }) {
  const text = look.textTransform === "uppercase" ? words.toUpperCase() : words;
  // As long as on the page, where digits may all be as wide as one another.
  const long = right > left ? { textLength: right - left } : {};
  return { name: "text", text, attributes: { x: left, y: top + height / 2, "dominant-baseline": "central", ...long, ...lettersOf(look) }, right, bottom: top + height };
}
