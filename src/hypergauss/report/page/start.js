// ------------------------------------------------------------ words on top, light and dark, and the first drawing
$("lead").textContent = D.lead;
for (const [label, text] of D.summary) $("summary").append(make("div", {}, make("dt", {}, label), make("dd", {}, text)));
// What stands between backticks is written as code is.
const worded = (text) => text.split(/`([^`]+)`/).map((part, k) => (k % 2 ? make("code", {}, part) : part));
for (const note of D.notes) $("notes").append(make("li", {}, ...worded(note)));
$("footer").textContent = D.footer;
$("map-text").textContent = D.map;
if (D.light) {
  $("light").hidden = false;
  $("light").textContent = `${whole(D.light.total)} vertices are more than a page holds. The map counts all of them; ${whole(N)} can be found, chosen and filtered here; every prediction is in predictions.csv, or asked of the model.`;
}

const theme = (dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = dark ? "Light" : "Dark";
  redraw();
};
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
const wish = window.matchMedia("(prefers-color-scheme: dark)");
wish.addEventListener("change", () => theme(wish.matches));

theme(wish.matches);
measure();
chips(); legend(); describe(); arrange(); draw();
window.addEventListener("resize", () => { measure(); settle(); fill(); });
