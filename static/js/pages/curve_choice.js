// Whose throughput and latency a job's timeline draws: all sinks' come with the page, a vertex's or a task's when asked for.
import { getJson } from "../net/api.js";
import { addressWith } from "../state/cursor.js";
import { notice } from "./frame.js";

// Stands for the task that is selected, whichever that is.
const TASK = "task:";
const choice = () => document.getElementById("curves-of");

// As the page's own data names it.
const drawn = (points) => points.map(({ t_us: tUs, value }) => ({ tUs, value }));

export function curveChoice({ chosen, draw }) {
  let whose = new URL(location.href).searchParams.get("curves") ?? "";
  let asked = 0;

  /** The select says what is chosen; what is drawn stays until the answer is there, and the last question counts. */
  function show() {
    if (![...(choice()?.options ?? [])].some((one) => one.value === whose)) whose = "";
    if (choice()) choice().value = whose;
    if (whose) ask();
  }

  async function ask() {
    const mine = ++asked;
    const of = whose === TASK ? chosen() : whose;
    try {
      const { curves } = await getJson(addressWith(new URL(choice().dataset.address, location.href), { of }));
      if (mine === asked) draw(curves.map((one) => ({ ...one, points: drawn(one.points), p50: drawn(one.p50) })));
    } catch (fault) {
      notice(fault.message);
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target !== choice()) return;
    whose = event.target.value;
    history.replaceState(null, "", addressWith(location.href, { curves: whose }));
    ask();
  });
  return { show, taskChanged: () => whose === TASK && ask() };
}
