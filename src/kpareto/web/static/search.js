// Search: what is to be optimized and limited, by which method; start, watch, stop, go on.

import * as api from "/static/api.js";
import { clock, h, number, replace, say, select } from "/static/dom.js";
import { Scatter } from "/static/chart.js";
import { steps } from "/static/main.js";

const KNOWN = [
  ["k", "smallest class: how many look alike"],
  ["glm", "information lost, summed over cells"],
  ["lm", "information lost, from 0 to 1"],
  ["dcn", "discernibility: sum of squared class sizes"],
  ["l", "different sensitive values per class"],
  ["t", "how far classes differ from the whole"],
  ["risk-mean", "mean risk of being recognised"],
  ["cm", "rows a classifier would tell wrong (needs a target)"],
  ["necd", "bias: how unevenly rows are protected"],
  ["suppressed", "rows left out"],
];
const RULES = {
  none: "none: nothing is suppressed",
  "below-k": "below k: classes under the limit go",
  "cap-max-k": "cap: suppress up to the limit, highest k",
  "cap-threshold": "cap, every threshold (exact search only)",
  constraint: "classes that miss a limit go",
};
const METHODS = {
  exact: "exact: every whole-level recoding, proven complete",
  poka: "POkA, repaired", "poka-literal": "POkA as printed", "pbg-ea": "PBG-EA with a box archive",
  genitor: "GENITOR over cuts", nsga2: "NSGA-II over cuts", improve: "local search over cuts (finest groups)",
};

export async function searchView(page) {
  const { draft } = page;
  const search = draft.search;
  const send = async () => {
    const done = await page.attempt(() => api.put("/job", draft));
    if (done) Object.assign(page, { draft: done.draft, stale: done.stale });
    return Boolean(done);
  };
  const box = h("div", { class: "split even" }, settings(page, send), watching(page, send));
  return h("div", {}, h("div", { class: "title" }, h("h1", {}, "Search for every trade-off")),
    h("p", { class: "lead" }, `What is to be good at once? ${search.objectives.length} objectives now; each point of the front is a recoding that no other beats in all of them.`), box);
}

function settings(page, send) {
  const { draft } = page;
  const search = draft.search;
  const place = h("section", { class: "card", "aria-labelledby": "what" });
  const redraw = () => replace(place, ...parts());
  const toggle = (name, on) => {
    const now = search.objectives.filter((each) => each !== name);
    search.objectives = on ? [...now, name] : now;
    send();
  };
  const parts = () => {
    const sensitive = Object.values(draft.columns).some((column) => column.role === "sensitive") || draft.data.preset;
    const target = Object.values(draft.columns).some((column) => column.role === "target");
    const others = search.objectives.filter((name) => !KNOWN.some(([each]) => each === name));
    const can = (name) => !(["l", "t"].includes(name) && !sensitive) && !(name === "cm" && !target);
    const chips = [...KNOWN, ...others.map((name) => [name, ""])].map(([name, what]) =>
      h("label", { class: can(name) ? "chip" : "chip off" },
        h("input", { type: "checkbox", checked: search.objectives.includes(name), disabled: !can(name), onchange: (event) => toggle(name, event.target.checked) }),
        h("span", {}, h("strong", {}, name), " ", h("span", { class: "quiet" }, what))));
    const more = select("Another measure", [["", "choose …"], ...page.about.measures.filter((name) => ![...KNOWN.map(([each]) => each), ...others].includes(name))], "",
      async (name) => { if (name) { search.objectives.push(name); if (!(await send())) search.objectives.pop(); redraw(); } });
    const limit = (name, text, step) => h("label", { class: "field narrow" }, h("span", {}, text),
      h("input", { type: "number", step, min: 0, value: draft.limits[name] ?? "", "data-limit": name, onchange: (event) => {
        if (event.target.value === "") delete draft.limits[name];
        else draft.limits[name] = Number(event.target.value);
        send();
      } }));
    const spaces = page.about.methods[search.method] || ["lattice"];
    return [
      h("h2", { id: "what" }, "What is wanted"),
      h("fieldset", {}, h("legend", {}, "Objectives"), h("div", { class: "chips" }, chips), more),
      h("fieldset", {}, h("legend", {}, "Limits (empty: none)"), h("div", { class: "row" }, limit("k", "k at least", 1), limit("l", "l at least", 1), limit("t", "t at most", 0.01))),
      h("fieldset", {}, h("legend", {}, "Suppression"), h("div", { class: "row" },
        select("Rule", page.about.rules.map((name) => [name, RULES[name] || name]), draft.suppression.rule || "cap-max-k", (value) => { draft.suppression.rule = value; send(); }),
        h("label", { class: "field narrow" }, h("span", {}, "At most (share, or rows)"),
          h("input", { type: "number", min: 0, step: "any", value: draft.suppression.limit ?? 0, onchange: (event) => { draft.suppression.limit = Number(event.target.value); send(); } })),
        select("Suppressed rows are", [["drop", "dropped"], ["mask", "masked with *"]], draft.suppression.rows || "drop", (value) => { draft.suppression.rows = value; send(); }))),
      h("fieldset", {}, h("legend", {}, "Method"), h("div", { class: "row" },
        select("Search", Object.keys(page.about.methods).map((name) => [name, METHODS[name] || name]), search.method, (value) => {
          search.method = value;
          if (!page.about.methods[value].includes(search.space)) search.space = page.about.methods[value][0];
          if (value !== "exact" && !search.budget) search.budget = 5000;
          send();
          redraw();
        }, { id: "method" }),
        select("Recodings", spaces.map((name) => [name, { lattice: "whole levels", cuts: "any cut of the tree", order: "any intervals" }[name]]), search.space, (value) => { search.space = value; send(); }),
        search.method === "exact" ? null : h("label", { class: "field narrow" }, h("span", {}, "Budget (recodings)"),
          h("input", { type: "number", id: "budget", min: 1, value: search.budget ?? "", onchange: (event) => { search.budget = Number(event.target.value) || null; send(); } })),
        search.method === "exact" ? null : h("label", { class: "field narrow" }, h("span", {}, "Seed"),
          h("input", { type: "number", min: 0, value: search.seed ?? 1, onchange: (event) => { search.seed = Number(event.target.value); send(); } })))),
    ];
  };
  redraw();
  return place;
}

