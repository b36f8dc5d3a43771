// The marks on the strip of steps: shapes that are told apart without their colour, and text that fits.

function filled(context, points) {
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(x, y));
  context.fill();
}

/** A breakpoint's hit, and where replay and recording differ. */
export function triangle(context, x, y, height) {
  filled(context, [[x, y], [x + 5, y + height], [x - 5, y + height]]);
}

/** What was searched for stands on top of what is stopped at. */
export function diamond(context, x, y, height) {
  const middle = y + height / 2;
  filled(context, [[x, y - 1], [x + 4, middle], [x, y + height + 1], [x - 4, middle]]);
}

/** A state that is entered. */
export function down(context, x, y) {
  filled(context, [[x - 4, y], [x + 4, y], [x, y + 6]]);
}

/** As much of a text as there is room for, on one line; nothing where that would say nothing. */
export function shortened(context, text, roomPx) {
  const line = text.replaceAll(/\s+/g, " ").slice(0, 120);
  if (roomPx < 40) return "";
  if (context.measureText(line).width <= roomPx) return line;
  let length = Math.floor((line.length * roomPx) / context.measureText(line).width);
  while (length > 0 && context.measureText(`${line.slice(0, length)}…`).width > roomPx) length -= 1;
  return length > 3 ? `${line.slice(0, length)}…` : "";
}

export function colours(element) {
  const style = getComputedStyle(element);
  const known = new Map();
  return (name) => known.get(name) ?? known.set(name, style.getPropertyValue(`--${name}`).trim()).get(name);
}
