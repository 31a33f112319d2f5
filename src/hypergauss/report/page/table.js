// ------------------------------------------------------------ the table, of which only the rows in sight exist
const ROW = 36, box = $("table"), table = make("table"), body = make("tbody");
const column = (name, of, text) => ({ name, of, text: (i) => (of(i) === null ? "" : text(of(i), i)) });
const asClass = (c) => (c === null || c === undefined ? null : D.classes[c]);
const same = (x) => x;
// Numbers of the data's scale have as many decimals in every row and column, and uncertainties in every row.
const areWhole = V.observed.every((x) => x === null || Number.isInteger(x));
const amount = isClasses ? null : aligned([V.observed, V.mean, V.low, V.high]);
const doubtful = isClasses ? percent : aligned([V.uncertainty]);
const columns = [
  column("vertex", (i) => V.names[i], same),
  column("observed", (i) => (isClasses ? asClass(V.observed[i]) : V.observed[i]), isClasses ? same : areWhole ? number : amount),
  column("predicted", (i) => (isClasses ? D.classes[V.predicted[i]] : V.mean[i]), isClasses ? same : amount),
  ...(isClasses ? [column("probability", surest, percent)] : [column("low", (i) => V.low[i], amount), column("high", (i) => V.high[i], amount)]),
  column("uncertainty", (i) => V.uncertainty[i], doubtful),
  ...(!left ? [] : isClasses
    ? [column("without it", (i) => asClass(left.predicted[i]), same), column("chance given", (i) => left.chance[i], percent)]
    : [column("without it", (i) => left.mean[i], amount)]),
];
const titles = {
  "without it": left && `Predicted without its own observation, by ${left.source}`,
  "chance given": "The probability that was given to the observed class without its own observation",
};
let order = [], sorted = { column: -1, up: true };
const heads = columns.map(({ name }, j) => {
  const button = make("button", { type: "button", ...(titles[name] ? { title: titles[name] } : {}) }, name);
  button.addEventListener("click", () => { sorted = { column: j, up: sorted.column === j ? !sorted.up : j === 0 }; arrange(); });
  return make("th", { scope: "col", "aria-sort": "none" }, button);
});
table.append(make("thead", {}, make("tr", {}, ...heads)), body);
box.append(table);

const collator = new Intl.Collator("en", { numeric: true });
const arrange = () => {
  order = [];
  for (let i = 0; i < N; i++) if (inside[i]) order.push(i);
  if (sorted.column >= 0) {
    const of = columns[sorted.column].of, values = Array.from({ length: N }, (_, i) => of(i)), sign = sorted.up ? 1 : -1;
    order.sort((a, b) => {
      const x = values[a], y = values[b];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "string" ? collator.compare(x, y) : x - y);
    });
  }
  heads.forEach((one, j) => one.setAttribute("aria-sort", j === sorted.column ? (sorted.up ? "ascending" : "descending") : "none"));
  table.setAttribute("aria-rowcount", order.length + 1);
  $("count").textContent = order.length === N ? plural(N, "vertex", "vertices") : `${whole(order.length)} of ${plural(N, "vertex", "vertices")}`;
  box.scrollTop = 0;
  fill();
};
const space = (rows) => make("tr", { class: "space", "aria-hidden": "true" }, make("td", { colspan: columns.length, style: { height: `${rows * ROW}px` } }));
const rowOf = (i, at) => {
  const marks = [i === state.chosen ? "chosen" : "", i === state.hover ? "hover" : "", missed[i] ? "missed" : ""].join(" ").trim();
  const row = make("tr", { "data-vertex": i, "aria-rowindex": at + 2, ...(marks ? { class: marks } : {}) }, ...columns.map((one) => make("td", {}, one.text(i))));
  row.addEventListener("click", () => choose(i));
  row.addEventListener("pointerenter", () => hover(i));
  return row;
};
const empty = () => {
  const name = limits.get("name")?.text;
  return make("tr", {}, make("td", { colspan: columns.length, class: "none" }, name && limits.size === 1 ? `No vertex is ${name}. ` : "No vertex is left by what is asked for. ", link("Show all", () => { $("filter").value = ""; clearLimits(); })));
};
const fill = () => {
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 8), last = Math.min(order.length, first + Math.ceil(box.clientHeight / ROW) + 16);
  const rows = order.slice(first, last).map((i, k) => rowOf(i, first + k));
  body.replaceChildren(...(first ? [space(first)] : []), ...rows, ...(last < order.length ? [space(order.length - last)] : []), ...(order.length ? [] : [empty()]));
};
const scrollTo = (at) => {
  const top = at * ROW, view = box.clientHeight - 2 * ROW;
  if (top < box.scrollTop) box.scrollTop = top; else if (top > box.scrollTop + view) box.scrollTop = top - view;
};
box.addEventListener("scroll", () => requestAnimationFrame(fill));
box.addEventListener("pointerleave", () => hover(-1));
box.addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
  if (!move || !order.length) return;
  event.preventDefault();
  choose(order[Math.min(Math.max(order.indexOf(state.chosen) + move, 0), order.length - 1)]);
});
on("limits", arrange);
on("choice", () => { const at = order.indexOf(state.chosen); if (at >= 0) scrollTo(at); fill(); });
on("hover", () => {
  body.querySelector(".hover")?.classList.remove("hover");
  body.querySelector(`[data-vertex="${state.hover}"]`)?.classList.add("hover");
});

// ------------------------------------------------------------ a file of what is shown; no spreadsheet runs a cell of it
const cell = (x) => {
  if (typeof x === "number") return String(x);
  const text = x === null || x === undefined ? "" : /^[=+\-@\t\r]/.test(x) ? `'${x}` : x;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = () => [columns.map(({ name }) => name.replaceAll(" ", "_")), ...order.map((i) => columns.map(({ of }) => of(i)))].map((row) => row.map(cell).join(",")).join("\n") + "\n";
$("csv").addEventListener("click", () => save("selection.csv", "text/csv", csv()));
