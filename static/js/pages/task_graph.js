// The graph on a job's page, coloured by the measure that one chooses: bytes logged come with the page, others when asked for.
import { graph } from "../charts/graph.js";
import { getJson } from "../net/api.js";
import { addressWith } from "../state/cursor.js";
import { byteSize, count, duration, plural } from "../state/format.js";
import d3 from "../vendor/d3.js";
import { dataOf } from "./elements.js";
import { notice } from "./frame.js";

// Small jobs show their tasks at once.
const OPENED_UP_TO = 24;
const FIRST = "bytes";
// The one that speaks of the task that is selected.
const HELD = "held";
const SAYS = { bytes: byteSize, us: duration, "": count };

export function taskGraph({ chosen, select, durationUs }) {
  const picture = graph();
  let by = new URL(location.href).searchParams.get("colour") ?? FIRST;
  let data, answers;
  let measure = { values: {} };
  read();
  if (data && data.vertices.reduce((sum, { count: tasks }) => sum + tasks, 0) <= OPENED_UP_TO) data.vertices.forEach(({ id }) => picture.open(id));

  /** Takes what stands in the page, as it is after a part of it came anew. */
  function read() {
    data = dataOf("graph-data");
    answers = new Map([[FIRST, data?.measure ?? { values: {} }]]);
    const choice = document.getElementById("colour-by");
    if (![...(choice?.options ?? [])].some((one) => one.value === by)) by = FIRST;
    if (choice) choice.value = by;
    if (by === FIRST || !measure.by) measure = data?.measure ?? measure;
  }

  /** What is drawn stays until the answer is there; of several that are asked for the last one counts. */
  async function colour(chosenBy = by) {
    by = chosenBy;
    const [task, asked] = [by === HELD ? chosen() : undefined, by];
    const key = task === undefined ? by : `${by} ${task}`;
    try {
      if (!answers.has(key)) answers.set(key, getJson(addressWith(new URL(data.measures, location.href), { by, task })));
      const answer = await answers.get(key);
      if (by !== asked || (by === HELD && chosen() !== task)) return;
      if (answer === measure) return;
      measure = answer;
    } catch (fault) {
      answers.delete(key);
      notice(fault.message);
      return;
    }
    paint();
  }

  function paint() {
    const place = document.getElementById("graph");
    if (!data?.vertices.length || !place) return;
    const range = measure.range ?? rangeOf(Object.values(measure.values));
    picture.widthPx(place.clientWidth).taskLook((id) => lookOf(id, range[1])).linkLook(linkLook).chosen(chosen() ?? null).onTask(select).onOpen(paint);
    d3.select(place).datum(data).call(picture);
    paintLegend(range);
  }

  function lookOf(id, most) {
    const task = data.tasks?.[id];
    const href = `?task=${encodeURIComponent(id)}`;
    if (!task) return { level: 0, title: id, href };
    const value = measure.values[id];
    const amount = value === undefined ? "" : said(value);
    const about = measure.by === FIRST ? amount : amount && `${measure.says} ${amount}`;
    const failed = task.failures ? `, failed ${plural(task.failures, "time", "times")}` : "";
    return {
      level: most && value ? Math.ceil((value / most) * 4) : 0,
      mark: task.failures ? "✕" : "",
      className: task.failures ? "failed" : "",
      amount,
      title: `${[id, about].filter(Boolean).join(" ")}; ${plural(task.determinants, "determinant", "determinants")} of ${byteSize(task.bytes)}${failed}`,
      href,
    };
  }

  function linkLook({ edge, channels, bundled }) {
    const whole = bundled ? data.edgeFlows?.[`${edge.from}>${edge.to}`] : undefined;
    const flows = whole ? [whole] : channels.map((id) => data.flows?.[id]).filter(Boolean);
    const ends = channels.length === 1 ? channels[0] : `${edge.from} to ${edge.to}`;
    if (!flows.length) return { widthPx: 1.5, label: bundled ? edge.ship : "", title: `${ends}: ${edge.ship}` };
    const total = (name) => flows.reduce((sum, flow) => sum + (flow[name] ?? 0), 0);
    const most = Math.max(1, data.mostFlowBytes) * (bundled ? edge.channels : channels.length);
    const perSecond = (name) => (total(name) * 1e6) / durationUs();
    const records = durationUs() ? `${count(perSecond("records"))} records/s` : "";
    const rate = records && ` (${byteSize(perSecond("bytes"))}/s, ${records})`;
    const amount = (by === "records" && records) || byteSize(total("bytes"));
    return {
      widthPx: 1.25 + 3.5 * Math.sqrt(total("bytes") / most),
      label: bundled ? `${edge.ship} · ${amount}` : "",
      title:
        `${ends}, ${edge.ship}: ${plural(total("buffers"), "buffer", "buffers")} with ${plural(total("records"), "record", "records")}, ` +
        `${byteSize(total("bytes"))}${rate}; deltas beside them ${byteSize(total("deltaBytes"))}`,
    };
  }

  function paintLegend([least, most]) {
    const legend = document.getElementById("graph-legend");
    if (!legend || !measure.says) return;
    const what = by === HELD ? `held of the log of ${chosen()}` : measure.says;
    if (most === undefined) legend.replaceChildren(`colour: ${what}. The recording tells it of no task.`);
    else legend.replaceChildren(`colour: ${what}, ${said(least)}`, scale(), said(most));
  }

  function said(value) {
    return SAYS[measure.unit](value);
  }

  return { paint, read, colour, taskChanged: () => by === HELD && colour() };
}

function rangeOf(values) {
  return values.reduce(([least, most], value) => [Math.min(least ?? value, value), Math.max(most ?? value, value)], []);
}

function scale() {
  const steps = document.createElement("span");
  steps.className = "scale";
  steps.setAttribute("aria-hidden", "true");
  steps.append(...[0, 1, 2, 3, 4].map((level) => Object.assign(document.createElement("i"), { className: `level-${level}` })));
  return steps;
}
