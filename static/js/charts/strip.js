// The strip of all steps on one canvas: columns by group of kind, states and divergences as marks, the cursor.
import { layoutStrip, placeOf, stepAt } from "../layout/strip.js";

const GROUPS = ["step-recovery", "step-input", "step-determinant", "step-output", "step-state", "step-finish", "step-diverge"];
const HEIGHT = 56;
const BARS = { top: 12, height: 30 };

export function strip(element) {
  const canvas = element.appendChild(document.createElement("canvas"));
  canvas.setAttribute("aria-hidden", "true");
  let data;
  let step = 0;
  let widthPx = 0;
  let background;

  function resize() {
    widthPx = canvas.clientWidth;
    background = undefined;
    paint();
  }

  /** Columns are painted once; a step only moves the cursor over them. */
  function paint() {
    if (!data || !widthPx) return;
    const ratio = window.devicePixelRatio || 1;
    if (!background) background = painted(ratio);
    canvas.width = widthPx * ratio;
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext("2d");
    context.drawImage(background, 0, 0);
    context.scale(ratio, ratio);
    paintCursor(context);
  }

  function painted(ratio) {
    const copy = document.createElement("canvas");
    copy.width = widthPx * ratio;
    copy.height = HEIGHT * ratio;
    const context = copy.getContext("2d");
    context.scale(ratio, ratio);
    const colour = colours(element);
    const columns = layoutStrip(data.bins, { ...data, widthPx, heightPx: BARS.height, groups: GROUPS });
    for (const column of columns) {
      const gap = column.width > 4 ? 1 : 0;
      for (const part of column.parts) {
        context.fillStyle = colour(part.group);
        context.fillRect(column.x, BARS.top + part.y, Math.max(1, column.width - gap), part.height);
      }
    }
    for (const mark of data.marks) paintMark(context, mark, colour);
    return copy;
  }

  function paintMark(context, mark, colour) {
    const x = placeOf(mark.step, { steps: data.steps, widthPx });
    const diverged = mark.kind === "diverge";
    context.fillStyle = colour(diverged ? "step-diverge" : "ink-faint");
    const y = diverged ? BARS.top + BARS.height + 3 : 2;
    context.beginPath();
    if (diverged) [[x, y], [x + 5, y + 8], [x - 5, y + 8]].forEach(([px, py]) => context.lineTo(px, py));
    else [[x - 4, y], [x + 4, y], [x, y + 6]].forEach(([px, py]) => context.lineTo(px, py));
    context.fill();
  }

  function paintCursor(context) {
    const colour = colours(element);
    const x = placeOf(step, { steps: data.steps, widthPx });
    context.fillStyle = colour("panel");
    context.fillRect(x - 2, 6, 4, HEIGHT - 14);
    context.fillStyle = colour("accent");
    context.fillRect(x - 1, 6, 2, HEIGHT - 14);
    context.beginPath();
    context.arc(x, HEIGHT - 7, 5, 0, 2 * Math.PI);
    context.fill();
  }

  return {
    resize,
    data(value) {
      data = value;
      background = undefined;
      paint();
    },
    step(value) {
      step = value;
      paint();
    },
    stepAt: (event) => stepAt(event.clientX - canvas.getBoundingClientRect().left, { steps: data?.steps ?? 0, widthPx }),
  };
}

function colours(element) {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}
