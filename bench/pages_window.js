// In every page before its own scripts: when its picture stands there, and what held its thread up.
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longTasks.push([one.startTime, one.duration]);
}).observe({ type: "longtask", buffered: true });
window.standsThere = (selector, withinMs) =>
  new Promise((done, refused) => {
    setTimeout(() => refused(new Error(`there is no ${selector} within ${withinMs / 1000} s`)), withinMs);
    const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now())));
    const look = () => (document.querySelector(selector) ? painted() : requestAnimationFrame(look));
    look();
  });

const frame = () => new Promise((done) => requestAnimationFrame(done));
const rest = (ms) => new Promise((done) => setTimeout(done, ms));

/** Calls `move` once a frame, so many frames a stroke; how long each took, in ms. Between strokes a hand rests. */
async function timed(move, { strokes, frames, restMs }) {
  const took = [];
  for (let stroke = 0; stroke < strokes; stroke += 1) {
    let last = await frame();
    for (let n = 0; n < frames; n += 1) {
      move(stroke, n);
      const now = await frame();
      took.push(now - last);
      last = now;
    }
    await rest(restMs);
  }
  return took;
}

/** The picture of the page as a wheel moves it: there and back, in and out. */
window.movedByWheel = (how, timing) => {
  const place = document.getElementById("picture");
  const box = place.getBoundingClientRect();
  const at = { clientX: box.left + box.width * 0.4, clientY: box.top + 60, bubbles: true, cancelable: true };
  const wheel = (change) => place.dispatchEvent(new WheelEvent("wheel", { ...at, ...change }));
  const ways = {
    pan: (stroke) => wheel({ deltaX: stroke % 2 ? -14 : 14 }),
    zoom: (stroke) => wheel({ deltaY: stroke % 2 ? 1 : -1, ctrlKey: true }),
  };
  return timed(ways[how], timing);
};

/** As many arrows in one SVG, moved as a whole: {drawMs, pan, zoom}. `corners`: x1, y1, x2, y2 of each in pixels. */
window.plainSvg = async (corners, { widthPx, heightPx }, timing) => {
  const began = performance.now();
  const arrows = corners.map(([x1, y1, x2, y2]) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`);
  document.body.innerHTML = `<svg width="${widthPx}" height="${heightPx}"><defs><marker id="head" orient="auto" markerWidth="6" markerHeight="6" refX="5" refY="3"><path d="M0,0L6,3L0,6z"/></marker></defs>
    <g stroke="#667" marker-end="url(#head)">${arrows.join("")}</g></svg>`;
  const group = document.querySelector("svg > g");
  for (const one of group.children) one.setAttribute("vector-effect", "non-scaling-stroke");
  await frame();
  await frame();
  const drawMs = performance.now() - began;
  let [x, scale] = [0, 1];
  const put = () => group.setAttribute("transform", `translate(${x},0) scale(${scale},1)`);
  const pan = await timed((stroke) => ((x += stroke % 2 ? 14 : -14), put()), timing);
  const zoom = await timed((stroke) => ((scale *= stroke % 2 ? 1 / 1.05 : 1.05), put()), timing);
  return { drawMs, pan, zoom };
};
