// ------------------------------------------------------------ what is chosen and what is shown, and who wants to know
const state = { colour: "prediction", chosen: -1, edge: -1, hover: -1 };
const inside = new Uint8Array(N).fill(1);
let insideCount = N;
const limits = new Map();
const wants = { limits: [], choice: [], hover: [], colour: [] };
const on = (what, tell) => wants[what].push(tell);
const say = (what) => { for (const tell of wants[what]) tell(); };

// A limit leaves some vertices in: a filter, a lasso, a hyperedge's members. Those in all of them are shown.
const limit = (id, text, has, cleared) => {
  limits.get(id)?.cleared?.();
  if (has) limits.set(id, { text, has, cleared }); else limits.delete(id);
  const all = [...limits.values()];
  insideCount = 0;
  for (let i = 0; i < N; i++) {
    inside[i] = all.every((one) => one.has(i)) ? 1 : 0;
    insideCount += inside[i];
  }
  say("limits");
};
const clearLimits = () => { for (const id of [...limits.keys()]) limit(id); };

const choose = (i) => { state.chosen = i; say("choice"); };
const chooseEdge = (e) => {
  state.chosen = -1;
  const members = e < 0 ? null : edges.members[e];
  const own = members && new Set(members);
  limit("edge", own && `in ${edges.edges[e]}`, own && ((i) => own.has(i)), own && (() => { state.edge = -1; }));
  state.edge = e;
  say("choice");
};
const hover = (i) => { if (state.hover !== i) { state.hover = i; say("hover"); } };
