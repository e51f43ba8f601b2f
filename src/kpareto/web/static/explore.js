// Explore: the front as a picture, wishes that move the choice, one point in detail, two points side by side.

import * as api from "/static/api.js";
import { h, number, percent, replace, say, select } from "/static/dom.js";
import { parallel, Scatter } from "/static/chart.js";
import { detail } from "/static/detail.js";
import { compare } from "/static/compare.js";

export async function exploreView(page) {
  const front = await page.loadFront();
  const names = front.objectives.map((each) => each.name);
  const view = page.view;
  if (!names.includes(view.x)) view.x = names[0];
  if (!names.includes(view.y)) view.y = names[1] || names[0];
  if (!(Number.isInteger(view.chosen) && view.chosen >= 0 && view.chosen < front.values.length)) {
    const mark = front.marks.find((each) => each.label.includes("k ≥ 5")) || front.marks.find((each) => each.label.includes("knee"));
    view.chosen = mark ? mark.id : 0;
  }
  view.pins = view.pins && view.pins.length === 2 ? view.pins : [null, null];
  const objective = (name) => front.objectives[names.indexOf(name)];
  const logged = (axis) => {
    const own = view[`log${axis}`];
    const about = objective(view[axis]);
    return about.logs && (own === undefined || own === null ? about.log : own);
  };

  const chartPlace = h("div", { class: "chart" });
  const detailPlace = h("section", { class: "card detail", id: "detail", "aria-label": "The chosen point" });
  const comparePlace = h("section", { class: "card", id: "compare", "aria-labelledby": "compare-title" });
  const controls = h("div", { class: "row controls" });
  const sliders = h("div", { class: "sliders" });
  let scatter = null;
  let line = [];
  let asked = 0;

  function drawPicture() {
    const many = names.length > 2;
    if (view.mode === "parallel" && many) {
      if (scatter) scatter.close();
      scatter = null;
      parallel(chartPlace, front, view.chosen, view.pins, choose);
      return;
    }
    if (view.mode === "table") {
      if (scatter) scatter.close();
      scatter = null;
      replace(chartPlace, pointTable());
      return;
    }
    if (!scatter) scatter = new Scatter(chartPlace, { onpick: choose });
    const x = names.indexOf(view.x), y = names.indexOf(view.y);
    const knee = (mark) => (mark.label.includes("knee") ? "knee" : "");
    scatter.draw({
      points: front.values.map((row, id) => ({ id, x: row[x], y: row[y] })),
      cloud: view.cloud === false ? [] : front.cloud.map((row) => [row[x], row[y]]),
      marks: front.marks.map((mark) => ({ ...mark, kind: knee(mark) })),
      pins: pinned(),
      names: [view.x, view.y],
      betters: [objective(view.x).better, objective(view.y).better],
      logs: [logged("x"), logged("y")],
      higher: objective(view.x).better === "higher",
      line,
      chosen: view.chosen,
    });
  }

  const pinned = () => view.pins.map((id, place) => ({ id, label: "AB"[place] })).filter((pin) => pin.id !== null);

  function markPicture() {
    if (scatter) scatter.mark(view.chosen, pinned());
    else drawPicture();
  }

  function pointTable() {
    const marks = new Map(front.marks.map((mark) => [mark.id, mark.label]));
    const step = Math.max(1, Math.ceil(front.values.length / 400));
    const rows = front.values.map((row, id) => ({ row, id })).filter(({ id }) => id % step === 0 || marks.has(id) || id === view.chosen);
    return h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Points of the front" },
      h("table", {}, h("thead", {}, h("tr", {}, ["", ...names, "suppressed", ""].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, rows.map(({ row, id }) => h("tr", { class: id === view.chosen ? "on" : "" },
          h("td", {}, h("button", { type: "button", class: "small second", "aria-label": `Choose point ${id}`, onclick: () => choose(id) }, id)),
          row.map((value) => h("td", { class: "num" }, number(value))), h("td", { class: "num" }, number(front.suppressed[id])), h("td", {}, marks.get(id) || ""))))));
  }

  async function loadPair() {
    const pair = names.length > 1 && view.x !== view.y ? await api.get(`/pair?x=${encodeURIComponent(view.x)}&y=${encodeURIComponent(view.y)}`) : { ids: [] };
    line = pair.ids;
    drawPicture();
  }

  function drawControls() {
    const axis = (which, label) => select(label, names, view[which], async (value) => {
      page.remember({ [which]: value, [`log${which}`]: null });
      drawControls();
      await loadPair();
    }, { id: `axis-${which}` });
    const log = (which) => h("label", { class: "tick" }, h("input", { type: "checkbox", checked: logged(which), disabled: !objective(view[which]).logs, onchange: (event) => {
      page.remember({ [`log${which}`]: event.target.checked });
      drawPicture();
    } }), `log ${which}`);
    const modes = [["scatter", "Picture"], ...(names.length > 2 ? [["parallel", "Parallel"]] : []), ["table", "Table"]];
    const mode = view.mode || "scatter";
    replace(controls,
      h("div", { class: "tabs", role: "group", "aria-label": "How the front is shown" }, modes.map(([name, text]) =>
        h("button", { type: "button", class: "tab", "aria-pressed": String(mode === name), onclick: () => { page.remember({ mode: name }); drawControls(); drawPicture(); } }, text))),
      mode === "scatter" ? [axis("x", "across"), log("x"), axis("y", "up"), log("y"),
        h("label", { class: "tick" }, h("input", { type: "checkbox", checked: view.cloud !== false, onchange: (event) => { page.remember({ cloud: event.target.checked }); drawPicture(); } }), `beaten recodings (${number(front.cloud.length)})`)] : null);
  }

  function drawSliders() {
    const wishes = { ...(view.wishes || {}) };
    const made = front.objectives.map((each) => {
      const column = names.indexOf(each.name);
      const log = each.log && each.low > 0;
      const to = (value) => (log ? Math.log(value) : value);
      const from = (value) => (log ? Math.exp(value) : value);
      const value = wishes[each.name] ?? front.values[view.chosen][column];
      const shown = h("output", {}, number(value));
      const input = h("input", { type: "range", min: to(each.low), max: to(each.high), step: "any", "data-wish": each.name, "aria-label": `Wish for ${each.name}`, "aria-valuetext": number(value),
        oninput: (event) => {
          let now = from(Number(event.target.value));
          if (Number.isInteger(each.low) && Number.isInteger(each.high) && each.privacy) now = Math.round(now);
          wishes[each.name] = Math.min(each.high, Math.max(each.low, now));
          shown.textContent = number(wishes[each.name]);
          event.target.setAttribute("aria-valuetext", number(wishes[each.name]));
          wish(wishes);
        } });
      input.value = to(value);
      return h("label", { class: "slider" }, h("span", {}, h("strong", {}, each.name), each.better === "higher" ? " at least" : " about"), input, shown);
    });
    replace(sliders, h("h3", {}, "What would you like?"), h("p", { class: "quiet" }, "The nearest point of the finished front is chosen while you move; nothing is searched anew."), made,
      h("div", { class: "row" }, front.marks.map((mark) => h("button", { type: "button", class: "small second", onclick: () => choose(mark.id) }, mark.label))), h("p", { class: "quiet", id: "wish-note", role: "status" }));
  }

  async function wish(wishes) {
    const mine = ++asked;
    const began = performance.now();
    try {
      const { id } = await api.post("/prefer", wishes);
      if (mine !== asked) return;
      document.getElementById("wish-note").textContent = "";
      page.remember({ wishes });
      choose(id, true);
      sliders.dataset.took = String(Math.round(performance.now() - began));
    } catch (error) {
      if (mine === asked && document.getElementById("wish-note")) document.getElementById("wish-note").textContent = error.message;
    }
  }

  let later = null;
  function choose(id, wished = false) {
    if (!wished) { view.wishes = {}; }
    page.remember({ chosen: id });
    markPicture();
    if (!wished) drawSliders();
    headline();
    clearTimeout(later);
    later = setTimeout(loadDetail, wished ? 250 : 60);
  }

  // The buttons stay when the choice moves, so that the focus does not get lost.
  const body = h("div", {}, h("p", { class: "quiet" }, "Loading …"));
  const head = h("div", { class: "headline", id: "headline" });
  function headline() {
    const row = front.values[view.chosen];
    const mark = front.marks.find((each) => each.id === view.chosen);
    const suppressed = front.suppressed[view.chosen];
    replace(head,
      h("p", { class: "big" }, front.objectives.map((each, column) => h("span", {}, h("span", { class: "quiet" }, each.name), " ", h("strong", {}, number(row[column])))), mark ? h("span", { class: "tag" }, mark.label) : null),
      h("p", { class: "quiet" }, `Point ${view.chosen} of ${front.values.length - 1}; ${number(suppressed)} of ${number(front.rows)} rows suppressed (${percent(suppressed / front.rows)}).`),
      prices());
  }

  function prices() {
    const found = [];
    for (const [loss, rows] of Object.entries(front.prices)) {
      const here = rows.find((row) => row.id === view.chosen);
      if (!here) continue;
      const share = here[loss] ? ` (${here.cost >= 0 ? "+" : ""}${percent(here.cost / here[loss])})` : "";
      found.push(h("p", { class: "price" }, h("strong", {}, here.step === 1 ? "One more k " : `One more k (the next step is ${number(here.step)}) `), `costs ${number(here.price)} ${loss}`,
        here.step === 1 ? share : `, ${number(here.cost)} for the step${share}`, "."));
    }
    return found;
  }

  async function loadDetail() {
    const id = view.chosen;
    try {
      const about = await api.get(`/points/${id}`);
      if (id !== view.chosen) return;
      replace(body, detail(page, front, about));
      say(`Point ${id}: ${front.objectives.map((each, column) => `${each.name} ${number(front.values[id][column])}`).join(", ")}`);
    } catch (error) {
      replace(body, h("p", { class: "bad" }, error.message));
    }
  }

  function actions() {
    const pin = (place) => h("button", { type: "button", class: "second small", onclick: () => {
      const pins = [...view.pins];
      pins[place] = view.chosen;
      page.remember({ pins });
      markPicture();
      drawCompare();
    } }, `Pin as ${"AB"[place]}`);
    return h("div", { class: "row" }, pin(0), pin(1), h("a", { class: "button small", href: "#release" }, "Release this point"));
  }

  async function drawCompare() {
    await compare(page, front, comparePlace, drawCompare);
  }

  drawControls();
  drawSliders();
  headline();
  replace(detailPlace, head, actions(), body);
  const proof = h("p", { class: "lead" }, front.complete ? h("span", { class: "tag good-tag" }, "complete") : h("span", { class: "tag" }, "may miss points"), " ", front.sentence);
  const built = h("div", {}, h("div", { class: "title" }, h("h1", {}, `${number(front.values.length)} trade-offs`)), proof, page.staleNote(),
    h("div", { class: "split explore" }, h("div", {}, h("section", { class: "card", "aria-label": "The front" }, controls, chartPlace, sliders), comparePlace), detailPlace));
  const again = () => { if (view.mode === "parallel") drawPicture(); };
  window.addEventListener("resize", again);
  page.leave = () => { window.removeEventListener("resize", again); if (scatter) scatter.close(); };
  requestAnimationFrame(() => { loadPair().catch(() => drawPicture()); loadDetail(); drawCompare(); });
  return built;
}
