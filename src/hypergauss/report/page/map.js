// ------------------------------------------------------------ the map: a canvas for points, one above for what moves
const canvas = $("map"), overlay = $("overlay"), pen = canvas.getContext("2d"), above = overlay.getContext("2d");
const PAD = 22, NEAREST_ZOOM = 60, LABELS = 30;
const camera = { zoom: 1, x: 0, y: 0 };
const size = { width: 0, height: 0, scale: 1 };
const baseX = new Float32Array(N), baseY = new Float32Array(N), atX = new Float32Array(N), atY = new Float32Array(N);
let lasso = null;

const place = (x, y) => [(PAD + x * (size.width - 2 * PAD)) * camera.zoom + camera.x, (PAD + (1 - y) * (size.height - 2 * PAD)) * camera.zoom + camera.y];
const measure = () => {
  size.width = canvas.clientWidth; size.height = canvas.clientHeight; size.scale = window.devicePixelRatio || 1;
  for (const each of [canvas, overlay]) { each.width = size.width * size.scale; each.height = size.height * size.scale; }
  for (let i = 0; i < N; i++) {
    baseX[i] = PAD + V.x[i] * (size.width - 2 * PAD);
    baseY[i] = PAD + (1 - V.y[i]) * (size.height - 2 * PAD);
  }
};
const pointSize = () => {
  const still = D.light ? 2 : N > 5000 ? 2.2 : N > 1000 ? 3 : N > 300 ? 4 : 5.5;
  return Math.min(still * camera.zoom ** 0.4, Math.max(still, 8));
};

// A point is drawn once for each colour, and then copied.
let sprites = new Map();
const sprite = (colour, ring, ink, radius) => {
  const key = `${colour}${ring ? "o" : ""}`;
  if (!sprites.has(key)) {
    const half = Math.ceil((radius + 2) * size.scale), copy = make("canvas", { width: 2 * half, height: 2 * half }), with_ = copy.getContext("2d");
    with_.scale(size.scale, size.scale);
    with_.beginPath(); with_.arc(half / size.scale, half / size.scale, radius, 0, 7);
    with_.globalAlpha = 0.85; with_.fillStyle = colour; with_.fill();
    if (ring) { with_.globalAlpha = 0.7; with_.lineWidth = 1; with_.strokeStyle = ink; with_.stroke(); }
    sprites.set(key, { copy, half: half / size.scale });
  }
  return sprites.get(key);
};

// Where points lie on one another the ground is darker: counts in cells of the screen, drawn smoothly.
const CELL = 12;
const shade = (ink) => {
  const across = Math.ceil(size.width / CELL), down = Math.ceil(size.height / CELL), counts = new Float32Array(across * down);
  let most = 0;
  for (let i = 0; i < N; i++) {
    const c = Math.floor(atX[i] / CELL), r = Math.floor(atY[i] / CELL);
    if (inside[i] && c >= 0 && r >= 0 && c < across && r < down) most = Math.max(most, ++counts[r * across + c]);
  }
  if (most < 4) return;
  const small = make("canvas", { width: across, height: down }), dots = small.getContext("2d"), image = dots.createImageData(across, down);
  const [red, green, blue] = ink.match(/\w\w/g).map((h) => parseInt(h, 16));
  counts.forEach((count, k) => { if (count > 2) image.data.set([red, green, blue, 110 * Math.log(count / 2) / Math.log(Math.max(most, 12) / 2)], 4 * k); });
  dots.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = true;
  pen.drawImage(small, 0, 0, across * CELL, down * CELL);
};

// Of more vertices than the page holds: how many lie in each cell, and what is predicted of most.
const drawCells = () => {
  const { across, down, cell, count, value: values, uncertainty } = D.light.cells, most = Math.log1p(range(count)[1]);
  const width = ((size.width - 2 * PAD) / across) * camera.zoom, height = ((size.height - 2 * PAD) / down) * camera.zoom;
  cell.forEach((k, j) => {
    const [x, y] = place((k % across) / across, (Math.floor(k / across) + 1) / down);
    pen.globalAlpha = (limits.size ? 0.12 : 0.2) + (limits.size ? 0.2 : 0.75) * (Math.log1p(count[j]) / most);
    pen.fillStyle = colourOfNumbers(values[j], level(rankIn(doubts, uncertainty[j])));
    pen.fillRect(Math.round(x), Math.round(y), Math.round(x + width) - Math.round(x), Math.round(y + height) - Math.round(y));
  });
  pen.globalAlpha = 1;
};

