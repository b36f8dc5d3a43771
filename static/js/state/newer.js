// What a page says of versions of its job that are newer than the one that it shows.
import { plural } from "./format.js";

/** `shown`: {epochs, updated} of the page; `job`: as the API tells it. Undefined where the page shows all there is. */
export function newerWords(shown, job) {
  if (!(Date.parse(job.updated_at) > Date.parse(shown.updated))) return undefined;
  const more = (job.facts.epochs ?? 0) - shown.epochs;
  if (more > 0) return `${plural(more, "newer epoch", "newer epochs")}: show ${more === 1 ? "it" : "them"}`;
  return job.facts.complete ? "The recording is complete: show all of it" : "A newer version: show it";
}
