// ------------------------------------------------------------ search, among vertices and hyperedges
const folded = V.names.map((name) => name.toLowerCase());
const foldedEdges = edges ? edges.edges.map((name) => name.toLowerCase()) : [];
const search = $("search"), matches = $("matches");
const find = (names, wanted, most) => {
  const first = [], then = [];
  for (let i = 0; i < names.length && first.length < most; i++) {
    if (names[i].startsWith(wanted)) first.push(i); else if (then.length < most && names[i].includes(wanted)) then.push(i);
  }
  return first.concat(then).slice(0, most);
};
const match = (name, kind, pick) => make("button", { type: "button", click: () => { search.value = name; matches.replaceChildren(); pick(); } }, name, ...(kind ? [make("small", {}, kind)] : []));
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  if (!wanted) { matches.replaceChildren(); return; }
  const found = [
    ...find(folded, wanted, 8).map((i) => match(V.names[i], "", () => choose(i))),
    ...find(foldedEdges, wanted, 4).map((e) => match(edges.edges[e], "hyperedge", () => chooseEdge(e))),
  ];
  const none = make("p", { role: "status" }, `Nothing here is named “${search.value.trim()}”.${D.light ? " The page holds a sample: the rest is in predictions.csv." : ""}`);
  matches.replaceChildren(...(found.length ? found : [none]));
});
search.addEventListener("keydown", (event) => {
  const first = matches.querySelector("button");
  if (event.key === "Enter" && first) { event.preventDefault(); first.click(); }
  if (event.key === "Escape") matches.replaceChildren();
  if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
});
matches.addEventListener("keydown", (event) => {
  const next = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[event.key];
  if (next) { event.preventDefault(); (document.activeElement[next] || search).focus(); }
  if (event.key === "Escape") { matches.replaceChildren(); search.focus(); }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) matches.replaceChildren(); });

$("filter").addEventListener("input", () => {
  const text = $("filter").value.trim(), wanted = text.toLowerCase();
  limit("name", `named “${text}”`, wanted && ((i) => folded[i].includes(wanted)));
});
on("limits", () => { if (!limits.has("name") && document.activeElement !== $("filter")) $("filter").value = ""; });
