// A file of steps is sent from its form, where there is one; what the server has against it is told beside it.
import { sendForm } from "../net/api.js";

const form = document.getElementById("steps-form");
const refused = document.getElementById("steps-refused");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  refused.hidden = true;
  try {
    const replay = await sendForm(form);
    location.assign(replay.url);
  } catch (fault) {
    refused.textContent = fault.message;
    refused.hidden = false;
  } finally {
    button.disabled = false;
  }
});
