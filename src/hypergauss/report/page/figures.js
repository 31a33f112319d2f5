// ------------------------------------------------------------ figures: axes, and a file of each
const ticks = ([a, b], most) => {
  const raw = (b - a) / most, unit = 10 ** Math.floor(Math.log10(raw || 1)), step = [1, 2, 2.5, 5, 10].find((m) => m * unit >= raw) * unit;
  const list = [];
  for (let v = Math.ceil(a / step - 1e-9) * step; v <= b + 1e-9 * step; v += step) list.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return list;
};
const FIGURE = { width: 500, height: 360 };

// Room is made for the longest label before the axis has its title, so that neither is printed on the other.
const frame = (x, y, labels, textY = number) => {
  const most = 5, { width, height } = FIGURE, marksY = ticks(y, most).map((v) => [v, textY(v)]);
  const left = 34 + 7 * Math.max(...marksY.map(([, text]) => text.length)), top = 12, right = width - 22, bottom = height - 46;
  const longest = Math.max(...ticks(x, most).map((v) => number(v).length));
  const marksX = ticks(x, Math.max(2, Math.min(most, Math.floor((right - left) / (9 * longest + 12))))).map((v) => [v, number(v)]);
  const at = (v, [a, b], from, to) => from + ((v - a) / (b - a || 1)) * (to - from);
  const X = (v) => at(v, x, left, right), Y = (v) => at(v, y, bottom, top);
  const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": labels.title });
  const text = (place, words) => make("svg:text", { fill: "var(--soft)", "font-size": 12, ...place }, words);
  for (const [v, words] of marksX) {
    svg.append(make("svg:line", { x1: X(v), x2: X(v), y1: top, y2: bottom, stroke: "var(--line)" }));
    svg.append(text({ x: X(v), y: bottom + 17, "text-anchor": "middle" }, words));
  }
  for (const [v, words] of marksY) {
    svg.append(make("svg:line", { x1: left, x2: right, y1: Y(v), y2: Y(v), stroke: "var(--line)" }));
    svg.append(text({ x: left - 7, y: Y(v) + 4, "text-anchor": "end" }, words));
  }
  svg.append(text({ x: (left + right) / 2, y: height - 6, "text-anchor": "middle", class: "axis" }, labels.x));
  svg.append(text({ transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, labels.y));
  return { svg, X, Y, left, right, top, bottom };
};
const diagonal = ({ svg, X, Y }, low, high) => {
  svg.append(make("svg:line", { x1: X(low), y1: Y(low), x2: X(high), y2: Y(high), stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
};

// A file stands alone: colours of the page's style are written out.
const svgFile = (svg) => {
  const style = getComputedStyle(document.documentElement), copy = svg.cloneNode(true);
  const settled = (text) => text.replace(/var\((--[a-z]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name, value } of [...node.attributes]) if (value.includes("var(")) node.setAttribute(name, settled(value));
  }
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width); copy.setAttribute("height", height); copy.setAttribute("font-family", "system-ui, sans-serif");
  copy.prepend(make("svg:rect", { width, height, fill: settled("var(--card)") }));
  return new XMLSerializer().serializeToString(copy);
};
const saveSvg = (svg, name) => save(`${name}.svg`, "image/svg+xml", svgFile(svg));
const withFile = (svg, name) => make("div", { class: "figure" }, svg, make("button", { type: "button", class: "quiet", click: () => saveSvg(svg, name), "aria-label": `Download ${name} as SVG` }, "SVG"));
