// How quantities are written; dashboard/measures.py writes the same, tests/js/format-cases.json holds the two together.

const NOTHING = "–";
const BYTE_UNITS = ["KiB", "MiB", "GiB", "TiB"];

export function count(value) {
  return value == null ? NOTHING : Math.round(value).toLocaleString("en-US");
}

export function byteSize(value) {
  if (value == null) return NOTHING;
  if (Math.abs(value) < 1024) return `${count(value)} B`;
  let size = value;
  let unit = "";
  for (unit of BYTE_UNITS) {
    size /= 1024;
    if (Math.abs(size) < 1023.5) break;
  }
  return `${threeDigits(size)} ${unit}`;
}

export function duration(valueUs) {
  if (valueUs == null) return NOTHING;
  const sizeUs = Math.abs(valueUs);
  if (sizeUs < 1000) return `${Math.round(valueUs)} µs`;
  if (sizeUs < 999_500) return `${threeDigits(valueUs / 1000)} ms`;
  if (sizeUs < 59_950_000) return `${threeDigits(valueUs / 1e6)} s`;
  const seconds = Math.round(sizeUs / 1e6);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const sign = valueUs < 0 ? "-" : "";
  return hours ? `${sign}${hours} h ${minutes} min` : `${sign}${minutes} min ${seconds % 60} s`;
}

export function moment(tUs) {
  return tUs == null ? NOTHING : `${fixed(tUs / 1e6, 3)} s`;
}

export function share(part, whole) {
  if (!whole) return NOTHING;
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 1) return "under 1 %";
  return percent > 99 && percent < 100 ? "over 99 %" : `${Math.round(percent)} %`;
}

export function plural(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function threeDigits(value) {
  const size = Math.abs(value);
  const text = fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function fixed(value, digits) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
