// Where vertices, their tasks and the edges between them stand. Layers follow the way of the records; on a narrow page they go down.

const CARD = { width: 152, widest: 320, head: 32, pad: 12, square: 16, gap: 5, perRow: 6, mostSquares: 36, row: 24, mostRows: 80 };
const GAP = { least: 28, labelled: 56, most: 150, between: 20 };
// How wide a letter is at most on the average: of a vertex' name, and of a task's; and how high. Beside a task stand its square and its amount.
const LETTER = { name: 7.8, task: 6.6, height: 14 };
const BESIDE = { square: 34, amount: 64 };

export function layoutGraph({ vertices, edges, channels }, { widthPx, opened = new Set() }) {
  const layers = orderLayers(layersOf(vertices, edges), edges);
  const downward = widthPx < layers.length * (CARD.width + GAP.labelled) - GAP.labelled && widthPx < 620;
  const nodes = new Map(vertices.map((vertex) => [vertex.id, card(vertex, opened.has(vertex.id), widthPx)]));
  const size = edges.length || downward ? place(layers, nodes, { widthPx, downward }) : placeInRows([...nodes.values()], widthPx);
  return { nodes: [...nodes.values()], links: downward ? withRoom(linksBetween(nodes, edges, channels, downward)) : linksBetween(nodes, edges, channels, downward), downward, ...size };
}

/** Vertices by their longest way from a source, so that every edge leads to a later layer. */
export function layersOf(vertices, edges) {
  const depth = new Map(vertices.map(({ id }) => [id, 0]));
  for (let round = 0; round < vertices.length; round += 1) {
    let moved = false;
    for (const { from, to } of edges) {
      if (depth.get(to) < depth.get(from) + 1) {
        depth.set(to, depth.get(from) + 1);
        moved = true;
      }
    }
    if (!moved) break;
  }
  const layers = [];
  for (const { id } of vertices) (layers[depth.get(id)] ??= []).push(id);
  return layers.filter(Boolean);
}

// One pass by the mean place of what feeds a vertex takes out most crossings of graphs as small as these.
function orderLayers(layers, edges) {
  const at = new Map();
  return layers.map((layer) => {
    const wanted = new Map(
      layer.map((id, place) => {
        const feeders = edges.filter((edge) => edge.to === id && at.has(edge.from)).map((edge) => at.get(edge.from));
        return [id, feeders.length ? feeders.reduce((sum, one) => sum + one, 0) / feeders.length : place];
      }),
    );
    const ordered = [...layer].sort((one, other) => wanted.get(one) - wanted.get(other));
    ordered.forEach((id, place) => at.set(id, place - (ordered.length - 1) / 2));
    return ordered;
  });
}

function card(vertex, opened, widthPx) {
  const shown = opened ? Math.min(vertex.tasks.length, CARD.mostRows) : Math.min(vertex.tasks.length, CARD.mostSquares);
  const rows = opened ? shown : Math.ceil(shown / CARD.perRow);
  const hidden = (vertex.count ?? vertex.tasks.length) - shown;
  const body = opened ? rows * CARD.row : rows * (CARD.square + CARD.gap) - CARD.gap;
  const height = CARD.head + body + CARD.pad + (hidden ? CARD.row - 6 : 0);
  const tasks = vertex.tasks.slice(0, shown);
  return { id: vertex.id, vertex, opened, hidden, x: 0, y: 0, width: widthOf(vertex, opened ? tasks : [], widthPx), height, tasks };
}

/** As wide as its names, up to where the page or patience ends: what is longer is shortened in the middle. */
function widthOf(vertex, tasks, widthPx) {
  const longest = tasks.reduce((most, id) => Math.max(most, id.length), 0);
  const wanted = Math.max(vertex.id.length * LETTER.name + 2 * CARD.pad, longest && BESIDE.square + Math.ceil(longest * LETTER.task) + BESIDE.amount + 2);
  return Math.max(CARD.width, Math.min(Math.ceil(wanted), CARD.widest, widthPx));
}

/** A text of which so many letters have room loses its middle: names of tasks differ at their ends. */
export function shortened(text, letters) {
  if (text.length <= letters) return text;
  const end = Math.max(0, Math.floor((letters - 1) / 2));
  return `${text.slice(0, Math.max(0, letters - 1 - end))}…${text.slice(text.length - end)}`;
}

/** How wide a name may be in its card. */
export function roomFor({ width, vertex }) {
  return width - (vertex ? 2 * CARD.pad : BESIDE.square + BESIDE.amount);
}

