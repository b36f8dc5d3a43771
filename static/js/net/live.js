// Live status over a WebSocket: reconnects with backoff, and asks by polling while no socket can be had.
import { backoffMs } from "../state/backoff.js";
import { getJson } from "./api.js";

const ENDED = new Set(["ready", "ready-partial", "failed", "cancelled"]);
const POLL_MS = 2_000;
const TRIES_BEFORE_POLLING = 2;
const CUT_OFF = 4404;

// A socket that is closed before it stands is a warning in the browser's console: it is closed when it does.
function close(socket) {
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}

/**
 * Calls onState({status, phase, done, total, unit, message, …}) with each news until an end; returns how to stop.
 * With onNews it stays beyond the end, and tells what somebody changed; undefined after a time without a socket, when
 * it may have been anything. With `of` it is about that alone, as a job's audit. onGone is called when there is nothing to watch any more, or nothing that one may see.
 */
export function live({ socket, poll, of, onState, onNews, onGone }) {
  let tries = 0;
  let timer;
  let polling;
  let current;
  let stopped = false;
  let missed = Boolean(onNews); // somebody may have changed something since the page was made

  function take(said) {
    if (stopped) return;
    if (said.news !== undefined) return onNews?.(said.news);
    const state = of ? said[of] : said;
    if (state?.status === undefined) return undefined; // it is about something else
    onState(state);
    if (missed) onNews?.();
    missed = false;
    if (ENDED.has(state.status) && !onNews) stop();
    return undefined;
  }

  function connect() {
    current = new WebSocket(new URL(socket, location.href.replace(/^http/, "ws")));
    current.onmessage = (event) => {
      tries = 0;
      stopPolling();
      take(JSON.parse(event.data));
    };
    current.onclose = ({ code }) => {
      if (stopped) return;
      if (code === CUT_OFF && onGone) {
        stop();
        onGone();
        return;
      }
      tries += 1;
      missed = true;
      if (tries >= TRIES_BEFORE_POLLING) startPolling();
      timer = setTimeout(connect, backoffMs(tries));
    };
  }

  function startPolling() {
    polling ??= setInterval(() => getJson(poll).then(polled, () => undefined), POLL_MS);
  }

  function polled(body) {
    missed = true;
    const state = body.progress ?? body;
    take(of ? { [of]: state } : state);
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
