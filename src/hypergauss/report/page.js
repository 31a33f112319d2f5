"use strict";
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const V = D.vertices, N = V.names.length, isClasses = D.task === "classification";
  const $ = (id) => document.getElementById(id);
  const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#7f7f7f"];
  const RAMP = ["#2b1c62", "#33508f", "#22808d", "#2fae7c", "#8fd04a", "#f3e03b"];
  const HEAT = ["#22577a", "#5a7fa0", "#a9a9b5", "#e0a66a", "#e0662f"];

  // Names come from the data: they only ever become text, never markup.
  const make = (tag, attributes = {}, ...children) => {
    const node = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "style") Object.assign(node.style, value); else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };
  const number = (x) => {
    if (x === null || x === undefined) return "–";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(2);
    return x.toLocaleString("en", { maximumFractionDigits: size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3 });
  };
  const percent = (x) => (x >= 0.995 && x < 1 ? ">99%" : x > 0 && x < 0.005 ? "<1%" : `${Math.round(100 * x)}%`);
  const mix = (ramp, t) => {
    const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1), low = Math.min(Math.floor(at), ramp.length - 2), share = at - low;
    const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
    const a = hex(ramp[low]), b = hex(ramp[low + 1]);
    return `rgb(${a.map((v, i) => Math.round(v + share * (b[i] - v))).join(",")})`;
  };
  const range = (values) => values.reduce(([a, b], x) => (x === null ? [a, b] : [Math.min(a, x), Math.max(b, x)]), [Infinity, -Infinity]);

  // ------------------------------------------------------------ what is predicted of a vertex
  const proba = (i) => D.classes.map((_, c) => V.proba[i * D.classes.length + c]);
  const shown = (i) => (isClasses ? D.classes[V.predicted[i]] : number(V.mean[i]));
  const meanRange = isClasses ? null : range(V.mean), doubt = range(V.uncertainty);
  const share = (x, [a, b]) => (b > a ? (x - a) / (b - a) : 0.5);
  const colourOf = (i, mode) => {
    if (mode === "uncertainty") return mix(HEAT, share(V.uncertainty[i], doubt));
    return isClasses ? PALETTE[V.predicted[i] % PALETTE.length] : mix(RAMP, share(V.mean[i], meanRange));
  };
  const sentence = (i) => (isClasses ? `${shown(i)}, ${percent(Math.max(...proba(i)))}` : `${shown(i)} (${number(V.low[i])} to ${number(V.high[i])})`);

  // ------------------------------------------------------------ words and tables
  $("lead").textContent = D.lead;
  for (const [label, value] of D.summary) $("summary").append(make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  for (const note of D.notes) $("notes").append(make("li", {}, note));
  for (const { name, value, meaning } of D.learned) {
    $("learned").append(make("div", {}, make("dt", {}, name, make("span", {}, value)), make("dd", {}, meaning)));
  }
  $("footer").textContent = D.footer;

  if (D.scores) {
    $("scores-text").textContent = D.scores.text;
    $("scores").append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "method"), ...D.scores.columns.map((c) => make("th", { scope: "col" }, c.name)))));
    const best = D.scores.columns.map((c, j) => {
      const values = D.scores.rows.map((row) => row.values[j][0]);
      return c.better === null ? null : c.better ? Math.max(...values) : Math.min(...values);
    });
    const body = make("tbody");
    D.scores.rows.forEach((row, k) => {
      const cells = row.values.map(([mean, error], j) => make("td", best[j] === mean ? { class: "best" } : {}, mean.toFixed(3), make("small", {}, error === null ? "" : ` ± ${error.toFixed(3)}`)));
      body.append(make("tr", k === 0 ? { class: "ours" } : {}, make("td", {}, row.method), ...cells));
    });
    $("scores").append(body);
  } else $("scores-section").hidden = true;

  // ------------------------------------------------------------ calibration
  const frame = (size, x, y, labels) => {
    const [left, top, right, bottom] = [52, 12, size.width - 12, size.height - 40];
    const at = (value, [a, b], from, to) => from + ((value - a) / (b - a || 1)) * (to - from);
    const X = (v) => at(v, x, left, right), Y = (v) => at(v, y, bottom, top);
    const svg = make("svg:svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": labels.title });
    const ticks = ([a, b]) => {
      const raw = (b - a) / 4, unit = 10 ** Math.floor(Math.log10(raw || 1)), step = [1, 2, 2.5, 5, 10].find((m) => m * unit >= raw) * unit;
      const list = [];
      for (let v = Math.ceil(a / step) * step; v <= b + 1e-9 * step; v += step) list.push(Math.abs(v) < step * 1e-9 ? 0 : v);
      return list;
    };
    for (const v of ticks(x)) svg.append(make("svg:line", { x1: X(v), x2: X(v), y1: top, y2: bottom, stroke: "var(--line)" }), make("svg:text", { x: X(v), y: bottom + 17, "text-anchor": "middle" }, number(v)));
    for (const v of ticks(y)) svg.append(make("svg:line", { x1: left, x2: right, y1: Y(v), y2: Y(v), stroke: "var(--line)" }), make("svg:text", { x: left - 7, y: Y(v) + 4, "text-anchor": "end" }, number(v)));
    svg.append(make("svg:text", { x: (left + right) / 2, y: size.height - 4, "text-anchor": "middle" }, labels.x));
    svg.append(make("svg:text", { transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, labels.y));
    const low = Math.max(x[0], y[0]), high = Math.min(x[1], y[1]);
    svg.append(make("svg:line", { x1: X(low), y1: Y(low), x2: X(high), y2: Y(high), stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
    return { svg, X, Y };
  };
  if (D.calibration) {
    $("calibration-title").textContent = D.calibration.title;
    $("calibration-text").textContent = D.calibration.text;
    const size = { width: 500, height: 380 };
    if (isClasses) {
      const bins = D.calibration.bins, most = Math.max(...bins.map((b) => b[2]));
      const { svg, X, Y } = frame(size, [0, 1], [0, 1], { x: "confidence", y: "share that is right", title: D.calibration.title });
      for (const [confidence, accuracy, count] of bins) {
        svg.append(make("svg:line", { x1: X(confidence), x2: X(confidence), y1: Y(confidence), y2: Y(accuracy), stroke: "var(--for)", "stroke-width": 1.5, "stroke-dasharray": "2 3" }));
        svg.append(make("svg:circle", { cx: X(confidence), cy: Y(accuracy), r: 4 + 8 * Math.sqrt(count / most), fill: "var(--for)", "fill-opacity": 0.8 }, make("svg:title", {}, `${count} vertices: confidence ${percent(confidence)}, right ${percent(accuracy)}`)));
      }
      $("calibration").append(svg);
    } else {
      const points = D.calibration.points, [a, b] = range(points.flatMap((p) => [p[0], p[2], p[3]])), pad = (b - a) * 0.03;
      const { svg, X, Y } = frame(size, [a - pad, b + pad], [a - pad, b + pad], { x: "observed", y: "predicted without it", title: D.calibration.title });
      for (const [observed, mean, low, high, i] of points) {
        const colour = low <= observed && observed <= high ? "var(--for)" : "var(--against)";
        svg.append(make("svg:line", { x1: X(observed), x2: X(observed), y1: Y(low), y2: Y(high), stroke: colour, "stroke-opacity": 0.35 }));
        svg.append(make("svg:circle", { cx: X(observed), cy: Y(mean), r: 3, fill: colour, "fill-opacity": 0.8 }, make("svg:title", {}, `${V.names[i]}: observed ${number(observed)}, predicted ${number(mean)}`)));
      }
      $("calibration").append(svg);
    }
  } else $("calibration-section").hidden = true;

  // ------------------------------------------------------------ one vertex
  let chosen = -1, mode = "prediction";
  const bar = (from, width, colour) => make("div", { class: "track" }, make("b", { style: { left: `${100 * from}%`, width: `${100 * width}%`, background: colour } }));
  const line = (name, track, value) => make("li", {}, make("span", { class: "name", title: name }, name), track, make("span", { class: "value" }, value));
  const describe = () => {
    const box = $("detail");
    if (chosen < 0) {
      box.replaceChildren(make("h3", {}, "Choose a vertex"), make("p", {}, "on the map, in the table, or by its name, to see its prediction and the hyperedges that speak most for it."));
      return;
    }
    const i = chosen, seen = V.observed[i];
    box.replaceChildren(make("h3", {}, V.names[i]), make("p", { class: "big" }, shown(i)));
    box.append(make("p", { class: "sub" }, isClasses
      ? `probability ${percent(Math.max(...proba(i)))}` : `90% of such measurements between ${number(V.low[i])} and ${number(V.high[i])}`,
      seen === null ? ". Not observed." : `. Observed: ${isClasses ? D.classes[seen] : number(seen)}.`));
    if (isClasses) {
      const list = make("ul", { class: "bars" });
      proba(i).map((p, c) => [p, c]).sort((a, b) => b[0] - a[0]).slice(0, 6).forEach(([p, c]) => list.append(line(D.classes[c], bar(0, p, PALETTE[c % PALETTE.length]), percent(p))));
      box.append(make("h3", {}, "Probabilities"), list);
    }
    if (D.speaking) {
      const top = D.speaking.top[i], most = Math.max(...top.map(([, x]) => Math.abs(x)), 1e-300), list = make("ul", { class: "bars" });
      for (const [edge, x] of top) {
        const half = Math.abs(x) / most / 2;
        list.append(line(D.speaking.edges[edge], bar(x > 0 ? 0.5 : 0.5 - half, half, x > 0 ? "var(--for)" : "var(--against)"), (x > 0 ? "+" : "−") + number(Math.abs(x))));
      }
      box.append(make("h3", {}, isClasses ? "Hyperedges that speak for and against it" : "Hyperedges that raise and lower it"));
      box.append(top.length ? list : make("p", {}, "It is in no hyperedge."));
      const left = D.speaking.count[i] - top.length;
      if (left > 0) box.append(make("p", { class: "sub" }, `and ${left} more with less to say`));
    }
  };

  // ------------------------------------------------------------ the map
  const canvas = $("map"), tip = $("tip"), pen = canvas.getContext("2d");
  let places = [];
  const draw = () => {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight, pad = 22;
    canvas.width = width * scale; canvas.height = height * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink").trim(), paper = style.getPropertyValue("--paper").trim();
    const radius = N > 5000 ? 2 : N > 1000 ? 3 : N > 300 ? 4 : 5.5;
    places = V.x.map((x, i) => [pad + x * (width - 2 * pad), pad + (1 - V.y[i]) * (height - 2 * pad)]);
    for (let i = 0; i < N; i++) {
      pen.beginPath(); pen.arc(places[i][0], places[i][1], radius, 0, 7);
      pen.globalAlpha = 0.85; pen.fillStyle = colourOf(i, mode); pen.fill();
      if (V.observed[i] !== null && N <= 5000) { pen.globalAlpha = 0.75; pen.lineWidth = 1; pen.strokeStyle = ink; pen.stroke(); }
    }
    pen.globalAlpha = 1;
    if (chosen >= 0) {
      const [x, y] = places[chosen];
      pen.beginPath(); pen.arc(x, y, radius + 5, 0, 7); pen.lineWidth = 5; pen.strokeStyle = paper; pen.stroke();
      pen.lineWidth = 2.5; pen.strokeStyle = style.getPropertyValue("--focus").trim(); pen.stroke();
      pen.beginPath(); pen.arc(x, y, radius + 1, 0, 7); pen.fillStyle = colourOf(chosen, mode); pen.fill();
    }
  };
  const nearest = (x, y, reach) => {
    let best = -1, least = reach * reach;
    for (let i = 0; i < N; i++) {
      const d = (places[i][0] - x) ** 2 + (places[i][1] - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  };
  const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = where(event), i = nearest(x, y, 18);
    tip.hidden = i < 0;
    if (i >= 0) {
      tip.textContent = `${V.names[i]}: ${sentence(i)}`;
      tip.style.left = `${Math.min(x + 14, canvas.clientWidth - 200)}px`; tip.style.top = `${y + 16}px`;
    }
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { const i = nearest(...where(event), 40); if (i >= 0) choose(i); });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    if (chosen < 0) { choose(0); return; }
    const [x, y] = places[chosen];
    let best = -1, least = Infinity;
    for (let i = 0; i < N; i++) {
      const dx = places[i][0] - x, dy = places[i][1] - y, along = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (i !== chosen && along > 0.5 && along >= aside * 0.5) { const cost = along + 2 * aside; if (cost < least) { least = cost; best = i; } }
    }
    if (best >= 0) choose(best);
  });
  const legend = () => {
    const box = $("legend");
    if (mode === "prediction" && isClasses) {
      box.replaceChildren(...D.classes.map((name, c) => make("span", {}, make("i", { style: { background: PALETTE[c % PALETTE.length] } }), name)));
      return;
    }
    const [ramp, ends] = mode === "prediction" ? [RAMP, meanRange] : [HEAT, doubt];
    const text = (x) => (mode === "uncertainty" && isClasses ? percent(x) : number(x));
    box.replaceChildren(mode === "prediction" ? "predicted" : D.doubt, make("span", {}, text(ends[0])), make("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${ramp.join(", ")})` } }), make("span", {}, text(ends[1])));
  };
  for (const radio of document.querySelectorAll("input[name=colour]")) {
    radio.addEventListener("change", () => { mode = radio.value; legend(); draw(); });
  }

  // ------------------------------------------------------------ search
  const folded = V.names.map((name) => name.toLowerCase());
  const search = $("search"), matches = $("matches");
  const find = (text, most) => {
    const wanted = text.trim().toLowerCase(), first = [], then = [];
    if (!wanted) return [];
    for (let i = 0; i < N && first.length < most; i++) {
      if (folded[i].startsWith(wanted)) first.push(i); else if (then.length < most && folded[i].includes(wanted)) then.push(i);
    }
    return first.concat(then).slice(0, most);
  };
  search.addEventListener("input", () => {
    matches.replaceChildren(...find(search.value, 8).map((i) => {
      const button = make("button", { type: "button" }, V.names[i]);
      button.addEventListener("click", () => { search.value = V.names[i]; matches.replaceChildren(); choose(i); });
      return button;
    }));
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.firstChild) { event.preventDefault(); matches.firstChild.click(); }
    if (event.key === "Escape") matches.replaceChildren();
    if (event.key === "ArrowDown" && matches.firstChild) { event.preventDefault(); matches.firstChild.focus(); }
  });
  matches.addEventListener("keydown", (event) => {
    const next = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[event.key];
    if (next) { event.preventDefault(); (document.activeElement[next] || search).focus(); }
    if (event.key === "Escape") { matches.replaceChildren(); search.focus(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) matches.replaceChildren(); });

  // ------------------------------------------------------------ worth observing next
  if (D.next && D.next.length) {
    for (const [i, gain] of D.next) {
      const button = make("button", { type: "button", class: "link" }, V.names[i]);
      button.addEventListener("click", () => { choose(i); $("map-section").scrollIntoView({ block: "start" }); });
      $("next").append(make("li", {}, button, make("span", {}, `${number(gain)} nats`)));
    }
  } else $("next-section").hidden = true;

  // ------------------------------------------------------------ the table, of which only the rows in sight exist
  const ROW = 36, box = $("table"), table = make("table"), body = make("tbody");
  const columns = [
    { name: "vertex", value: (i) => V.names[i], text: (i) => V.names[i] },
    { name: "observed", value: (i) => (V.observed[i] === null ? null : isClasses ? D.classes[V.observed[i]] : V.observed[i]), text: (i) => (V.observed[i] === null ? "" : isClasses ? D.classes[V.observed[i]] : number(V.observed[i])) },
    { name: "predicted", value: (i) => (isClasses ? D.classes[V.predicted[i]] : V.mean[i]), text: shown },
    ...(isClasses
      ? [{ name: "probability", value: (i) => Math.max(...proba(i)), text: (i) => percent(Math.max(...proba(i))) }]
      : [{ name: "low", value: (i) => V.low[i], text: (i) => number(V.low[i]) }, { name: "high", value: (i) => V.high[i], text: (i) => number(V.high[i]) }]),
    { name: "uncertainty", value: (i) => V.uncertainty[i], text: (i) => (isClasses ? percent(V.uncertainty[i]) : number(V.uncertainty[i])) },
  ];
  let order = [...Array(N).keys()], sorted = { column: -1, up: true };
  const heads = columns.map((column, j) => {
    const button = make("button", { type: "button" }, column.name), head = make("th", { scope: "col", "aria-sort": "none" }, button);
    button.addEventListener("click", () => { sorted = { column: j, up: sorted.column === j ? !sorted.up : j === 0 }; arrange(); });
    return head;
  });
  table.append(make("thead", {}, make("tr", {}, ...heads)), body);
  box.append(table);
  const collator = new Intl.Collator("en", { numeric: true });
  const arrange = () => {
    const wanted = $("filter").value.trim().toLowerCase();
    order = [...Array(N).keys()].filter((i) => !wanted || folded[i].includes(wanted));
    if (sorted.column >= 0) {
      const of = columns[sorted.column].value, values = Array.from({ length: N }, (_, i) => of(i)), sign = sorted.up ? 1 : -1;
      order.sort((a, b) => {
        const x = values[a], y = values[b];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (typeof x === "string" ? collator.compare(x, y) : x - y);
      });
    }
    heads.forEach((head, j) => head.setAttribute("aria-sort", j === sorted.column ? (sorted.up ? "ascending" : "descending") : "none"));
    $("count").textContent = order.length === N ? `${N.toLocaleString("en")} vertices` : `${order.length.toLocaleString("en")} of ${N.toLocaleString("en")} vertices`;
    box.scrollTop = 0;
    fill();
  };
  const space = (rows) => make("tr", { class: "space", "aria-hidden": "true" }, make("td", { colspan: columns.length, style: { height: `${rows * ROW}px` } }));
  const fill = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 8), last = Math.min(order.length, first + Math.ceil(box.clientHeight / ROW) + 16);
    const rows = order.slice(first, last).map((i) => {
      const row = make("tr", { "data-vertex": i, ...(i === chosen ? { class: "chosen" } : {}) }, ...columns.map((column) => make("td", {}, column.text(i))));
      row.addEventListener("click", () => choose(i));
      return row;
    });
    body.replaceChildren(...(first ? [space(first)] : []), ...rows, ...(last < order.length ? [space(order.length - last)] : []));
  };
  box.addEventListener("scroll", () => requestAnimationFrame(fill));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || !order.length) return;
    event.preventDefault();
    const at = Math.min(Math.max(order.indexOf(chosen) + step, 0), order.length - 1);
    choose(order[at]);
    const top = at * ROW, view = box.clientHeight - 2 * ROW;
    if (top < box.scrollTop) box.scrollTop = top; else if (top > box.scrollTop + view) box.scrollTop = top - view;
    fill();
  });
  $("filter").addEventListener("input", arrange);

  const choose = (i) => { chosen = i; describe(); draw(); fill(); };

  // ------------------------------------------------------------ light and dark
  const theme = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").textContent = dark ? "Light" : "Dark";
    draw();
  };
  $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
  const wish = window.matchMedia("(prefers-color-scheme: dark)");
  wish.addEventListener("change", () => theme(wish.matches));

  legend(); describe(); arrange(); theme(wish.matches);
  window.addEventListener("resize", () => { draw(); fill(); });
})();