/** Where nothing is known to lead from one to another, rows use the page's width. */
function placeInRows(cards, widthPx) {
  const widest = Math.max(0, ...cards.map((one) => one.width));
  const columns = Math.max(1, Math.min(cards.length, Math.floor((widthPx + GAP.between) / (widest + GAP.between))));
  let y = 0;
  for (let first = 0; first < cards.length; first += columns) {
    const row = cards.slice(first, first + columns);
    row.forEach((node, column) => {
      [node.x, node.y] = [column * (widest + GAP.between), y];
      placeTasks(node);
    });
    y += Math.max(...row.map((one) => one.height)) + GAP.between;
  }
  return { width: Math.max(0, columns * (widest + GAP.between) - GAP.between), height: Math.max(0, y - GAP.between) };
}

function place(layers, nodes, { widthPx, downward }) {
  const along = (node) => (downward ? node.height : node.width);
  const across = (node) => (downward ? node.width : node.height);
  const lengths = layers.map((layer) => Math.max(...layer.map((id) => along(nodes.get(id)))));
  const breadths = layers.map((layer) => layer.reduce((sum, id) => sum + across(nodes.get(id)) + GAP.between, -GAP.between));
  const breadth = Math.max(...breadths, 0);
  const free = (widthPx - lengths.reduce((sum, one) => sum + one, 0)) / Math.max(1, layers.length - 1);
  const gap = downward ? GAP.labelled : Math.min(GAP.most, Math.max(GAP.least, free));
  let start = 0;
  layers.forEach((layer, depth) => {
    let side = (breadth - breadths[depth]) / 2;
    for (const id of layer) {
      const node = nodes.get(id);
      [node.x, node.y] = downward ? [side, start] : [start, side];
      side += across(node) + GAP.between;
      placeTasks(node);
    }
    start += lengths[depth] + gap;
  });
  const length = Math.max(0, start - gap);
  return downward ? { width: breadth, height: length } : { width: length, height: breadth };
}

function placeTasks(node) {
  node.tasks = node.tasks.map((id, index) =>
    node.opened
      ? { id, x: node.x + 1, y: node.y + CARD.head + index * CARD.row, width: node.width - 2, height: CARD.row }
      : {
          id,
          x: node.x + CARD.pad + (index % CARD.perRow) * (CARD.square + CARD.gap),
          y: node.y + CARD.head + Math.floor(index / CARD.perRow) * (CARD.square + CARD.gap),
          width: CARD.square,
          height: CARD.square,
        },
  );
}

/** One link per edge; where an end is open, one per channel, so that tasks are joined to tasks. */
function linksBetween(nodes, edges, channels, downward) {
  return edges.flatMap((edge) => {
    const [from, to] = [nodes.get(edge.from), nodes.get(edge.to)];
    const its = channels.filter((one) => one.fromVertex === edge.from && one.toVertex === edge.to);
    const ids = its.map((one) => one.id);
    if ((!from.opened && !to.opened) || (!its.length && edge.channels)) {
      return [{ ...link(`${edge.from}>${edge.to}`, edge, ids, leaving(from, from, downward), entering(to, to, downward), downward), bundled: true }];
    }
    return its.map((one) =>
      link(one.id, edge, [one.id], leaving(from, taskOf(from, one.from), downward), entering(to, taskOf(to, one.to), downward), downward),
    );
  });
}

// Edges that go down stand side by side: the label of one has the room up to where that of the next one stands.
function withRoom(links) {
  const bundled = links.filter((one) => one.bundled);
  return links.map((one) => {
    const beside = bundled.filter((other) => Math.abs(other.labelY - one.labelY) < LETTER.height && other.labelX !== one.labelX);
    return { ...one, roomPx: Math.min(one.roomPx, ...beside.map((other) => Math.abs(other.labelX - one.labelX))) };
  });
}

function taskOf(node, id) {
  return node.opened ? (node.tasks.find((task) => task.id === id) ?? node) : node;
}

function leaving(node, part, downward) {
  return downward ? [node.x + node.width / 2, node.y + node.height] : [node.x + node.width, part.y + part.height / 2];
}

function entering(node, part, downward) {
  return downward ? [node.x + node.width / 2, node.y] : [node.x, part.y + part.height / 2];
}

function link(key, edge, channels, [x0, y0], [x1, y1], downward) {
  const [half, lift] = [(x1 - x0) / 2, (y1 - y0) / 2];
  const bend = downward ? `${x0},${y0 + lift} ${x1},${y1 - lift}` : `${x0 + half},${y0} ${x1 - half},${y1}`;
  return { key, edge, channels, path: `M${x0},${y0}C${bend} ${x1},${y1}`, labelX: (x0 + x1) / 2, labelY: (y0 + y1) / 2, roomPx: downward ? Infinity : x1 - x0 };
}
