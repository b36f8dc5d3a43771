// Contrast of the design system, computed from tokens.css: text AA (4.5:1), marks and focus rings 3:1, in both schemes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../../static/css/tokens.css", import.meta.url), "utf8");
const [lightCss, darkCss] = css.split("@media (prefers-color-scheme: dark)");

function colours(source) {
  return Object.fromEntries([...source.matchAll(/--([a-z0-9-]+):\s*(#[0-9a-f]{6});/g)].map((found) => [found[1], found[2]]));
}

const light = colours(lightCss);
const schemes = { light, dark: { ...light, ...colours(darkCss) } };

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

function linear(value) {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function luminance(hex) {
  const [red, green, blue] = channels(hex).map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const surfaces = ["ground", "panel", "panel-sunk", "panel-raised"];
const text = [
  ...["ink", "ink-soft", "ink-faint", "accent-text"].flatMap((ink) => surfaces.map((surface) => [ink, surface])),
  ...["ink", "ink-soft", "ink-faint", "accent-text"].map((ink) => [ink, "accent-soft"]),
  ...["good", "bad", "warn"].flatMap((tone) => [[tone, `${tone}-soft`], [tone, "panel"], [tone, "ground"], ["ink", `${tone}-soft`]]),
  ["accent-ink", "accent"],
  ["accent-ink", "accent-strong"],
  ...Object.keys(light).filter((name) => /^kind-(?!ink)/.test(name)).map((name) => ["kind-ink", name]),
];
const marks = [
  ...Object.keys(light).filter((name) => /^(kind-(?!ink)|step-)/.test(name)).flatMap((name) => [[name, "panel"], [name, "accent-soft"]]),
  ...surfaces.flatMap((surface) => [["focus", surface]]),
  ["line-strong", "panel"],
  ["scale-4", "panel"],
];

for (const [scheme, values] of Object.entries(schemes)) {
  test(`${scheme}: both schemes name the same colours`, () => {
    for (const name of Object.keys(light)) assert.ok(values[name], name);
  });
  for (const [pairs, least, what] of [[text, 4.5, "text"], [marks, 3, "marks"]]) {
    test(`${scheme}: ${what} reach ${least}:1`, () => {
      const short = pairs
        .map(([ink, surface]) => [ink, surface, contrast(values[ink], values[surface])])
        .filter(([, , ratio]) => !(ratio >= least));
      assert.deepEqual(short, []);
    });
  }
}

// Vienot's simulation of the two common kinds of colour blindness, in linear light.
const blindness = {
  protan: [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
  deutan: [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
};

function oklab(hex, matrix) {
  const seen = channels(hex).map(linear);
  const [red, green, blue] = matrix.map((row) => Math.max(0, row.reduce((sum, part, at) => sum + part * seen[at], 0)));
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

// The kinds that stand side by side in the strip and in bars; letters and heights tell the rest.
const sideBySide = [["step-input", "step-determinant"], ["step-determinant", "step-output"], ["step-determinant", "step-state"], ["step-input", "step-output"],
  ["kind-order", "kind-timestamp"], ["kind-order", "kind-buffer-built"], ["kind-order", "kind-timer-trigger"], ["kind-timestamp", "kind-source-checkpoint"]];

for (const [scheme, values] of Object.entries(schemes)) {
  for (const [name, matrix] of Object.entries(blindness)) {
    test(`${scheme}: neighbouring kinds stay apart for ${name} eyes`, () => {
      const close = sideBySide
        .map(([one, other]) => [one, other, Math.hypot(...oklab(values[one], matrix).map((part, at) => part - oklab(values[other], matrix)[at]))])
        .filter(([, , distance]) => distance < 0.06);
      assert.deepEqual(close, []);
    });
  }
}
