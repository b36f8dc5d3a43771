// The whole job in a strip: how much was sent when, where failures are, and the window, which can be dragged and drawn.
import { within } from "../layout/lanes.js";
import { plural } from "../state/format.js";
import d3 from "../vendor/d3.js";

const HEIGHT = 34;
const LEAST_PX = 4;

/** `onWindow(view, {last})` is told of every move, and of its end. */
export function scrub(element, scene, onWindow) {
  const svg = d3.select(element).append("svg").attr("class", "scrub-svg").attr("aria-hidden", "true").attr("height", HEIGHT);
  const bars = svg.append("g").attr("class", "pace");
  const failures = svg.append("g").attr("class", "failures");
  const shade = svg.append("g").attr("class", "shade").selectAll("rect").data([0, 1]).join("rect").attr("height", HEIGHT);
  const frame = svg.append("rect").attr("class", "frame").attr("height", HEIGHT - 2).attr("y", 1).attr("rx", 3);
  let widthPx = 0;
  let view = { from: 0, to: scene.durationUs };
  let grabbed;
  const x = (tUs) => (tUs / Math.max(1, scene.durationUs)) * widthPx;
  const t = (px) => (px / widthPx) * scene.durationUs;

  function paint(shown) {
    view = shown;
    if (element.clientWidth !== widthPx) paintJob();
    const [left, right] = [x(view.from), Math.max(x(view.from) + LEAST_PX, x(view.to))];
    shade.attr("x", (side) => (side ? right : 0)).attr("width", (side) => Math.max(0, side ? widthPx - right : left));
    frame.attr("x", left).attr("width", right - left);
  }

  /** What stays where it is while the window moves. */
  function paintJob() {
    widthPx = element.clientWidth;
    svg.attr("width", widthPx);
    const most = Math.max(1, ...scene.pace.map(([, , count]) => count));
    bars.selectAll("rect").data(scene.pace).join("rect").attr("x", ([at]) => x(at)).attr("width", ([, width]) => Math.max(1, x(width) - 1))
      .attr("y", ([, , count]) => HEIGHT - 3 - (count / most) * (HEIGHT - 10)).attr("height", ([, , count]) => (count / most) * (HEIGHT - 10))
      .selectAll("title").data((one) => [one]).join("title").text(([at, , count]) => `${plural(count, "sending", "sendings")} from ${at / 1e6} s on`);
    failures.selectAll("path").data(scene.failures).join("path").attr("d", (one) => `M${x(one.failedUs) - 3},3l6,6m0,-6l-6,6`);
  }

  function placeOf(event) {
    return Math.min(Math.max(event.clientX - element.getBoundingClientRect().left, 0), widthPx);
  }

  element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const at = placeOf(event);
    const whole = view.to - view.from >= scene.durationUs;
    const inside = !whole && at >= x(view.from) - 3 && at <= Math.max(x(view.to), x(view.from) + LEAST_PX) + 3;
    grabbed = { at, view, inside };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => grabbed && onWindow(moved(event), { last: false }));
  element.addEventListener("pointerup", (event) => {
    if (!grabbed) return;
    const next = moved(event);
    grabbed = undefined;
    onWindow(next, { last: true });
  });
  element.addEventListener("pointercancel", () => (grabbed = undefined));

  /** Inside the window it moves; beside it a new one is drawn, or the old one jumps there. */
  function moved(event) {
    const at = placeOf(event);
    const width = grabbed.view.to - grabbed.view.from;
    if (grabbed.inside) return within({ from: grabbed.view.from + t(at - grabbed.at), to: grabbed.view.to + t(at - grabbed.at) }, scene.durationUs);
    if (Math.abs(at - grabbed.at) > LEAST_PX) return within({ from: t(Math.min(at, grabbed.at)), to: t(Math.max(at, grabbed.at)) }, scene.durationUs);
    return width >= scene.durationUs ? grabbed.view : within({ from: t(at) - width / 2, to: t(at) + width / 2 }, scene.durationUs);
  }
  return { paint };
}
