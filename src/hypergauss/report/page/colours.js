// ------------------------------------------------------------ colours: hues for classes, ramps for numbers
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#6b4c9a"];
const RAMP = ["#2b1c62", "#33508f", "#22808d", "#2fae7c", "#8fd04a", "#f3e03b"];
const HEAT = ["#22577a", "#5a7fa0", "#a9a9b5", "#e0a66a", "#e0662f"];
const LEVELS = 48; // steps of a ramp: more cannot be told apart

const mix = (ramp, t) => {
  const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1), low = Math.min(Math.floor(at), ramp.length - 2), share = at - low;
  const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
  const a = hex(ramp[low]), b = hex(ramp[low + 1]);
  return `rgb(${a.map((v, i) => Math.round(v + share * (b[i] - v))).join(",")})`;
};
const steps = (ramp) => Array.from({ length: LEVELS }, (_, k) => mix(ramp, k / (LEVELS - 1)));
const RAMP_STEPS = steps(RAMP), HEAT_STEPS = steps(HEAT);
const classColour = (c) => PALETTE[c] ?? `hsl(${(c * 137.5) % 360} 55% ${c % 2 ? 40 : 58}%)`;
const level = (t) => Math.round(Math.min(Math.max(t, 0), 1) * (LEVELS - 1));

// Uncertainty by quantile, so that one outlier does not take the scale; means between their outermost hundredths.
const sortedCopy = (values) => Float64Array.from(values).sort();
const doubts = sortedCopy(D.light ? D.light.cells.uncertainty : V.uncertainty);
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.round(q * (sorted.length - 1)))];
const rankIn = (sorted, x) => {
  const bound = (isBelow) => {
    let low = 0, high = sorted.length;
    while (low < high) { const middle = (low + high) >> 1; if (isBelow(sorted[middle])) low = middle + 1; else high = middle; }
    return low;
  };
  return (bound((v) => v < x) + bound((v) => v <= x)) / 2 / Math.max(sorted.length, 1);
};
const means = isClasses ? null : sortedCopy(V.mean);
const meanEnds = isClasses ? null : [quantile(means, 0.01), quantile(means, 0.99)];
const share = (x, [a, b]) => (b > a ? (x - a) / (b - a) : 0.5);
const doubtLevel = Uint8Array.from(V.uncertainty, (x) => level(rankIn(doubts, x)));

const colourOfNumbers = (predicted, doubt) => {
  if (state.colour === "uncertainty") return HEAT_STEPS[doubt];
  return isClasses ? classColour(predicted) : RAMP_STEPS[level(share(predicted, meanEnds))];
};
const colourOf = (i) => colourOfNumbers(predictedOf(i), doubtLevel[i]);
