// How much one task held of a log over time, as stairs that fit into a table's cell; and where the chosen moment stands.
import { stairs } from "../layout/holdings.js";
import d3 from "../vendor/d3.js";

const HEIGHT = 28;
const INSET = 3;

export function holdings() {
  let widthPx = 160;
  let range = [0, 1];
  let total = 1;
  let momentUs = 0;

  function chart(selection) {
    selection.each(function (growth) {
      const points = stairs(growth, { startUs: range[0], endUs: range[1], total, widthPx, heightPx: HEIGHT - 2 * INSET });
      const svg = d3.select(this).selectAll("svg.holdings-svg").data([points]).join((enter) => {
        const added = enter.append("svg").attr("class", "holdings-svg").attr("aria-hidden", "true").attr("preserveAspectRatio", "none");
        added.append("line").attr("class", "total");
        added.append("path").attr("class", "under");
        added.append("path").attr("class", "stair");
        added.append("line").attr("class", "now");
        return added;
      });
      const shift = points.map(([x, y]) => [x, y + INSET]);
      svg.attr("viewBox", `0 0 ${widthPx} ${HEIGHT}`);
      svg.select(".total").attr("x2", widthPx).attr("y1", INSET).attr("y2", INSET);
      svg.select(".stair").attr("d", d3.line()(shift));
      svg.select(".under").attr("d", d3.area().y0(HEIGHT - INSET).y1((p) => p[1]).x((p) => p[0])(shift));
      chart.moveTo(svg);
    });
  }

  /** Only the moment's line moves: cheap enough for every event of a slider. */
  chart.moveTo = (svg) => {
    const x = ((momentUs - range[0]) / Math.max(1, range[1] - range[0])) * widthPx;
    svg.select(".now").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", HEIGHT);
    return chart;
  };
  chart.widthPx = (value) => (value === undefined ? widthPx : ((widthPx = value), chart));
  chart.range = (value) => (value === undefined ? range : ((range = value), chart));
  chart.total = (value) => (value === undefined ? total : ((total = value), chart));
  chart.momentUs = (value) => (value === undefined ? momentUs : ((momentUs = value), chart));
  return chart;
}
