// ------------------------------------------------------------ hyperparameters in words, and the learned filter
// Numbers that people can read: powers of ten are written out, or said to be very large or small.
const plain = (text) => text.replace(/\d+(\.\d+)?e[+-]\d+/g, (digits) => {
  const x = Number(digits);
  return x >= 1e9 ? `very large (${digits})` : x < 1e-6 ? `next to 0 (${digits})` : x.toLocaleString("en", { maximumSignificantDigits: 3 });
});
// What a number means comes first, up to its first stop; its name and value stand beside.
for (const { name, value: estimate, interval, meaning } of D.learned) {
  const end = meaning.search(/[.:;](\s|$)/), what = end < 0 ? meaning || name : meaning.slice(0, end), more = end < 0 ? "" : meaning.slice(end + 1).trim();
  const amount = make("span", { class: "amount" }, plain(estimate), ...(interval ? [make("small", {}, plain(interval))] : []));
  const label = make("small", {}, meaning ? name : "");
  $("learned").append(make("div", {}, make("dt", {}, make("span", {}, what, label), amount), ...(more ? [make("dd", {}, plain(more[0].toUpperCase() + more.slice(1)))] : [])));
}

const LEAST = -5; // powers of ten that are drawn
const curve = ({ label, upper, x, y, band, eigenvalues, at }) => {
  const top = Math.max(0.1, ...y, ...(band ? band[1] : [])), low = Math.max(LEAST, Math.min(-1, ...y, ...(band ? band[0] : [])));
  const labels = { x: "eigenvalue: from slow patterns to those of single vertices", y: "prior variance, relative", title: `The learned filter ${label}` };
  const { svg, X, Y } = frame([0, upper], [low, top], labels, (v) => (Number.isInteger(v) ? (v < -2 ? `1e${v}` : number(10 ** v)) : ""));
  const point = (v, power) => `${X(v).toFixed(1)} ${Y(Math.max(power, low)).toFixed(1)}`;
  const path = (xs, powers) => xs.map((v, k) => `${k ? "L" : "M"}${point(v, powers[k])}`).join("");
  if (band) svg.append(make("svg:path", { d: `${path([...x, ...[...x].reverse()], [...band[0], ...[...band[1]].reverse()])}Z`, fill: "var(--mark)", "fill-opacity": 0.18 }));
  svg.append(make("svg:path", { d: path(x, y), fill: "none", stroke: "var(--mark)", "stroke-width": 2 }));
  eigenvalues.forEach((v, k) => svg.append(make("svg:circle", { cx: X(v), cy: Y(Math.max(at[k], low)), r: 3, fill: "var(--miss)" })));
  return make("div", {}, ...(label ? [make("h4", {}, label)] : []), withFile(svg, `filter${label ? " " + label : ""}`));
};
if (D.filters.length) {
  const isBanded = D.filters.some(({ band }) => band), isMarked = D.filters.some(({ eigenvalues }) => eigenvalues.length);
  $("filter-text").textContent = `How much the model expects of each pattern on the hypergraph before any observation.${isBanded ? " The band holds 90% of the filters that it averages over." : ""}${isMarked ? " Dots are the hypergraph's eigenvalues: only there it acts." : ""}`;
  $("filter-curves").append(...D.filters.map(curve));
} else $("filter-section").hidden = true;
