// Asking the server: JSON, parts of pages, and errors in the one sentence that the server gave.

class ServerError extends Error {
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const AWAY = "The server does not answer. What is shown here stays, and goes on when it answers again.";
const NOT_THERE = "It is not there any more, or no longer shared with you.";
let away = false;

/** As `fetch`; where no server answers, in a sentence. `server-back` is told to the document when one does again. */
export async function ask(url, options) {
  try {
    const response = await fetch(url, options);
    if (away) document.dispatchEvent(new Event("server-back"));
    away = false;
    return response;
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    away = true;
    throw new ServerError(AWAY, 0, "away");
  }
}

export async function getJson(url, { signal } = {}) {
  const response = await ask(url, { headers: { Accept: "application/json" }, signal });
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

export async function sendJson(method, url, body) {
  const response = await ask(url, {
    method,
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw await errorOf(response);
  return response.status === 204 ? undefined : response.json();
}

/** A form with its file, as the browser would send it; the answer is JSON all the same. */
export async function sendForm(form) {
  const body = new FormData(form);
  const response = await ask(form.action, { method: "POST", headers: { "X-CSRFToken": csrfToken() }, body });
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

/** A part of a page as the server renders it: the nodes to put in place. Parsed without running anything. */
export async function getPart(url, { signal } = {}) {
  const response = await ask(url, { headers: { Accept: "text/html" }, signal });
  if (!response.ok || response.redirected) throw await errorOf(response);
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  return [...parsed.body.childNodes].map((node) => document.importNode(node, true));
}

export function csrfToken() {
  return document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
}

async function errorOf(response) {
  if (response.redirected) return new ServerError("You are no longer signed in. Reload the page to sign in again.", 401);
  try {
    return errorFrom(await response.json(), response.status);
  } catch {
    return errorFrom(undefined, response.status);
  }
}

export function errorFrom(body, status) {
  const given = body?.error;
  const text = given?.message ?? (status === 404 ? NOT_THERE : undefined) ?? `The server answered ${status || "nothing"}. Try again; if it stays, look at the server's log.`;
  return new ServerError(text, status, given?.code);
}
