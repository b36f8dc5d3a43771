// A slider over sizes of several powers of ten: even steps of it are even factors, and its left end is the least, or nothing.

const STEPS = 1000;

export function valueAt(position, { least, most, linear = false }) {
  const share = Math.min(Math.max(position / STEPS, 0), 1);
  if (linear) return threeDigits(least + share * (most - least));
  return threeDigits(least * (most / least) ** share);
}

export function positionOf(value, { least, most, linear = false }) {
  if (!(value > least)) return 0;
  const share = linear ? (value - least) / (most - least) : Math.log(value / least) / Math.log(most / least);
  return Math.round(Math.min(share, 1) * STEPS);
}

function threeDigits(value) {
  return Number(value.toPrecision(3));
}
