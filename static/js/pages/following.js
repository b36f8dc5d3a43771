// A job that is still being recorded: says when there is a newer version than the page shows.
import { getJson } from "../net/api.js";
import { live } from "../net/live.js";
import { plural } from "../state/format.js";

/** Watches the job of this element, if there is one; what is new is shown when the reader asks for it. */
export function watchFollowing(element) {
  if (!element) return;
  const { socket, poll, epochs, following } = element.dataset;
  const news = element.querySelector("[data-following-news]");

  async function look(what) {
    if (what !== undefined && what !== "version" && what !== "following") return;
    const job = await getJson(poll).catch(() => undefined);
    if (!job) return;
    const more = (job.facts.epochs ?? 0) - Number(epochs);
    if (what === "version") tell(more > 0 ? `${plural(more, "new epoch", "new epochs")}.` : "More was recorded.");
    else if (more > 0) tell(`${plural(more, "new epoch", "new epochs")}.`);
    else if (job.following !== (following === "1")) tell(job.following ? "It is followed again." : "It is not followed any more.");
  }

  function tell(words) {
    const show = Object.assign(document.createElement("a"), { href: location.href, textContent: "Show" });
    show.addEventListener("click", (event) => {
      event.preventDefault();
      location.reload();
    });
    news.replaceChildren(`${words} `, show);
  }

  live({ socket, poll, onState: () => undefined, onNews: look });
}
