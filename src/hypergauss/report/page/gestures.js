// ------------------------------------------------------------ wheel, drag, lasso, pinch, keys
const tip = $("tip"), fingers = new Map();
let isLasso = false, start = null;

const settle = () => {
  const { zoom } = camera;
  camera.x = Math.min(0, Math.max(size.width * (1 - zoom), camera.x));
  camera.y = Math.min(0, Math.max(size.height * (1 - zoom), camera.y));
  canvas.style.touchAction = zoom > 1 || isLasso ? "none" : "pan-y"; // a page can be scrolled past a map that is whole
  redraw();
};
const zoomAt = (x, y, factor) => {
  const zoom = Math.min(NEAREST_ZOOM, Math.max(1, camera.zoom * factor)), by = zoom / camera.zoom;
  camera.x = x - (x - camera.x) * by; camera.y = y - (y - camera.y) * by; camera.zoom = zoom;
  settle();
};
const showWhole = () => { camera.zoom = 1; camera.x = camera.y = 0; settle(); };
const bringIntoView = (i) => {
  const x = baseX[i] * camera.zoom + camera.x, y = baseY[i] * camera.zoom + camera.y;
  if (x > 10 && y > 10 && x < size.width - 10 && y < size.height - 10) return;
  camera.x += size.width / 2 - x; camera.y += size.height / 2 - y;
  settle();
};

const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
const within = (polygon, x, y) => {
  let is = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) is = !is;
  }
  return is;
};
const closeLasso = () => {
  const picked = new Set();
  for (let i = 0; i < N; i++) if (inside[i] && within(lasso, atX[i], atY[i])) picked.add(i);
  lasso = null;
  if (!picked.size) { drawAbove(); return; }
  state.chosen = -1;
  limit("lasso", "in the lasso", (i) => picked.has(i));
  say("choice");
};

const point = (x, y) => {
  const i = nearest(x, y, 18), k = i < 0 && D.light ? cellAt(x, y) : -1;
  hover(i);
  tip.hidden = i < 0 && k < 0;
  if (tip.hidden) return;
  tip.textContent = i >= 0 ? `${V.names[i]}: ${sentence(i)}` : `${plural(D.light.cells.count[k], "vertex", "vertices")} here, ${isClasses ? "most of them" : "on average"} ${value(D.light.cells.value[k])}`;
  // Towards the middle, and so inside without being measured: that would lay out the page within the event.
  const across = x < size.width / 2 ? `${x + 14}px` : `calc(${x - 14}px - 100%)`, down = y < size.height / 2 ? `${y + 16}px` : `calc(${y - 10}px - 100%)`;
  tip.style.transform = `translate(${across}, ${down})`;
};

canvas.addEventListener("pointerdown", (event) => {
  const at = where(event);
  fingers.set(event.pointerId, at);
  canvas.setPointerCapture(event.pointerId);
  start = { at, camera: { ...camera }, moved: false };
  lasso = fingers.size === 1 && (isLasso || event.shiftKey) ? [at] : null;
});
canvas.addEventListener("pointermove", (event) => {
  const at = where(event), before = fingers.get(event.pointerId);
  if (!before) { point(...at); return; }
  if (Math.hypot(at[0] - start.at[0], at[1] - start.at[1]) > 4) start.moved = true;
  if (fingers.size === 2) {
    const [other] = [...fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    camera.x += (at[0] - before[0]) / 2; camera.y += (at[1] - before[1]) / 2;
    zoomAt((at[0] + other[0]) / 2, (at[1] + other[1]) / 2, apart(at) / apart(before));
  } else if (lasso) {
    lasso.push(at); drawAbove();
  } else if (start.moved) {
    tip.hidden = true;
    camera.x += at[0] - before[0]; camera.y += at[1] - before[1];
    settle();
  }
  fingers.set(event.pointerId, at);
});
const lift = (event) => {
  const wasOne = fingers.size === 1;
  if (!fingers.delete(event.pointerId) || !wasOne) return;
  if (lasso && start.moved && event.type === "pointerup") closeLasso();
  else if (!start.moved && event.type === "pointerup") {
    const i = nearest(...where(event), event.pointerType === "touch" ? 30 : 18);
    if (i >= 0 || state.chosen >= 0) choose(i);
    if (event.pointerType === "touch") point(...where(event));
  }
  lasso = null;
  drawAbove();
};
canvas.addEventListener("pointerup", lift);
canvas.addEventListener("pointercancel", lift);
canvas.addEventListener("pointerleave", () => { tip.hidden = true; hover(-1); });
canvas.addEventListener("dblclick", (event) => zoomAt(...where(event), 2));
canvas.addEventListener("wheel", (event) => {
  if (camera.zoom === 1 && event.deltaY > 0 && !event.ctrlKey) return; // nothing to see from farther: the page scrolls
  event.preventDefault();
  tip.hidden = true; hover(-1);
  zoomAt(...where(event), Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)));
}, { passive: false });

const step = ([right, down]) => {
  if (state.chosen < 0) { choose(inside.indexOf(1)); return; }
  const x = atX[state.chosen], y = atY[state.chosen];
  let best = -1, least = Infinity;
  for (let i = 0; i < N; i++) {
    if (!inside[i] || i === state.chosen) continue;
    const dx = atX[i] - x, dy = atY[i] - y, along = dx * right + dy * down, aside = Math.abs(dx * down) + Math.abs(dy * right);
    if (along > 0.5 && along >= aside * 0.5 && along + 2 * aside < least) { least = along + 2 * aside; best = i; }
  }
  if (best >= 0) choose(best);
};
canvas.addEventListener("keydown", (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const factor = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 }[event.key];
  if (way) step(way);
  else if (factor) { const i = state.chosen; zoomAt(i < 0 ? size.width / 2 : atX[i], i < 0 ? size.height / 2 : atY[i], factor); }
  else if (event.key === "0") showWhole();
  else if (event.key === "Escape") { state.chosen = -1; clearLimits(); say("choice"); }
  else return;
  event.preventDefault();
});

$("lasso").addEventListener("click", () => { isLasso = !isLasso; $("lasso").setAttribute("aria-pressed", isLasso); settle(); });
$("closer").addEventListener("click", () => zoomAt(size.width / 2, size.height / 2, 1.6));
$("farther").addEventListener("click", () => zoomAt(size.width / 2, size.height / 2, 1 / 1.6));
$("whole").addEventListener("click", showWhole);
$("map-svg").addEventListener("click", () => saveSvg(mapSvg(), "map"));
