// The graph of a job: vertices as cards that open into their tasks, edges between them. Looks come from the page by accessors.
import { layoutGraph, roomFor, shortened } from "../layout/graph.js";
import { count } from "../state/format.js";
import d3 from "../vendor/d3.js";

const PAD = 20;
const LETTER_PX = 6.2;
const NAME_LETTER_PX = 7.4;
const LEAST_SCALE = 0.72;

export function graph() {
  const opened = new Set();
  let widthPx = 720;
  let taskLook = () => ({ level: 0, title: "" });
  let linkLook = () => ({ widthPx: 1.5, label: "" });
  let chosen;
  let onTask = () => undefined;
  let onOpen = () => undefined;

  function chart(selection) {
    selection.each(function (data) {
      const placed = layoutGraph(data, { widthPx: widthPx - 2 * PAD, opened });
      const svg = d3.select(this).selectAll("svg").data([placed]).join((enter) => enter.append("svg").call(frame));
      const [width, height] = [Math.max(placed.width, widthPx - 2 * PAD), placed.height];
      // A graph that is too long is drawn smaller, as long as it can be read; then it scrolls.
      const scale = Math.max(LEAST_SCALE, Math.min(1, widthPx / (width + 2 * PAD)));
      svg.attr("width", (width + 2 * PAD) * scale).attr("height", (height + 2 * PAD) * scale).attr("viewBox", `0 0 ${width + 2 * PAD} ${height + 2 * PAD}`);
      const shift = (width - placed.width) / 2;
      svg.select(".world").attr("transform", `translate(${PAD + shift},${PAD})`);
      paintLinks(svg.select(".links"), placed.links);
      paintNodes(svg.select(".nodes"), placed.nodes);
    });
  }

  function frame(svg) {
    svg.attr("class", "graph-svg").attr("role", "group").attr("aria-label", "Graph of vertices and tasks; the table below tells the same");
    const world = svg.append("g").attr("class", "world");
    world.append("g").attr("class", "links");
    world.append("g").attr("class", "nodes");
  }

  function paintLinks(group, links) {
    const link = group.selectAll("g.link").data(links, (one) => one.key).join((enter) => {
      const added = enter.append("g").attr("class", "link");
      added.append("path");
      added.append("text").attr("text-anchor", "middle").attr("dy", "-0.45em");
      added.append("title");
      return added;
    });
    link.attr("class", (one) => `link ${linkLook(one).className ?? ""}`);
    link.select("path").attr("d", (one) => one.path).attr("stroke-width", (one) => linkLook(one).widthPx);
    link.select("text").attr("x", (one) => one.labelX).attr("y", (one) => one.labelY).text((one) => fitting(linkLook(one).label ?? "", one.roomPx));
    link.select("title").text((one) => linkLook(one).title ?? "");
  }

  function paintNodes(group, nodes) {
    const node = group.selectAll("g.vertex").data(nodes, (one) => one.id).join((enter) => enter.append("g").attr("class", "vertex").call(shell));
    node.classed("opened", (one) => one.opened).classed("holds-mark", (one) => one.vertex.tasks.some((id) => taskLook(id).mark));
    node.select(".card").attr("x", (one) => one.x).attr("y", (one) => one.y).attr("width", (one) => one.width).attr("height", (one) => one.height);
    node.select(".handle").attr("aria-expanded", (one) => String(one.opened)).attr("aria-label", (one) => `${one.id}, ${one.vertex.count ?? one.vertex.tasks.length} tasks`);
    node.select(".handle rect").attr("x", (one) => one.x).attr("y", (one) => one.y).attr("width", (one) => one.width).attr("height", 30);
    node.select(".name").attr("x", (one) => one.x + 12).attr("y", (one) => one.y + 20).each(function (one) { nameIn(this, one); });
    node.select(".role").attr("x", (one) => one.x + one.width - 12).attr("y", (one) => one.y + 20).text((one) => (fitsBeside(one) ? one.vertex.kind : ""));
    node.select(".hidden").attr("x", (one) => one.x + 12).attr("y", (one) => one.y + one.height - 10).text((one) => (one.hidden ? `${count(one.hidden)} more in the table` : ""));
    paintTasks(node);
  }

  function shell(vertex) {
    vertex.append("rect").attr("class", "card").attr("rx", 9);
    const handle = vertex.append("g").attr("class", "handle").attr("role", "button").attr("tabindex", 0);
    handle.append("rect").attr("rx", 9);
    handle.append("text").attr("class", "name");
    handle.append("title").text((one) => `${one.id}: open or close this vertex`);
    handle.on("click", (event, one) => toggle(one)).on("keydown", (event, one) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(one);
    });
    vertex.append("text").attr("class", "role").attr("text-anchor", "end").attr("aria-hidden", "true");
    vertex.append("g").attr("class", "tasks");
    vertex.append("g").attr("class", "amounts").attr("aria-hidden", "true");
    vertex.append("text").attr("class", "hidden");
  }

  function paintTasks(node) {
    const task = node.select(".tasks").selectAll("a.task").data((one) => one.tasks.map((each) => ({ ...each, opened: one.opened })), (one) => one.id).join((enter) => {
      const added = enter.append("a").attr("class", "task");
      added.append("rect");
      added.append("text").attr("class", "mark").attr("text-anchor", "middle").attr("aria-hidden", "true");
      added.append("text").attr("class", "id");
      added.append("title");
      return added.on("click", (event, one) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        onTask(one.id);
      });
    });
    const square = (one) => ({ x: one.opened ? one.x + 11 : one.x, y: one.opened ? one.y + 4 : one.y, size: 16 });
    task.attr("href", (one) => taskLook(one.id).href).attr("aria-label", (one) => taskLook(one.id).title).attr("aria-current", (one) => (one.id === chosen ? "true" : null));
    task.attr("class", (one) => `task level-${taskLook(one.id).level} ${taskLook(one.id).className ?? ""} ${one.id === chosen ? "chosen" : ""}`);
    task.select("rect").attr("rx", 4).attr("width", 16).attr("height", 16).attr("x", (one) => square(one).x).attr("y", (one) => square(one).y);
    task.select(".mark").attr("x", (one) => square(one).x + 8).attr("y", (one) => square(one).y + 12).text((one) => taskLook(one.id).mark ?? "");
    task.select(".id").attr("x", (one) => one.x + 34).attr("y", (one) => one.y + 16.5).each(function (one) { nameIn(this, one.opened ? one : { ...one, id: "" }); });
    task.select("title").text((one) => taskLook(one.id).title);
    paintAmounts(node);
  }

  // Beside the links and not in them: a link's name is the task's, and what it says on hover.
  function paintAmounts(node) {
    const shown = (one) => (one.opened ? one.tasks.filter((task) => taskLook(task.id).amount) : []);
    const amount = node.select(".amounts").selectAll("text").data(shown, (one) => one.id).join("text");
    amount.attr("class", "amount").attr("text-anchor", "end").attr("x", (one) => one.x + one.width - 10).attr("y", (one) => one.y + 16.5).text((one) => taskLook(one.id).amount);
  }

  function toggle(one) {
    if (!opened.delete(one.id)) opened.add(one.id);
    onOpen();
  }

  chart.widthPx = (value) => (value === undefined ? widthPx : ((widthPx = value), chart));
  chart.taskLook = (value) => (value === undefined ? taskLook : ((taskLook = value), chart));
  chart.linkLook = (value) => (value === undefined ? linkLook : ((linkLook = value), chart));
  chart.chosen = (value) => (value === undefined ? chosen : ((chosen = value), chart));
  chart.onTask = (value) => ((onTask = value), chart);
  chart.onOpen = (value) => ((onOpen = value), chart);
  chart.open = (id) => (opened.add(id), chart);
  return chart;
}

// A long name takes the whole line: what kind of vertex it is shows in the table and in its place.
function fitsBeside(one) {
  return one.id.length * NAME_LETTER_PX + one.vertex.kind.length * LETTER_PX <= one.width - 30;
}

// Letters are as wide as they are: what was given room by their number is measured, and shortened until it fits.
function nameIn(element, one) {
  element.textContent = one.id;
  const room = roomFor(one);
  for (let letters = one.id.length; letters > 3 && element.getComputedTextLength() > room; ) {
    letters = Math.min(letters - 1, Math.floor((letters * room) / element.getComputedTextLength()));
    element.textContent = shortened(one.id, letters);
  }
}

// Half a label under a card says nothing: what has no room is said on hover.
function fitting(label, roomPx) {
  return [label, label.split(" · ").at(-1)].find((text) => text.length * LETTER_PX <= roomPx) ?? "";
}
