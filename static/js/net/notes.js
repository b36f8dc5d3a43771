// The notes on a replay's steps: what the page asks of the server.
import { getPart, sendJson } from "./api.js";

export function noteSource(replay) {
  const api = `/api/v1/replays/${replay}/notes`;
  return {
    panel: (step) => getPart(`/replays/${replay}/notes/?step=${step}`),
    add: (note) => sendJson("POST", api, note),
    change: (id, fields) => sendJson("PATCH", `${api}/${id}`, fields),
    remove: (id) => sendJson("DELETE", `${api}/${id}`),
  };
}
