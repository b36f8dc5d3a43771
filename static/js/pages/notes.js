// Notes on steps and on ranges of them: the dialog that writes one, the list, and their marks on the strip.
import { noteSource } from "../net/notes.js";
import { plural } from "../state/format.js";
import { once, rangeOf } from "../state/ranges.js";
import { selectorOf } from "./elements.js";
import { notice, toast } from "./frame.js";

/** `page` is what they are on: {replay, step(), marks(notes)}; returns what keys and the strip are bound to. */
export function notes(page) {
  const source = noteSource(page.replay);
  const dialog = document.getElementById("note-dialog");
  const form = document.getElementById("note-form");
  let list; // what stands in the panel, and in which
  let changed; // the id of the note that the dialog changes; undefined while it writes a new one

  const panel = () => document.getElementById("notes");
  const rows = () => [...panel().querySelectorAll("[data-note]")];
  const failed = (fault) => notice(fault.message);

  /** Opens the dialog for a note on this step, or on a range. */
  function here(range = { first: page.step(), last: page.step() }) {
    if (!dialog) return toast("Only who started this replay, or the owner of its job, may write notes.");
    open({ title: "A note", text: "", ...range });
    return undefined;
  }

  function open({ id, title, text, first, last }) {
    changed = id;
    document.getElementById("note-dialog-title").textContent = title;
    form.elements.text.value = text;
    form.elements.first.value = first;
    form.elements.last.value = last;
    say("");
    dialog.showModal();
    form.elements.text.focus();
  }

  function edit(row) {
    const { note, first, last } = row.dataset;
    open({ id: Number(note), title: "Change the note", text: row.querySelector(".note-text").textContent, first, last });
  }

  function say(text) {
    const said = document.getElementById("note-said");
    said.textContent = text;
    said.classList.toggle("wrong", Boolean(text));
  }

  async function save() {
    const { why, ...range } = rangeOf(form.elements.first.value, form.elements.last.value);
    if (why) return say(why);
    const note = { text: form.elements.text.value, ...range };
    try {
      if (changed === undefined) await source.add(note);
      else await source.change(changed, note);
    } catch (fault) {
      return say(fault.message);
    }
    dialog.close();
    return refresh().catch(failed);
  }

  async function remove(row) {
    try {
      await source.remove(Number(row.dataset.note));
      await refresh();
    } catch (fault) {
      failed(fault);
    }
  }

  /** The list as it is now, whoever changed it; the focus and the place in the list stay. */
  const refresh = once(async () => {
    const [fresh] = (await source.panel(page.step())).filter((node) => node.id === "notes");
    const active = panel().contains(document.activeElement) ? (selectorOf(document.activeElement, "note") ?? ".notes") : undefined;
    const scrolled = panel().querySelector(".notes")?.scrollTop ?? 0;
    panel().replaceWith(fresh);
    const list = panel().querySelector(".notes");
    if (list) list.scrollTop = scrolled;
    if (active) (panel().querySelector(active) ?? document.getElementById("note-here"))?.focus();
    show(page.step());
  });

  /** The notes of the list; read again only when it is another one. */
  function listed() {
    if (list?.of === panel()) return list.all;
    const all = rows().map((row) => {
      const { note, first, last } = row.dataset;
      return { row, id: Number(note), first: Number(first), last: Number(last), text: row.querySelector(".note-text").textContent };
    });
    list = { of: panel(), all };
    page.marks(all.map(({ id, first, last, text }) => ({ id, first, last, text })));
    document.getElementById("to-notes").textContent = plural(all.length, "note", "notes");
    return all;
  }

  /** Which notes are on this step. */
  function show(step) {
    const here = ({ first, last }) => first <= step && step <= last;
    for (const note of listed()) {
      if (here(note)) note.row.setAttribute("aria-current", "true");
      else note.row.removeAttribute("aria-current");
    }
    document.getElementById("noted").textContent = listed().filter(here).map(({ text }) => text).join(" · ");
  }

  document.addEventListener("submit", (event) => {
    const row = event.target.closest("#notes [data-note]");
    if (event.target.id !== "note-form" && !row) return;
    event.preventDefault();
    if (row) remove(row);
    else save();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#note-here")) return here();
    const editing = event.target.closest?.('#notes [name="edit"]');
    if (editing) return edit(editing.closest("[data-note]"));
    if (event.target.closest?.("#note-dialog [data-closes]")) dialog.close();
    return undefined;
  });
  dialog?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  show(page.step());

  return { here, refresh: () => refresh().catch(failed), show };
}
