// Where the replay page stops: moving by words, the search field, the breakpoints and their hits on the strip.
import { stopSource } from "../net/stops.js";
import { addressWith } from "../state/cursor.js";
import { plural } from "../state/format.js";
import { Hits, likeStep, together } from "../state/hits.js";
import { once } from "../state/ranges.js";
import { selectorOf } from "./elements.js";
import { notice, toast } from "./frame.js";
import { hitList } from "./hit_list.js";

const SEARCH_AFTER_MS = 250;
const MOST_WAITING = 4;

/** `page` is what it moves: {replay, step(), row(), go(step), marks(hits), begun()}; returns what keys are bound to. */
export function stops(page) {
  const source = stopSource(page.replay);
  const list = hitList({ step: page.step, list: source.list, begun: page.begun });
  const found = new Map(); // search -> Hits, of what is enabled or searched for
  let searchTimer;
  let asking;
  let searchedFor; // the Hits of what stands in the field
  let line = Promise.resolve();
  let waiting = 0;
  let moved = 0; // how often one moved by other means: what was under way then leads nowhere
  let leading = false;

  const panel = () => document.getElementById("stops");
  const field = () => document.getElementById("find");
  const rows = () => [...panel().querySelectorAll("[data-breakpoint]")];
  const failed = (fault) => fault.name !== "AbortError" && notice(fault.message);

  /** Leads from this step, one after the other: each begins where the one before it ended. */
  function lead(to) {
    if (waiting >= MOST_WAITING) return;
    const since = moved;
    waiting += 1;
    line = line.then(() => since === moved && led(to, since)).finally(() => (waiting -= 1));
  }

  async function led(to, since) {
    try {
      const landing = await source.go(page.step(), to);
      if (since !== moved) return;
      if (!landing.step) return toast(landing.why);
      leading = true;
      page.go(landing.step.step);
      showStopped(landing.breakpoints);
      if (landing.instead) toast(landing.instead);
    } catch (fault) {
      if (fault.code === "bad-condition") toast(fault.message);
      else failed(fault);
    } finally {
      leading = false;
    }
  }

  function showStopped(ids) {
    for (const row of rows()) row.toggleAttribute("data-stopped", ids.includes(Number(row.dataset.breakpoint)));
  }

  const unit = () => document.getElementById("unit").value;

  // --- searching ---

  function searchSoon() {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(searchNow, SEARCH_AFTER_MS);
  }

  async function searchNow({ anew = false } = {}) {
    const text = field().value.trim();
    history.replaceState(null, "", addressWith(location.href, { find: text }));
    asking?.abort();
    if (!text) {
      list.clear();
      return say("");
    }
    asking = new AbortController();
    const hits = new Hits();
    try {
      await source.hits(text, { signal: asking.signal, onLine: (line) => show(hits, line) });
      await list.show(text, { anew });
    } catch (fault) {
      if (fault.name === "AbortError") return;
      list.clear();
      say(fault.message, true);
    }
  }

  function show(hits, line) {
    hits.take(line);
    say([`${plural(hits.count, "hit", "hits")}${hits.done ? "" : " so far"}`, hits.why].filter(Boolean).join(": "));
    searchedFor = hits;
    mark();
  }

  function say(text, wrong = false) {
    const said = document.getElementById("find-said");
    said.textContent = text;
    said.classList.toggle("wrong", wrong);
    field().setAttribute("aria-invalid", String(wrong));
    if (!wrong && text) return;
    searchedFor = undefined;
    mark();
  }

  function searched(way) {
    const text = field().value.trim();
    if (!text) return field().focus();
    lead(`${way} ${text}`);
  }

  /** As if somebody had typed it. */
  function searchFor(text) {
    field().value = text;
    searchNow();
    field().scrollIntoView({ block: "nearest" });
  }

  // --- breakpoints ---

  // One after the other: others' news may show a breakpoint before it is said here that it was kept.
  let kept = Promise.resolve();

  function keep(search) {
    if (!document.getElementById("keep")) return toast("Only who started this replay, or the owner of its job, may keep breakpoints.");
    kept = kept.then(() => keepNow(search));
    return kept;
  }

  async function keepNow(search) {
    const same = rows().find((row) => row.dataset.search === search);
    if (same) return toast(`There is such a breakpoint: ${search}`);
    try {
      // Asked for its hits first: whatever cannot be read is said before it is sent.
      found.set(search, await gathered(search));
      await source.keep(search);
      await refresh();
      toast(`Breakpoint kept: ${search}`);
    } catch (fault) {
      toast(fault.message);
    }
  }

  async function submitted(row, button) {
    const id = Number(row.dataset.breakpoint);
    try {
      if (button.name === "delete") await source.remove(id);
      else await source.change(id, { enabled: button.value === "1" });
      await refresh();
    } catch (fault) {
      failed(fault);
    }
  }

  /** What somebody sees of a list. */
  const listed = (section) =>
    JSON.stringify([...section.querySelectorAll("[data-breakpoint]")].map((row) => [row.dataset.breakpoint, "on" in row.dataset, row.querySelector("th").textContent]));

  /** The list as it is now; the focus stays. One that says the same stays itself: somebody may be about to click in it. */
  const refresh = once(async () => {
    const [fresh] = (await source.panel(page.step())).filter((node) => node.id === "stops");
    if (listed(fresh) === listed(panel())) return;
    const active = document.activeElement; // it may have come here meanwhile
    const focus = panel().contains(active) ? selectorOf(active, "breakpoint") : undefined;
    panel().replaceWith(fresh);
    if (focus) (panel().querySelector(focus) ?? field()).focus();
    const link = document.getElementById("to-stops");
    if (link) link.textContent = plural(Number(panel().dataset.enabled), "breakpoint", "breakpoints");
    await countHits();
  });

  async function countHits({ anew = false } = {}) {
    if (anew) found.clear();
    for (const row of rows()) {
      const { search } = row.dataset;
      if (!found.has(search)) found.set(search, await hitsOf(search));
      const cell = panel().querySelector(`[data-breakpoint="${row.dataset.breakpoint}"] [data-hits]`);
      const hits = found.get(search);
      if (cell) cell.textContent = hits ? plural(hits.count, "hit", "hits") : "unknown";
    }
    mark();
  }

  async function gathered(search) {
    const hits = new Hits();
    await source.hits(search, { onLine: (line) => hits.take(line) });
    return hits;
  }

  async function hitsOf(search) {
    try {
      return await gathered(search);
    } catch (fault) {
      failed(fault);
      return undefined;
    }
  }

  function mark() {
    const on = rows().filter((row) => "on" in row.dataset).map((row) => found.get(row.dataset.search)).filter(Boolean);
    page.marks({ stops: together(on), found: searchedFor ? together([searchedFor]) : [] });
  }

  // --- listening ---

  document.addEventListener("submit", (event) => {
    const row = event.target.closest("#stops [data-breakpoint]");
    if (!row && !["over", "search"].includes(event.target.id)) return;
    event.preventDefault();
    const way = event.submitter?.value;
    if (row) submitted(row, event.submitter);
    else if (event.target.id === "over") lead(`${way} ${unit()}`);
    else searched(way === "previous" ? "previous" : "next");
  });
  document.addEventListener("input", (event) => event.target.id === "find" && searchSoon());
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "find" || event.key !== "Enter" || event.isComposing) return;
    if (event.ctrlKey || event.metaKey) keepSearched();
    else searched(event.shiftKey ? "previous" : "next");
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#keep")) return keepSearched();
    const example = event.target.closest?.("a[data-find]");
    if (example && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      return searchFor(example.dataset.find);
    }
    const link = event.target.closest?.("a[data-go]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const row = link.closest("[data-search]");
    lead(row ? `${link.dataset.go} ${row.dataset.search}` : link.dataset.go);
  });

  function keepSearched() {
    const text = field().value.trim();
    return text ? keep(text) : field().focus();
  }

  async function here() {
    const row = await page.row();
    if (row) keep(likeStep(row));
  }

  // What was asked for while no server answered.
  document.addEventListener("server-back", () => {
    if (field().value && field().getAttribute("aria-invalid") === "true") searchNow();
  });

  countHits().catch(failed);
  if (field().value) searchNow();

  return {
    lead,
    over: (way) => lead(`${way} ${unit()}`),
    here,
    movedOtherwise: () => !leading && (moved += 1),
    search: () => field().select(),
    refresh: () => refresh().catch(failed),
    hitsAnew: () => Promise.all([countHits({ anew: true }), field().value && searchNow({ anew: true })]),
    shown: list.mark,
    searchedFor: list.search,
  };
}
