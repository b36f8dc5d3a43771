// Searching a replay, moving by words, and its breakpoints: what the page asks of the server.
import { ask, errorFrom, getJson, getPart, sendJson } from "./api.js";

export function stopSource(replay) {
  const api = `/api/v1/replays/${replay}`;
  return {
    /** Where words lead from a step: {step, why, breakpoints}. */
    go: (step, to) => getJson(`${api}/go?${new URLSearchParams({ step, to, lenient: true })}`),
    /** The hits of a search as a list, around a step. */
    list: (find, step) => getPart(`/replays/${replay}/hits/?${new URLSearchParams({ find, step })}`),
    panel: (step) => getPart(`/replays/${replay}/breakpoints/?step=${step}`),
    keep: (search) => sendJson("POST", `${api}/breakpoints`, { search }),
    change: (id, fields) => sendJson("PATCH", `${api}/breakpoints/${id}`, fields),
    remove: (id) => sendJson("DELETE", `${api}/breakpoints/${id}`),
    hits: (search, options) => streamHits(`${api}/hits?${new URLSearchParams({ where: search, lenient: true })}`, options),
  };
}

/** All hits of a search, a line at a time: `onLine` is told each as it comes. */
async function streamHits(url, { onLine, signal }) {
  // What cannot be read comes as a line: somebody types it, and it is no fault for the browser's console.
  const response = await ask(url, { headers: { Accept: "application/x-ndjson" }, signal });
  if (!response.ok) throw errorFrom(await response.json().catch(() => undefined), response.status);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line), onLine);
  }
}

function take(line, onLine) {
  if (line.error) throw errorFrom(line, 422);
  onLine(line);
}