function watching(page, send) {
  const words = h("p", { class: "progress-words" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress of the search" });
  const chart = h("div", { class: "chart small-chart" });
  let scatter = null;
  let source = null;
  const start = h("button", { type: "button", id: "start", onclick: () => begin(false) }, "Start the search");
  const stop = h("button", { type: "button", id: "stop", class: "second", onclick: () => page.attempt(() => api.remove("/search")) }, "Stop");
  const resume = h("button", { type: "button", id: "resume", onclick: () => begin(true) }, "Go on");
  const next = h("a", { class: "button", id: "to-explore", href: "#explore" }, "Explore the front");
  async function begin(again) {
    if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
    if (!(await send())) return;
    const status = await page.attempt(() => api.post("/search", { resume: again }));
    if (!status) return;
    page.front = null;
    page.released = null;
    if (!again) page.stale = false;
    if (!again) page.remember({ chosen: null, pins: [], x: null, y: null });
    say("The search has started.");
    show(status);
    follow();
  }
  function follow() {
    if (source) source.close();
    source = api.watch((status) => { if (status) show(status); });
  }
  function show(status) {
    page.search = status;
    const running = ["waiting", "reading", "searching"].includes(status.phase);
    start.hidden = running;
    stop.hidden = !running;
    resume.hidden = status.phase !== "stopped";
    next.hidden = !["done", "stopped"].includes(status.phase);
    start.className = status.phase === "waiting" && !status.version ? "" : "second";
    if (status.phase === "reading") { bar.removeAttribute("value"); words.textContent = "Reading the rows …"; }
    else if (status.phase === "failed") { bar.value = 0; words.textContent = ""; }
    else {
      bar.value = status.total ? status.done / status.total : 0;
      const rate = status.rate ? `${number(Math.round(status.rate))} per second` : "";
      const left = running && status.remaining !== null ? `${clock(status.remaining)} left` : "";
      words.textContent = [`${number(status.done)} of ${number(status.total)} recodings`, rate, left, `${number(status.points)} points`].filter(Boolean).join(" · ");
    }
    replace(outcome, status.sentence
      ? h("p", { class: status.phase === "failed" ? "bad" : "quiet" }, status.sentence)
      : status.phase === "done" ? h("p", { class: "good" }, `Done in ${number(status.seconds, 3)} s: ${number(status.points)} points.`) : "");
    if (!running && status.phase === "done") say(`The search is done: ${status.points} points.`);
    if (status.names.length > 1 && status.values.length) {
      if (!scatter) scatter = new Scatter(chart, { quiet: true });
      const logs = [0, 1].map((c) => ["k", "l", "dcn"].includes(status.names[c]) && status.values.every((row) => row[c] > 0));
      scatter.draw({ points: status.values.map((row, id) => ({ id, x: row[0], y: row[1] })), cloud: [], marks: [], names: status.names.slice(0, 2), logs, line: [] });
    }
    steps();
  }
  const outcome = h("div", { role: "status" });
  const status = page.search || { phase: "waiting", done: 0, total: 0, names: [], values: [], sentence: "", version: 0, points: 0 };
  show(status);
  if (status.phase === "waiting") { words.textContent = "Not started yet."; stop.hidden = true; start.hidden = false; }
  if (["reading", "searching"].includes(status.phase)) follow();
  page.leave = () => { if (source) source.close(); };
  return h("section", { class: "card", "aria-labelledby": "watch" }, h("h2", { id: "watch" }, "The search"), h("div", { class: "row" }, start, resume, stop, next), bar, words, outcome, chart);
}
