// The one cursor: what a page shows is in its address, so that a copied link opens the same view.

/** The whole number that a parameter holds, or undefined. */
export function numberIn(address, name) {
  const text = new URL(address).searchParams.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The address with some parameters set anew; undefined takes one away. The order of the others stays. */
export function addressWith(address, changes) {
  const url = new URL(address);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.pathname + url.search.replaceAll("%3A", ":").replaceAll("%2C", ",") + url.hash;
}

export function clampStep(step, last) {
  return Math.min(Math.max(0, Math.trunc(step)), Math.max(0, last));
}
