// ------------------------------------------------------------ what the page knows, and how it is written
const D = JSON.parse(document.getElementById("data").textContent);
const V = D.vertices, N = V.names.length, C = D.classes.length, isClasses = D.task === "classification";
const edges = D.speaking, left = D.leftOut, mistakes = D.mistakes;
const $ = (id) => document.getElementById(id);

// Names come from the data: they only ever become text, never markup.
const make = (tag, attributes = {}, ...children) => {
  const isSvg = tag.startsWith("svg:");
  const node = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") for (const [name, text] of Object.entries(value)) node.style.setProperty(name, text);
    else if (key === "click") node.addEventListener("click", value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};
const link = (text, click) => make("button", { type: "button", class: "link", click }, text);

const FORMATS = [0, 1, 2, 3].map((digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));
const whole = (n) => FORMATS[0].format(n);
const number = (x) => {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(2);
  return FORMATS[size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3].format(x);
};
// Of lists that stand in one table: every number with the decimals that one of middle size needs.
const aligned = (lists) => {
  const sizes = lists.flat().filter((x) => x).map(Math.abs).sort((a, b) => a - b), middle = sizes[sizes.length >> 1];
  if (!sizes.length || middle < 1e-2 || sizes[sizes.length - 1] >= 1e6) return number;
  const digits = middle >= 1000 ? 0 : middle >= 100 ? 1 : middle >= 1 ? 2 : 3, format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (x) => format.format(x);
};
const signed = (x, told = number) => (x > 0 ? "+" : "−") + told(Math.abs(x));
const percent = (x) => (x >= 0.995 && x < 1 ? ">99%" : x > 0 && x < 0.005 ? "<1%" : `${Math.round(100 * x)}%`);
const plural = (n, one, many) => `${whole(n)} ${n === 1 ? one : many}`;
const range = (values) => {
  let low = Infinity, high = -Infinity;
  for (const x of values) if (x !== null) { if (x < low) low = x; if (x > high) high = x; }
  return [low, high];
};

// ------------------------------------------------------------ what is predicted of a vertex
const proba = (i) => D.classes.map((_, c) => V.proba[i * C + c]);
const surest = (i) => 1 - V.uncertainty[i];
const value = (x) => (isClasses ? D.classes[x] : number(x));
const predictedOf = (i) => (isClasses ? V.predicted[i] : V.mean[i]);
const shown = (i) => value(predictedOf(i));
const doubtText = (x) => (isClasses ? percent(x) : number(x));
const sentence = (i) => (isClasses ? `${shown(i)}, ${percent(surest(i))}` : `${shown(i)} (${number(V.low[i])} to ${number(V.high[i])})`);

const missed = new Uint8Array(N), judged = new Uint8Array(N), unlike = new Map(D.unlike.vertices);
if (mistakes) {
  for (const i of mistakes.judged) judged[i] = 1;
  for (const i of mistakes.missed) missed[i] = 1;
}

// ------------------------------------------------------------ what a hyperedge says
const lean = (e) => (isClasses ? D.classes.map((_, c) => edges.leaning[e * C + c]) : [edges.leaning[e]]);
const loudness = edges ? edges.edges.map((_, e) => Math.max(...lean(e).map(Math.abs))) : [];
const loudest = loudness.map((_, e) => e).sort((a, b) => loudness[b] - loudness[a]);
// Of ordered classes there is one function: what raises it speaks for the higher ones.
const isOrdered = isClasses && edges && C > 2 && loudest.every((e) => lean(e).every((x) => x === lean(e)[0]));

// ------------------------------------------------------------ files
const save = (name, type, text) => {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
