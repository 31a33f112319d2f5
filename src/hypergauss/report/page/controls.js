// ------------------------------------------------------------ filters, legend, and what is shown in words
const choices = (id, label, options) => {
  const select = make("select", { id: `only-${id}` }, ...options.map(([text], k) => make("option", { value: k }, text)));
  select.addEventListener("change", () => {
    const [text, has] = options[select.selectedIndex];
    limit(id, text, has, () => { select.selectedIndex = 0; });
    select.selectedIndex = options.findIndex(([name]) => name === text);
  });
  $("filters").append(make("div", {}, make("label", { for: `only-${id}` }, label), select));
  return select;
};
const anyOf = (text) => [text, null];
const byClass = isClasses && choices("class", "Class", [anyOf("any"), ...D.classes.map((name, c) => [name, (i) => V.predicted[i] === c])]);
choices("observed", "Observed", [anyOf("any"), ["observed", (i) => V.observed[i] !== null], ["not observed", (i) => V.observed[i] === null]]);
if (mistakes) {
  const wrong = isClasses ? "wrong" : "outside its interval", how = mistakes.source === "cross-validation" ? "in cross-validation" : "when left out";
  choices("missed", how[0].toUpperCase() + how.slice(1), [anyOf("any"), [`${wrong} ${how}`, (i) => missed[i]], [`right ${how}`, (i) => judged[i] && !missed[i]]]);
}
const vertexDoubts = sortedCopy(V.uncertainty), border = (q) => quantile(vertexDoubts, q);
choices("doubt", "Uncertainty", [anyOf("any"), ["most uncertain tenth", (i) => V.uncertainty[i] >= border(0.9)], ["most uncertain quarter", (i) => V.uncertainty[i] >= border(0.75)], ["most certain half", (i) => V.uncertainty[i] <= border(0.5)]]);
if (unlike.size) choices("unlike", "Memberships", [anyOf("any"), ["unlike those observed", (i) => unlike.has(i)]]);

const chips = () => {
  $("inside").textContent = insideCount === N ? `${D.light ? "Sample of " : ""}${plural(N, "vertex", "vertices")}` : `${whole(insideCount)} of ${plural(N, "vertex", "vertices")}`;
  $("limits").replaceChildren(...[...limits].map(([id, { text }]) => make("li", {}, make("button", { type: "button", class: "chip", "aria-label": `Remove: ${text}`, click: () => limit(id) }, text, make("span", { "aria-hidden": "true" }, " ×")))));
  if (limits.size > 1) $("limits").append(make("li", {}, link("clear all", clearLimits)));
};
on("limits", chips);

const classButton = (name, c) => {
  const isOn = limits.get("class")?.text === name;
  return make("button", { type: "button", "aria-pressed": isOn, click: () => { byClass.selectedIndex = isOn ? 0 : c + 1; byClass.dispatchEvent(new Event("change")); } }, make("i", { style: { background: classColour(c) } }), name);
};
const scale = (title, ramp, marks) => [make("span", {}, title), make("span", { class: "scale" }, make("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${ramp.join(", ")})` } }), make("span", { class: "marks" }, ...marks.map((mark) => make("span", {}, mark))))];
const legend = () => {
  const ground = D.light ? "stronger colour: more vertices" : "ringed: observed · dark ground: points on one another";
  const entries = state.colour === "uncertainty" ? scale(`${D.doubt}, by quantile`, HEAT, [0, 0.25, 0.5, 0.75, 1].map((q) => doubtText(quantile(doubts, q))))
    : isClasses ? D.classes.map(classButton) : scale("predicted", RAMP, [`≤ ${number(meanEnds[0])}`, number((meanEnds[0] + meanEnds[1]) / 2), `≥ ${number(meanEnds[1])}`]);
  $("legend").replaceChildren(...entries, make("span", { class: "ground" }, ground));
};
on("colour", legend);
on("limits", legend);
for (const radio of document.querySelectorAll("input[name=colour]")) {
  radio.addEventListener("change", () => { state.colour = radio.value; say("colour"); });
}
