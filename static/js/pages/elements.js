// Elements that pages share: data in JSON elements, finding one again, and following the size of a picture's place.

export function dataOf(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : undefined;
}

/** Finds an element in a list that was made anew: by its id, or by its row's number and its own name. */
export function selectorOf(element, kind) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const row = element.closest(`[data-${kind}]`);
  return row && element.name ? `[data-${kind}="${row.dataset[kind]}"] [name="${element.name}"]` : undefined;
}

/** Paints once now and again whenever one of the places changes its width; once a frame at most. Returns how to stop. */
export function onResize(places, paint) {
  const widths = new Map();
  let asked = false;
  const observer = new ResizeObserver((entries) => {
    const changed = entries.filter(({ target, contentRect }) => widths.get(target) !== contentRect.width);
    changed.forEach(({ target, contentRect }) => widths.set(target, contentRect.width));
    if (!changed.length || asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      paint();
    });
  });
  places.filter(Boolean).forEach((place) => observer.observe(place));
  return () => observer.disconnect();
}
