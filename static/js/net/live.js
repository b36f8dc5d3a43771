// Live status over a WebSocket: reconnects with backoff, and asks by polling while no socket can be had.
import { backoffMs } from "../state/backoff.js";
import { getJson } from "./api.js";

const ENDED = new Set(["ready", "ready-partial", "failed", "cancelled"]);
const POLL_MS = 2_000;
const TRIES_BEFORE_POLLING = 2;

// A socket that is closed before it stands is a warning in the browser's console: it is closed when it does.
function close(socket) {
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}

/** Calls onState({status, phase, done, total, unit, message, …}) with each news until an end; returns how to stop. */
export function live({ socket, poll, onState }) {
  let tries = 0;
  let timer;
  let polling;
  let current;
  let stopped = false;

  function take(state) {
    if (stopped) return;
    onState(state);
    if (ENDED.has(state.status)) stop();
  }

  function connect() {
    current = new WebSocket(new URL(socket, location.href.replace(/^http/, "ws")));
    current.onmessage = (event) => {
      tries = 0;
      stopPolling();
      take(JSON.parse(event.data));
    };
    current.onclose = () => {
      if (stopped) return;
      tries += 1;
      if (tries >= TRIES_BEFORE_POLLING) startPolling();
      timer = setTimeout(connect, backoffMs(tries));
    };
  }

  function startPolling() {
    polling ??= setInterval(() => getJson(poll).then((body) => take(body.progress ?? body), () => undefined), POLL_MS);
  }

  function stopPolling() {
    clearInterval(polling);
    polling = undefined;
  }

  function stop() {
    stopped = true;
    stopPolling();
    clearTimeout(timer);
    if (current) close(current);
  }

  connect();
  return stop;
}
