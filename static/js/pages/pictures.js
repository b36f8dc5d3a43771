// Keeping a picture: as SVG or PNG, with what it shows and the link to it below.
import { standalone, textOf, withFonts } from "../charts/standalone.js";
import { notice } from "./frame.js";

const PNG_SCALE = 2;
let faces;

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-keep]");
  if (!button) {
    for (const menu of document.querySelectorAll("details.keep[open]")) if (!menu.contains(event.target)) menu.open = false;
    return;
  }
  const menu = button.closest("details.keep");
  menu.open = false;
  menu.querySelector("summary").focus();
  keep(menu, button.dataset.keep).catch((fault) => notice(`The picture could not be kept: ${fault.message}`));
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest?.("details.keep[open]");
  if (!menu) return;
  event.preventDefault();
  menu.open = false;
  menu.querySelector("summary").focus();
});

async function keep(menu, kind) {
  const place = document.getElementById(menu.dataset.of);
  if (!place?.querySelector("svg, canvas")) throw new Error("there is nothing drawn here yet.");
  const { file, width, height } = standalone(place, [menu.dataset.name, location.href], document.getElementById(menu.dataset.legend));
  const text = textOf(withFonts(file, await (faces ??= embedded())));
  const blob = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await painted(text, width, height);
  download(blob, `${menu.dataset.file}.${kind}`);
}

async function painted(text, width, height) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = new OffscreenCanvas(width * PNG_SCALE, height * PNG_SCALE);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/png" });
}

// The page's own font files, those with Latin letters: a picture that stands alone can't ask for them.
async function embedded() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => [rule, sheet.href]));
  const fonts = rules.filter(([rule]) => rule instanceof CSSFontFaceRule && /U\+0?0?0?0-0?0?ff/i.test(rule.style.getPropertyValue("unicode-range")));
  return Promise.all(fonts.map(([rule, href]) => faceOf(rule.style, href)));
}

async function faceOf(style, href) {
  const source = new URL(/url\("?([^")]+)/.exec(style.getPropertyValue("src"))[1], href);
  const bytes = new Uint8Array(await (await fetch(source)).arrayBuffer());
  const text = btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""));
  return `@font-face { font-family: ${style.getPropertyValue("font-family")}; font-weight: ${style.getPropertyValue("font-weight")}; src: url(data:font/woff2;base64,${text}) format("woff2"); }`;
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
