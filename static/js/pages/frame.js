// What every page does: the help sheet, the account menu, confirmations, short notices.
import { AWAY } from "../net/api.js";
import { bindingFor } from "../state/keys.js";

document.documentElement.classList.add("scripted");
document.querySelector(".ways [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

const bindings = [{ keys: ["?"], what: "this help", run: showKeys }];

/** Pages add their keys; the help sheet lists them all. */
export function bindKeys(more) {
  bindings.unshift(...more);
}

export function toast(text) {
  document.querySelector(".toast")?.remove();
  const shown = document.createElement("div");
  shown.className = "toast";
  shown.setAttribute("role", "status");
  shown.textContent = text;
  document.body.append(shown);
  setTimeout(() => shown.remove(), 4000);
}

let saidLast = false;

/** A notice that stays until the page changes: what went wrong, in one sentence, once. Behind the last one comes none. */
export function notice(text, tone = "bad", { last = false } = {}) {
  const said = [...document.querySelectorAll("#notices .notice")].some((one) => one.textContent === text);
  if (said || saidLast) return;
  saidLast = last;
  const shown = document.createElement("div");
  shown.className = `notice ${tone}`;
  const inner = document.createElement("div");
  inner.textContent = text;
  shown.append(inner);
  if (text === AWAY) document.addEventListener("server-back", () => shown.remove(), { once: true });
  document.getElementById("notices").append(shown);
}

function showKeys() {
  const list = document.getElementById("keys-list");
  list.replaceChildren(...bindings.map(({ keys, what }) => {
    const pair = document.createElement("div");
    pair.append(keysCell(keys), whatCell(what));
    return pair;
  }));
  document.getElementById("keys").showModal();
}

function keysCell(keys) {
  const cell = document.createElement("dt");
  cell.append(
    ...keys.map((key) => {
      const shown = document.createElement("kbd");
      shown.textContent = key;
      return shown;
    }),
  );
  return cell;
}

function whatCell(what) {
  const cell = document.createElement("dd");
  cell.textContent = what;
  return cell;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const binding = bindingFor(event, bindings);
  if (!binding) return;
  event.preventDefault();
  binding.run(event);
});

document.addEventListener("keydown", (event) => {
  const who = event.key === "Escape" && event.target.closest?.("#who[open]");
  if (!who) return;
  event.preventDefault();
  who.open = false;
  who.querySelector("summary").focus();
});

document.addEventListener("click", (event) => {
  const who = document.getElementById("who");
  if (who?.open && !who.contains(event.target)) who.open = false;
  const opener = event.target.closest?.("[data-opens]");
  if (opener) {
    event.preventDefault();
    document.getElementById(opener.dataset.opens)?.showModal();
  }
});

export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    toast("Link copied: it opens this very view.");
  } catch {
    toast("The browser does not let pages copy; the link is in the address bar.");
  }
}
