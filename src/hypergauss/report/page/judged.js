// ------------------------------------------------------------ scores, calibration, mistakes, surprises, what to observe
const goTo = (i) => { choose(i); $("map-section").scrollIntoView({ block: "start" }); };
const by = mistakes && (mistakes.source === "cross-validation" ? "in cross-validation" : "from all other observations");

if (D.scores) {
  $("scores-text").textContent = D.scores.text;
  $("scores").append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "method"), ...D.scores.columns.map((c) => make("th", { scope: "col" }, c.name)))));
  const best = D.scores.columns.map((c, j) => {
    const values = D.scores.rows.map((row) => row.values[j][0]);
    return c.better === null ? null : c.better ? Math.max(...values) : Math.min(...values);
  });
  $("scores").append(make("tbody", {}, ...D.scores.rows.map((row, k) => {
    const cells = row.values.map(([mean, error], j) => make("td", best[j] === mean ? { class: "best" } : {}, mean.toFixed(3), make("small", {}, error === null ? "" : ` ± ${error.toFixed(3)}`)));
    return make("tr", k === 0 ? { class: "ours" } : {}, make("td", {}, row.method), ...cells);
  })));
} else $("scores-section").hidden = true;

const reliability = () => {
  const bins = D.calibration.bins, most = Math.max(...bins.map((b) => b[2]));
  const axes = frame([0, 1], [0, 1], { x: "confidence", y: "share that is right", title: D.calibration.title }), { svg, X, Y } = axes;
  diagonal(axes, 0, 1);
  for (const [confidence, accuracy, count] of bins) {
    svg.append(make("svg:line", { x1: X(confidence), x2: X(confidence), y1: Y(confidence), y2: Y(accuracy), stroke: "var(--mark)", "stroke-width": 1.5, "stroke-dasharray": "2 3" }));
    svg.append(make("svg:circle", { cx: X(confidence), cy: Y(accuracy), r: 4 + 8 * Math.sqrt(count / most), fill: "var(--mark)", "fill-opacity": 0.8 }, make("svg:title", {}, `${count} vertices: confidence ${percent(confidence)}, right ${percent(accuracy)}`)));
  }
  return svg;
};
const intervals = () => {
  const points = D.calibration.points, [a, b] = range(points.flatMap((p) => [p[0], p[2], p[3]])), pad = (b - a) * 0.03 || 1, ends = [a - pad, b + pad];
  const axes = frame(ends, ends, { x: "observed", y: "predicted without it", title: D.calibration.title }), { svg, X, Y } = axes;
  diagonal(axes, ...ends);
  for (const [observed, mean, low, high, i] of points) {
    const colour = low <= observed && observed <= high ? "var(--mark)" : "var(--miss)", name = i >= 0 ? `${V.names[i]}: ` : "";
    const dot = make("svg:g", {}, make("svg:line", { x1: X(observed), x2: X(observed), y1: Y(low), y2: Y(high), stroke: colour, "stroke-opacity": 0.35 }), make("svg:circle", { cx: X(observed), cy: Y(mean), r: 3.2, fill: colour, "fill-opacity": 0.8 }), make("svg:title", {}, `${name}observed ${number(observed)}, predicted ${number(mean)}`));
    if (i >= 0) { dot.setAttribute("class", "pick"); dot.addEventListener("click", () => goTo(i)); }
    svg.append(dot);
  }
  return svg;
};
if (D.calibration) {
  $("calibration-title").textContent = D.calibration.title;
  $("calibration-text").textContent = D.calibration.text;
  $("calibration").append(withFile(isClasses ? reliability() : intervals(), "calibration"));
} else $("calibration-section").hidden = true;

// ------------------------------------------------------------ what is taken for what
if (mistakes && mistakes.confusion) {
  const counts = mistakes.confusion, total = counts.flat().reduce((a, b) => a + b, 0), wrong = total - counts.reduce((a, row, c) => a + row[c], 0);
  $("confusion-text").textContent = `Of ${whole(total)} observed vertices predicted ${by}, ${whole(wrong)} ${wrong === 1 ? "is" : "are"} taken for another class. Rows are what was observed, columns what was predicted; press a number to see them.`;
  const at = new Map(mistakes.judged.map((i, k) => [i, mistakes.guessed[k]]));
  const light = (o, p) => {
    const text = `${D.classes[o]} taken for ${D.classes[p]}`;
    limit("confusion", text, (i) => V.observed[i] === o && at.get(i) === p);
    state.chosen = -1; say("choice");
    $("map-section").scrollIntoView({ block: "start" });
  };
  const row = (o) => counts[o].map((count, p) => {
    const most = counts[o].reduce((a, b) => a + b, 0) || 1;
    const entry = count ? make("button", { type: "button", click: () => light(o, p), "aria-label": `${count} ${D.classes[o]} predicted ${D.classes[p]}` }, whole(count)) : make("span", {}, "·");
    return make("td", { class: o === p ? "right" : "", style: { "--strength": count / most } }, entry);
  });
  $("confusion").append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "observed"), ...D.classes.map((name) => make("th", { scope: "col" }, name)))));
  $("confusion").append(make("tbody", {}, ...D.classes.map((name, o) => make("tr", {}, make("th", { scope: "row" }, name), ...row(o)))));
} else $("confusion-section").hidden = true;

if (mistakes && mistakes.surprising.length) {
  $("surprising-text").textContent = `What was observed against what is expected ${by}: mistaken labels, or exceptions worth a look.`;
  const pairs = mistakes.surprising.filter(([i]) => i >= 0);
  $("surprising").append(...pairs.map(([i, surprise]) => make("li", {}, link(V.names[i], () => goTo(i)), make("span", {}, isClasses ? `${value(V.observed[i])}, given ${percent(1 - surprise)}` : `${value(V.observed[i])}, ${number(surprise)} standard deviations away`))));
} else $("surprising-section").hidden = true;

if (D.next.length) {
  $("next").append(...D.next.map(([i, gain]) => make("li", {}, link(V.names[i], () => goTo(i)), make("span", {}, `${number(gain)} nats`))));
} else $("next-section").hidden = true;