const draw = () => {
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink").trim(), faint = style.getPropertyValue("--faint").trim();
  const radius = pointSize(), rings = N <= 5000 || camera.zoom > 3;
  if (draw.key !== `${radius}${ink}${size.scale}`) { sprites = new Map(); draw.key = `${radius}${ink}${size.scale}`; }
  pen.setTransform(size.scale, 0, 0, size.scale, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  for (let i = 0; i < N; i++) { atX[i] = baseX[i] * camera.zoom + camera.x; atY[i] = baseY[i] * camera.zoom + camera.y; }
  if (D.light) drawCells(); else shade(ink);
  const seen = (i) => atX[i] > -9 && atY[i] > -9 && atX[i] < size.width + 9 && atY[i] < size.height + 9;
  const put = (i, { copy, half }) => pen.drawImage(copy, atX[i] - half, atY[i] - half, 2 * half, 2 * half);
  if (insideCount < N && !D.light) for (let i = 0; i < N; i++) if (!inside[i] && seen(i)) put(i, sprite(faint, false, ink, Math.min(radius, 3)));
  if (!D.light || camera.zoom > 2 || limits.size) for (let i = 0; i < N; i++) if (inside[i] && seen(i)) put(i, sprite(colourOf(i), rings && V.observed[i] !== null, ink, radius));
  drawAbove(); moveRing();
};

// The ring of a hover is an element: to move it is to draw nothing else anew.
const hovered = $("ring");
const moveRing = () => {
  hovered.hidden = state.hover < 0;
  if (state.hover < 0) return;
  const across = 2 * Math.round(pointSize() + 5);
  hovered.style.width = hovered.style.height = `${across}px`;
  hovered.style.transform = `translate(${(atX[state.hover] - across / 2).toFixed(1)}px, ${(atY[state.hover] - across / 2).toFixed(1)}px)`;
};
const ring = (i, colour, width, ground) => {
  above.beginPath(); above.arc(atX[i], atY[i], pointSize() + 4, 0, 7);
  above.lineWidth = width + 2.5; above.strokeStyle = ground; above.stroke();
  above.lineWidth = width; above.strokeStyle = colour; above.stroke();
};
// A name stands right of its point, or left, below or above: never on a point that is named too, nor on another name.
const drawNames = (ink, ground) => {
  const named = [], gap = pointSize() + 4, boxes = [];
  for (let i = 0; i < N && named.length <= LABELS; i++) {
    if (inside[i] && atX[i] > 0 && atY[i] > 0 && atX[i] < size.width && atY[i] < size.height) named.push(i);
  }
  if (named.length > LABELS) return;
  const isFree = ([l, t, r, b]) => l >= 2 && r <= size.width - 2 && t >= 2 && b <= size.height - 2 && !boxes.some(([left, top, right, bottom]) => l < right && r > left && t < bottom && b > top);
  for (const i of named) boxes.push([atX[i] - gap + 3, atY[i] - gap + 3, atX[i] + gap - 3, atY[i] + gap - 3]);
  above.font = "12px system-ui, sans-serif"; above.lineWidth = 3; above.strokeStyle = ground; above.fillStyle = ink;
  for (const i of named) {
    const text = V.names[i].slice(0, 28), width = above.measureText(text).width;
    const places = [[gap, 4], [-gap - width, 4], [-width / 2, gap + 9], [-width / 2, -gap]].map(([right, down]) => [atX[i] + right, atY[i] + down]);
    const found = places.map(([x, y]) => [x, y, [x, y - 10, x + width, y + 3]]).find(([, , box]) => isFree(box));
    if (!found) continue;
    const [x, y, box] = found;
    boxes.push(box);
    above.strokeText(text, x, y); above.fillText(text, x, y);
  }
};
const drawAbove = () => {
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  above.setTransform(size.scale, 0, 0, size.scale, 0, 0);
  above.clearRect(0, 0, size.width, size.height);
  drawNames(colour("--ink"), colour("--paper"));
  if (state.chosen >= 0) ring(state.chosen, colour("--focus"), 2.5, colour("--paper"));
  if (lasso && lasso.length > 1) {
    above.beginPath(); lasso.forEach(([x, y]) => above.lineTo(x, y)); above.closePath();
    above.globalAlpha = 0.12; above.fillStyle = colour("--focus"); above.fill();
    above.globalAlpha = 1; above.lineWidth = 1.5; above.strokeStyle = colour("--focus"); above.setLineDash([5, 4]); above.stroke(); above.setLineDash([]);
  }
};

let waiting = false;
const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };

const nearest = (x, y, reach) => {
  let best = -1, least = reach * reach;
  for (let i = 0; i < N; i++) {
    const d = (atX[i] - x) ** 2 + (atY[i] - y) ** 2;
    if (d < least && inside[i]) { least = d; best = i; }
  }
  return best;
};
const cellAt = (x, y) => {
  const { across, down, cell } = D.light.cells, u = ((x - camera.x) / camera.zoom - PAD) / (size.width - 2 * PAD), v = 1 - ((y - camera.y) / camera.zoom - PAD) / (size.height - 2 * PAD);
  return u < 0 || v < 0 || u >= 1 || v >= 1 ? -1 : cell.indexOf(Math.floor(v * down) * across + Math.floor(u * across));
};

const mapSvg = () => {
  const svg = make("svg:svg", { viewBox: `0 0 ${Math.round(size.width)} ${Math.round(size.height)}` }), round = (x) => Math.round(x * 10) / 10;
  if (D.light) {
    const { across, down, cell, value: values, uncertainty } = D.light.cells;
    cell.forEach((k, j) => {
      const [x, y] = place((k % across) / across, (Math.floor(k / across) + 1) / down);
      svg.append(make("svg:rect", { x: round(x), y: round(y), width: round(((size.width - 2 * PAD) / across) * camera.zoom), height: round(((size.height - 2 * PAD) / down) * camera.zoom), fill: colourOfNumbers(values[j], level(rankIn(doubts, uncertainty[j]))) }));
    });
    return svg;
  }
  for (const wanted of [0, 1]) for (let i = 0; i < N; i++) {
    if (inside[i] !== wanted || atX[i] < 0 || atY[i] < 0 || atX[i] > size.width || atY[i] > size.height) continue;
    svg.append(make("svg:circle", { cx: round(atX[i]), cy: round(atY[i]), r: round(pointSize()), fill: wanted ? colourOf(i) : "var(--faint)", "fill-opacity": 0.85, ...(V.observed[i] !== null ? { stroke: "var(--ink)" } : {}) }, make("svg:title", {}, `${V.names[i]}: ${sentence(i)}`)));
  }
  return svg;
};

on("limits", redraw);
on("colour", redraw);
on("hover", moveRing);
on("choice", () => { if (state.chosen >= 0) bringIntoView(state.chosen); redraw(); });
