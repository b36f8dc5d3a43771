// The SQL page: Ctrl+Enter asks, keys turn pages, and an answer can be drawn; what is drawn stands in the address.
import { plot } from "../charts/plot.js";
import { dataOf, onResize } from "./elements.js";
import { bindKeys, copyLink } from "./frame.js";
import { addressWith, numberIn } from "../state/cursor.js";
import { plural } from "../state/format.js";
import d3 from "../vendor/d3.js";

const question = document.getElementById("question");
const answer = dataOf("answer-data");
const WAYS = ["bars", "line", "points"];

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) question.form.requestSubmit();
});
document.getElementById("ask").addEventListener("submit", () => document.body.setAttribute("aria-busy", "true"));

if (answer?.rows.length) drawing();

function drawing() {
  const [as, x, y] = ["draw-as", "draw-x", "draw-y"].map((id) => document.getElementById(id));
  const place = document.getElementById("picture");
  const said = document.getElementById("draw-said");
  const keep = document.querySelector("#draw .keep");
  const picture = plot().onSaid(({ leftOut }) => {
    said.textContent = leftOut ? `${plural(leftOut, "row has no number there and is", "rows have no number there and are")} left out` : "";
  });
  const asked = new URL(location.href).searchParams.get("draw");
  as.value = WAYS.includes(asked) ? asked : "";
  x.value = choice(numberIn(location.href, "x"), 0);
  y.value = choice(numberIn(location.href, "y"), firstNumber());
  for (const field of [as, x, y]) field.addEventListener("change", changed);
  onResize([place.parentElement], paint);
  paint();

  function changed() {
    const drawn = as.value ? { draw: as.value, x: x.value, y: y.value } : { draw: undefined, x: undefined, y: undefined };
    history.replaceState(history.state, "", addressWith(location.href, drawn));
    paint();
  }

  function paint() {
    place.hidden = keep.hidden = !as.value;
    said.textContent = "";
    if (!as.value) return;
    picture.as(as.value).columns([Number(x.value), Number(y.value)]).widthPx(Math.max(240, place.clientWidth - 32));
    d3.select(place).datum({ rows: answer.rows, names: answer.columns }).call(picture);
  }
}

function choice(wanted, otherwise) {
  return String(wanted !== undefined && wanted < answer.columns.length ? wanted : otherwise);
}

// What to draw by itself: the last column that holds numbers.
function firstNumber() {
  const numbers = answer.columns.map((_, n) => n).filter((n) => answer.rows.some((row) => typeof row[n] === "number"));
  return numbers.at(-1) ?? 0;
}

bindKeys([
  { keys: ["/"], what: "write the question", run: () => question.focus() },
  { keys: ["n", "]"], what: "next page of the answer", run: () => document.getElementById("later")?.click() },
  { keys: ["N", "["], what: "page before", run: () => document.getElementById("earlier")?.click() },
  { keys: ["y"], what: "copy the link to this question", run: copyLink },
]);
