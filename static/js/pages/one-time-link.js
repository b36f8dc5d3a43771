// The page behind a one-time link: takes the secret from the address's fragment into the form, and out of the address.

const secret = window.location.hash.slice(1);
const form = document.querySelector("[data-one-time-link]");

if (form?.querySelector("[data-secret-field]") && secret) {
  form.elements.secret.value = secret;
  form.querySelector("[data-secret-field]").hidden = true;
  // The secret must not stay in the history, nor in a picture of the screen.
  window.history.replaceState(null, "", window.location.pathname);
}
