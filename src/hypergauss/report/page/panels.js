// ------------------------------------------------------------ the panel: a vertex, a hyperedge, or all that is shown
const bar = (from, width, colour) => make("div", { class: "track" }, make("b", { style: { left: `${100 * from}%`, width: `${100 * width}%`, background: colour } }));
const line = (name, track, text, click) => make("li", {}, make("span", { class: "name", title: name }, click ? link(name, click) : name), track, make("span", { class: "value" }, text));
const list = (...lines) => make("ul", { class: "bars" }, ...lines);
const head = (text, kind) => make("div", { class: "head" }, make("h3", {}, text), make("span", { class: "kind" }, kind));
const part = (title, ...children) => [make("h4", {}, title), ...children];
const ordinal = (n) => `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;
// For and against are told by side and by two inks, never by a class's hue.
const balance = (x, most) => bar(x > 0 ? 0.5 : 0.5 - Math.abs(x) / most / 2, Math.abs(x) / most / 2, x > 0 ? "var(--for)" : "var(--against)");

const tally = (vertices, of) => {
  const counts = new Float64Array(C);
  for (const i of vertices) counts[of(i)]++;
  return counts;
};
const makeup = (vertices) => {
  const counts = tally(vertices, (i) => V.predicted[i]), order = [...counts.keys()].filter((c) => counts[c]).sort((a, b) => counts[b] - counts[a]);
  const shown = order.slice(0, 6), rest = order.length - shown.length;
  const rows = list(...shown.map((c) => line(D.classes[c], bar(0, counts[c] / vertices.length, classColour(c)), whole(counts[c]))));
  return [rows, ...(rest ? [make("p", { class: "sub" }, `and ${plural(rest, "more class", "more classes")}`)] : [])];
};
const spread = (vertices) => {
  const bins = 24, counts = new Float64Array(bins);
  for (const i of vertices) counts[Math.min(bins - 1, Math.floor(Math.min(Math.max(share(V.mean[i], meanEnds), 0), 1) * bins))]++;
  const most = Math.max(...counts), svg = make("svg:svg", { viewBox: "0 0 240 64", role: "img", "aria-label": "How predictions are spread", class: "small" });
  counts.forEach((count, k) => svg.append(make("svg:rect", { x: k * 10 + 0.5, width: 9, y: 46 - 42 * (count / most), height: 42 * (count / most), fill: RAMP_STEPS[level((k + 0.5) / bins)] })));
  svg.append(make("svg:line", { x1: 0, x2: 240, y1: 46.5, y2: 46.5, stroke: "var(--line)" }));
  svg.append(make("svg:text", { x: 0, y: 60, fill: "var(--soft)", "font-size": 11 }, number(meanEnds[0])), make("svg:text", { x: 240, y: 60, "text-anchor": "end", fill: "var(--soft)", "font-size": 11 }, number(meanEnds[1])));
  return withFile(svg, "predicted values");
};
const composition = (vertices) => part(isClasses ? "Predicted classes" : "Predicted values", ...(isClasses ? makeup(vertices) : [spread(vertices)]));

// ------------------------------------------------------------ one vertex
const withoutIt = (i) => {
  if (!left || V.observed[i] === null || (left.predicted ?? left.mean)[i] === null) return null;
  const how = left.source === "leave-one-out" ? "from all other observations" : "in cross-validation";
  return isClasses
    ? `Predicted ${how}: ${D.classes[left.predicted[i]]}; its own class had ${percent(left.chance[i])}.`
    : `Predicted ${how}: ${number(left.mean[i])} (${number(left.low[i])} to ${number(left.high[i])}).`;
};
const warning = (i) => {
  if (!unlike.has(i)) return null;
  const shared = unlike.get(i), count = edges ? edges.count[i] : null;
  const fact = count === 0 ? "it is in no hyperedge" : shared === 0 ? "it shares no hyperedge with any observed vertex" : `it shares ${whole(shared)}${count === null ? "" : ` of its ${whole(count)}`} hyperedges with the observed vertex most like it`;
  return `Unlike those observed: ${fact}. 99 in 100 observed vertices have a closer one. Trust this prediction less.`;
};
const vertexPanel = (i) => {
  const box = $("detail"), seen = V.observed[i], caution = warning(i), aside = withoutIt(i);
  box.replaceChildren(head(V.names[i], "vertex"), make("p", { class: "big" }, shown(i)));
  box.append(make("p", { class: "sub" }, isClasses ? `probability ${percent(surest(i))}` : `90% of such measurements between ${number(V.low[i])} and ${number(V.high[i])}`, seen === null ? ". Not observed." : `. Observed: ${value(seen)}.`));
  if (aside) box.append(make("p", { class: missed[i] ? "sub miss" : "sub" }, aside));
  if (caution) box.append(make("p", { class: "callout", role: "note" }, caution));
  if (isClasses) {
    const order = proba(i).map((p, c) => [p, c]).sort((a, b) => b[0] - a[0]).slice(0, 6);
    box.append(...part("Probabilities", list(...order.map(([p, c]) => line(D.classes[c], bar(0, p, classColour(c)), percent(p))))));
  }
  if (edges) {
    const top = edges.top[i], most = Math.max(...top.map(([, x]) => Math.abs(x)), 1e-300), told = aligned([top.map(([, x]) => x)]);
    box.append(...part(isOrdered || !isClasses ? "Hyperedges that raise and lower it" : `Hyperedges for and against ${shown(i)}`));
    box.append(top.length ? list(...top.map(([e, x]) => line(edges.edges[e], balance(x, most), signed(x, told), () => chooseEdge(e)))) : make("p", {}, "It is in no hyperedge."));
    const more = edges.count[i] - top.length;
    if (more > 0) box.append(make("p", { class: "sub" }, `and ${whole(more)} more with less to say`));
  }
};

// ------------------------------------------------------------ one hyperedge
const saying = (e) => {
  const leaning = lean(e), loud = Math.max(...loudness), at = loudest.indexOf(e) + 1;
  const rank = `${at === 1 ? "It says the most" : `It says the ${ordinal(at)} most`} of ${whole(loudness.length)}.`;
  if (!isClasses || isOrdered) return [make("p", { class: "sub" }, `It ${leaning[0] > 0 ? "raises" : "lowers"} its members${isOrdered ? " towards " + (leaning[0] > 0 ? "higher" : "lower") + " classes" : ""} by ${number(Math.abs(leaning[0]))} on average. ${rank}`), list(line("all members", balance(leaning[0], loud), signed(leaning[0])))];
  const order = leaning.map((x, c) => [x, c]).sort((a, b) => b[0] - a[0]);
  return [make("p", { class: "sub" }, `It speaks for ${D.classes[order[0][1]]}, by ${number(order[0][0])} at each member on average. ${rank}`), list(...order.slice(0, 6).map(([x, c]) => line(D.classes[c], balance(x, loud), signed(x))))];
};
const edgePanel = (e) => {
  const box = $("detail"), members = edges.members[e] ?? [], seen = members.filter((i) => V.observed[i] !== null);
  box.replaceChildren(head(edges.edges[e], "hyperedge"), make("p", { class: "sub" }, `${plural(edges.sizes[e], "member", "members")}${members.length < edges.sizes[e] ? `, ${whole(members.length)} of them on this page` : ""}, ${whole(seen.length)} observed.`));
  box.append(...part("What it says", ...saying(e)));
  if (!members.length) return;
  box.append(...composition(members));
  if (isClasses && seen.length) {
    const counts = tally(seen, (i) => V.observed[i]);
    box.append(make("p", { class: "sub" }, `Observed: ${[...counts.keys()].filter((c) => counts[c]).map((c) => `${whole(counts[c])} ${D.classes[c]}`).join(", ")}.`));
  }
  const some = [...members].sort((a, b) => V.uncertainty[b] - V.uncertainty[a]).slice(0, 12);
  box.append(...part(members.length > 12 ? "Its least certain members" : "Its members", make("p", { class: "names" }, ...some.map((i) => link(V.names[i], () => choose(i))))));
  if (members.length > 12) box.append(make("p", { class: "sub" }, `All ${whole(members.length)} are lit on the map and listed in the table.`));
};

// ------------------------------------------------------------ all that is shown
const inCommon = (vertices) => {
  const own = new Set(vertices), found = [];
  edges.members.forEach((members, e) => {
    if (!members || !members.length) return;
    let both = 0;
    for (const i of members) if (own.has(i)) both++;
    const here = both / vertices.length, all = members.length / N;
    if (both > 1 && here - all > 0.05) found.push([here - all, e, here, all]);
  });
  return found.sort((a, b) => b[0] - a[0]).slice(0, 6);
};
const overviewPanel = () => {
  const box = $("detail"), vertices = [];
  for (let i = 0; i < N; i++) if (inside[i]) vertices.push(i);
  const isAll = vertices.length === N, observed = vertices.filter((i) => V.observed[i] !== null).length;
  box.replaceChildren(head(isAll ? (D.light ? "The sample" : "All vertices") : "What is shown", plural(vertices.length, "vertex", "vertices")));
  if (!vertices.length) { box.append(make("p", {}, "No vertex is left by what is asked for. ", link("Show all", clearLimits))); return; }
  box.append(make("p", { class: "sub" }, `${whole(observed)} observed. Choose a vertex on the map, in the table or by its name, or circle some with the lasso.`));
  box.append(...composition(vertices));
  if (edges && isAll) {
    const most = loudness[loudest[0]];
    box.append(...part("Hyperedges that say most", list(...loudest.slice(0, 6).map((e) => line(edges.edges[e], bar(0, loudness[e] / most, "var(--for)"), number(loudness[e]), () => chooseEdge(e))))));
  } else if (edges && vertices.length > 1) {
    const common = inCommon(vertices);
    if (common.length) box.append(...part("What they have in common", list(...common.map(([, e, here, all]) => line(edges.edges[e], bar(0, here, "var(--for)"), `${percent(here)}`, () => chooseEdge(e)))), make("p", { class: "sub" }, "Hyperedges more frequent here than among all.")));
  }
  const unsure = [...vertices].sort((a, b) => V.uncertainty[b] - V.uncertainty[a]).slice(0, 5);
  box.append(...part("Least certain", make("p", { class: "names" }, ...unsure.map((i) => link(V.names[i], () => choose(i))))));
};

const describe = () => {
  if (state.chosen >= 0) vertexPanel(state.chosen); else if (state.edge >= 0) edgePanel(state.edge); else { overviewPanel(); return; }
  const back = state.chosen >= 0 && state.edge >= 0 ? [`Back to ${edges.edges[state.edge]}`, () => choose(-1)] : ["Back to all", () => { state.chosen = -1; if (state.edge >= 0) limit("edge"); state.edge = -1; say("choice"); }];
  $("detail").append(make("p", { class: "back" }, link(...back)));
};
on("choice", describe);
on("limits", () => { if (state.chosen < 0) describe(); });
