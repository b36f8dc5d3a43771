// The hits of the search as a list under it: asked for when they are counted, the one that is shown marked.

/** `page` is what it is on: {step(), list(search, step), begun()}. */
export function hitList(page) {
  let wanted = place()?.dataset.find ?? "";

  function place() {
    return document.getElementById("hits");
  }

  /** The list of this search; of none, none. One that is there already stays where it was scrolled to. */
  async function show(search, { anew = false } = {}) {
    wanted = search;
    if (!anew && search === place().dataset.find) return;
    if (!search) return clear();
    const [fresh] = (await page.list(search, page.step())).filter((node) => node.id === "hits");
    if (search !== wanted || !fresh) return;
    place().replaceWith(fresh);
    page.begun();
    mark(page.step());
  }

  function clear() {
    wanted = "";
    place().replaceChildren();
    delete place().dataset.find;
  }

  function mark(step) {
    for (const row of place()?.querySelectorAll("tbody tr") ?? []) {
      if (row.querySelector(`a[data-step="${step}"]`)) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  return { show, clear, mark, search: () => wanted };
}
