// A page about a job that is still being recorded: it stays as it is, and says how much more there is to see.
import { getJson } from "../net/api.js";
import { live } from "../net/live.js";
import { newerWords } from "../state/newer.js";
import { bindKeys } from "./frame.js";

const element = document.getElementById("newer");
const button = element.querySelector("button");
const { socket, poll, epochs, updated } = element.dataset;
const shown = { epochs: Number(epochs), updated };
let asked = 0;

// Versions come every few seconds: the button counts them, and is announced once, and again when the last one is there.
async function look() {
  asked += 1;
  const mine = asked;
  const job = await getJson(poll).catch(() => undefined);
  const words = job && mine === asked && newerWords(shown, job);
  if (!words) return;
  button.textContent = words;
  button.hidden = false;
  const said = element.querySelector("[data-said]");
  const announced = job.facts.complete ? "The recording is complete, and there is more than this page shows." : "There is more than this page shows.";
  if (!said.textContent.startsWith(announced)) said.textContent = `${announced} Press e to see it.`;
}

const show = () => !button.hidden && location.reload();
button.addEventListener("click", show);
bindKeys([{ keys: ["e"], what: "show newer epochs, once there are any", run: show }]);
live({ socket, poll, onState: () => undefined, onNews: look });
