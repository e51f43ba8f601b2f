// Explore: the front as a picture, wishes that move the choice, one point in detail, two points side by side.

import * as api from "/static/api.js";
import {
  afterHands,
  bad,
  formula,
  h,
  handsOff,
  inRow,
  makeButton,
  number,
  percent,
  quiet,
  replace,
  say,
  select,
  ticked,
} from "/static/dom.js";
import { savePicture, Scatter } from "/static/chart.js";
import { parallel } from "/static/parallel.js";
import { detail, USE } from "/static/detail.js";
import { compare } from "/static/compare.js";
import { curvesFor, modelsCard } from "/static/models.js";
import { axisName, better, drawn, isKept, mayLog, sentence, spell, undrawn, unit } from "/static/plain.js";
import { filterPanel, hiddenPoints, pointTable } from "/static/points.js";

export async function exploreView(page) {
  const front = await page.loadFront();
  const names = front.objectives.map((objective) => objective.name);
  const view = page.view;
  // An axis shows an objective, or a measure of use that was taken of every point for it.
  const objective = (name) => [...front.objectives, ...front.axes].find((objective) => objective.name === name);
  const valueOf = (about, id) => (about.values ? about.values[id] : front.values[id][names.indexOf(about.name)]);
  if (!objective(view.x)) view.x = names[0];
  if (!objective(view.y)) view.y = names[1] || names[0];
  if (!(Number.isInteger(view.chosen) && view.chosen >= 0 && view.chosen < front.values.length)) {
    view.chosen = front.recommended;
  }
  view.pins = view.pins && view.pins.length === 2 ? view.pins : [null, null];
  const logged = (axis) => {
    const own = view[`log${axis}`];
    const about = objective(view[axis]);
    return mayLog(about) && (own === undefined || own === null ? about.log : own);
  };

  const chartPlace = h("div", { class: "chart" });
  const detailPlace = h("section", { class: "card detail", id: "detail", "aria-label": "The chosen point" });
  const filterPlace = h("div", {});
  const comparePlace = h("section", { class: "card", id: "compare", "aria-labelledby": "compare-title" });
  const controls = h("div", { class: "row controls" });
  const sliders = h("div", { class: "sliders" });
  let scatter = null;
  let line = [];
  let asked = 0;
  let chosenAxes = 0; // likewise
  let paired = 0; // of two pairs of axes, the line of the later one is drawn

  function drawPicture() {
    const hidden = hiddenPoints(front, view.filter);
    if (view.mode === "parallel" && names.length > 2) {
      if (scatter) scatter.close();
      scatter = null;
      parallel(chartPlace, front, view, {
        hidden,
        pins: pinned(),
        onpick: choose,
        onbrush: (name, ends) => {
          page.remember({ filter: { ...view.filter, [name]: ends } });
          drawFilter();
        },
      });
      return;
    }
    if (view.mode === "table") {
      if (scatter) scatter.close();
      scatter = null;
      replace(chartPlace, pointTable(page, front, hidden, choose, drawPicture));
      return;
    }
    if (!scatter) scatter = new Scatter(chartPlace, { onpick: choose, onzoom: drawZoom });
    const [across, up] = [objective(view.x), objective(view.y)];
    const x = names.indexOf(view.x),
      y = names.indexOf(view.y);
    const cloud = view.cloud === false || x < 0 || y < 0 ? [] : front.cloud; // beaten recodings have objectives alone
    const curves = curvesFor(models.curves(), across, up);
    scatter.draw({
      points: front.values.map((_, id) => ({
        id,
        x: drawn(across, valueOf(across, id)),
        y: drawn(up, valueOf(up, id)),
      })),
      cloud: cloud.map((row) => [drawn(across, row[x]), drawn(up, row[y])]),
      marks: front.marks.map((mark) => ({ ...mark, kind: mark.id === front.recommended ? "recommended" : "" })),
      pins: pinned(),
      names: [axisName(across), axisName(up)],
      betters: [better(across), better(up)],
      logs: [logged("x"), logged("y")],
      higher: better(across) === "higher",
      tell: (id) => sentence(front, id),
      line,
      hidden,
      curves,
      control: drawn(up, up.control),
      chosen: view.chosen,
    });
  }

  function drawFilter() {
    replace(filterPlace, filterPanel(page, front, drawFilter));
    drawPicture();
  }

  const pinned = () => view.pins.map((id, place) => ({ id, label: "AB"[place] })).filter((pin) => pin.id !== null);

  function markPicture() {
    if (scatter) scatter.mark(view.chosen, pinned());
    else drawPicture();
  }

  // Zoom and saving belong to the picture alone.
  const zoomPlace = h("div", { class: "row zoom" });
  function drawZoom() {
    const mode = view.mode || "scatter";
    const button = (text, key, work, off = false) =>
      makeButton(text, { class: "small second", "data-key": key, disabled: off }, work);
    replace(
      zoomPlace,
      mode === "table"
        ? null
        : [
            mode === "scatter"
              ? [
                  button("Zoom in", "zoom-in", () => scatter.zoomBy(1.6)),
                  button("Zoom out", "zoom-out", () => scatter.zoomBy(1 / 1.6), !(scatter && scatter.zoom)),
                  button("Whole picture", "zoom-all", () => scatter.zoomTo(null), !(scatter && scatter.zoom)),
                ]
              : null,
            button("Save picture", "save-picture", () =>
              page.attempt(() => savePicture(chartPlace.querySelector(".plot"), "front.png")),
            ),
            mode === "scatter" ? h("span", { class: "quiet" }, "Draw a rectangle to look closer.") : null,
          ],
    );
  }

  async function loadPair() {
    const mine = ++paired;
    const pair =
      view.x !== view.y
        ? await api.get(`/pair?x=${encodeURIComponent(view.x)}&y=${encodeURIComponent(view.y)}`)
        : { ids: [] };
    await handsOff();
    if (mine !== paired) return;
    line = pair.ids;
    drawPicture();
  }

  async function takeAxis(name) {
    const taken = await page.attempt(() => api.post("/front/axes", { measure: name }));
    if (taken) Object.assign(front, taken);
    return taken !== undefined;
  }

  function drawControls() {
    const axis = (which, label) =>
      select(
        label,
        [...front.objectives, ...front.axes, ...front.offered].map((objective) => [
          objective.name,
          `${objective.label} (${objective.name})`,
        ]),
        view[which],
        { id: `axis-${which}` },
        async (value) => {
          const mine = ++chosenAxes;
          const known = objective(value) || (await takeAxis(value));
          if (mine !== chosenAxes) return;
          if (!known) {
            afterHands(drawControls);
            return;
          }
          const other = which === "x" ? "y" : "x";
          const swap =
            view[other] === value && value !== view[which] ? { [other]: view[which], [`log${other}`]: null } : {};
          page.remember({ [which]: value, [`log${which}`]: null, ...swap });
          if (scatter) scatter.zoom = null;
          afterHands(() => {
            drawZoom();
            drawControls();
          });
          await loadPair();
        },
      );
    const log = (which) =>
      ticked(
        "log",
        {
          checked: logged(which),
          disabled: !mayLog(objective(view[which])),
          "aria-label": `logarithmic axis ${which === "x" ? "across" : "up"}`,
        },
        (on) => {
          page.remember({ [`log${which}`]: on });
          if (scatter) scatter.zoom = null;
          drawPicture();
          drawZoom();
        },
      );
    const modes = [["scatter", "Picture"], ...(names.length > 2 ? [["parallel", "Parallel"]] : []), ["table", "Table"]];
    const mode = view.mode || "scatter";
    replace(
      controls,
      h(
        "div",
        { class: "tabs", role: "group", "aria-label": "How the front is shown" },
        modes.map(([name, text]) =>
          makeButton(text, { class: "tab", "aria-pressed": String(mode === name) }, () => {
            page.remember({ mode: name });
            drawControls();
            drawPicture();
            drawZoom();
          }),
        ),
      ),
      mode === "scatter"
        ? [
            axis("x", "across"),
            log("x"),
            axis("y", "up"),
            log("y"),
            ticked(
              `beaten recodings (${number(front.cloud.length)} drawn)`,
              { checked: view.cloud !== false },
              (on) => {
                page.remember({ cloud: on });
                drawPicture();
              },
            ),
          ]
        : null,
    );
  }

  // Sliders move in the unit that is shown; the server is asked in the unit that is counted.
  function drawSliders() {
    const wishes = { ...view.wishes };
    const sliderRows = front.objectives.map((objective) => {
      const column = names.indexOf(objective.name);
      const ends = [drawn(objective, objective.low), drawn(objective, objective.high)].sort((a, b) => a - b);
      const log = objective.log && mayLog(objective) && ends[0] > 0;
      const to = (value) => (log ? Math.log(value) : value);
      const from = (value) => (log ? Math.exp(value) : value);
      const value = wishes[objective.name] ?? front.values[view.chosen][column];
      const shown = h("output", {}, spell(objective, value));
      const input = h("input", {
        type: "range",
        min: to(ends[0]),
        max: to(ends[1]),
        step: "any",
        "data-wish": objective.name,
        "aria-label": `Wish for ${objective.label} (${objective.name})`,
        "aria-valuetext": spell(objective, value),
        oninput: (event) => {
          let now = Math.min(ends[1], Math.max(ends[0], from(Number(event.target.value))));
          if (Number.isInteger(objective.low) && Number.isInteger(objective.high) && objective.privacy)
            now = Math.round(now);
          wishes[objective.name] = Math.min(objective.high, Math.max(objective.low, undrawn(objective, now)));
          shown.textContent = spell(objective, wishes[objective.name]);
          event.target.setAttribute("aria-valuetext", shown.textContent);
          wish(wishes);
        },
      });
      input.value = to(drawn(objective, value));
      return h(
        "label",
        { class: "slider" },
        h("span", {}, objective.label, isKept(objective) ? ", about" : "", " ", formula(objective.name)),
        input,
        shown,
      );
    });
    replace(
      sliders,
      h("h3", {}, "What would you like?"),
      quiet("The nearest point of the finished front is chosen while you move; nothing is searched anew."),
      sliderRows,
      h(
        "ul",
        { class: "advice", id: "advice" },
        front.advice.map((mark) =>
          h(
            "li",
            {},
            makeButton(mark.label, { class: "small second" }, () => choose(mark.id)),
            h("span", { class: "quiet" }, mark.words),
          ),
        ),
      ),
      h("p", { class: "quiet", id: "wish-note", role: "status" }),
    );
  }

  async function wish(wishes) {
    const mine = ++asked;
    try {
      const { id, searched } = await api.post("/prefer", wishes);
      if (mine !== asked) return;
      replace(document.getElementById("wish-note"), searched ? "" : notSearched(wishes));
      page.remember({ wishes });
      choose(id, true);
      sliders.dataset.answered = "true";
    } catch (error) {
      if (mine === asked && document.getElementById("wish-note"))
        document.getElementById("wish-note").textContent = error.message;
    }
  }

  // A local search is for some k; one between them is searched when somebody wants it.
  const notSearched = (wishes) => [
    `${wishes.k === undefined ? "This" : `k = ${number(wishes.k)}`} was not searched: what is shown is the best of what was. `,
    makeButton("Search it", { class: "small second", id: "search-wish" }, async () => {
      try {
        const { id } = await api.post("/prefer/search", wishes);
        page.front = null;
        page.remember({ chosen: id, pins: [null, null], wishes: {} });
        page.redraw();
      } catch (error) {
        if (!error.stopped) replace(document.getElementById("wish-note"), error.message);
      }
    }),
  ];

  let later = null;
  function choose(id, wished = false) {
    if (!wished) {
      view.wishes = {};
    }
    page.remember({ chosen: id });
    api.stopWork(USE);
    markPicture();
    if (!wished) drawSliders();
    headline();
    clearTimeout(later);
    later = setTimeout(loadDetail, wished ? 250 : 60);
  }

  // The buttons stay when the choice moves, so that the focus does not get lost.
  const body = h("div", {}, quiet("Loading …"));
  const head = h("div", { class: "headline", id: "headline" });
  function headline() {
    const row = front.values[view.chosen];
    const mark = front.marks.find((mark) => mark.id === view.chosen);
    const suppressed = front.suppressed[view.chosen];
    replace(
      head,
      h("h2", { class: "unseen" }, "The chosen point"),
      h(
        "p",
        { class: "big" },
        front.objectives.map((objective, column) =>
          h(
            "span",
            { "data-objective": objective.name },
            h("strong", {}, spell(objective, row[column])),
            " ",
            h("span", { class: "quiet" }, objective.label),
            " ",
            formula(objective.name),
          ),
        ),
        mark ? h("span", { class: "tag" }, mark.label) : null,
      ),
      quiet(
        `Point ${view.chosen} (there are 0 to ${number(front.values.length - 1)}); ${number(suppressed)} of ${number(front.rows)} rows suppressed (${percent(suppressed / front.rows)}).`,
      ),
      prices(),
    );
  }

  // The next step of k, in the words of what is shown.
  function prices() {
    const sentences = [];
    for (const [loss, rows] of Object.entries(front.prices)) {
      const here = rows.find((row) => row.id === view.chosen);
      const about = objective(loss);
      if (!here) continue;
      const next = here[loss] + here.cost;
      const points = Math.abs(drawn(about, next) - drawn(about, here[loss]));
      const cost = unit(about) ? `${number(points, 2)} percentage points` : number(here.cost);
      sentences.push(
        h(
          "p",
          { class: "price" },
          h("strong", {}, "One more k"),
          ` leads to k = ${number(here.k + here.step)} and costs ${cost} of ${about.label}: ${spell(about, here[loss])} becomes ${spell(about, next)}.`,
        ),
      );
    }
    return sentences;
  }

  async function loadDetail() {
    const id = view.chosen;
    try {
      const about = await api.get(`/points/${id}`);
      await handsOff();
      if (id !== view.chosen) return;
      replace(body, detail(page, front, about));
      say(`Point ${id}: ${sentence(front, id)}`);
    } catch (error) {
      if (id === view.chosen) replace(body, bad(error.message));
    }
  }

  function actions() {
    const pin = (place) =>
      makeButton(`Pin as ${"AB"[place]}`, { class: "second small" }, () => {
        const pins = [...view.pins];
        pins[place] = view.chosen;
        page.remember({ pins });
        markPicture();
        drawCompare();
      });
    return inRow(pin(0), pin(1), h("a", { class: "button small", href: "#release" }, "Release this point"));
  }

  async function drawCompare() {
    await compare(page, front, comparePlace, drawCompare);
  }

  const models = modelsCard(page, () => {
    if (scatter) drawPicture();
  });
  drawControls();
  drawZoom();
  replace(filterPlace, filterPanel(page, front, drawFilter));
  drawSliders();
  headline();
  replace(detailPlace, head, actions(), body);
  const proof = h(
    "p",
    { class: "lead" },
    front.complete ? h("span", { class: "tag good-tag" }, "complete") : h("span", { class: "tag" }, "may miss points"),
    " ",
    front.sentence,
  );
  const built = h(
    "div",
    {},
    h("div", { class: "title" }, h("h1", {}, `${number(front.values.length)} trade-offs`)),
    proof,
    page.staleNote(),
    h(
      "div",
      { class: "split explore" },
      h(
        "div",
        {},
        h(
          "section",
          { class: "card", "aria-labelledby": "front-title" },
          h("h2", { id: "front-title", class: "unseen" }, "The front"),
          controls,
          chartPlace,
          zoomPlace,
          filterPlace,
          sliders,
        ),
        models.place,
        comparePlace,
      ),
      detailPlace,
    ),
  );
  const again = () => {
    if (view.mode === "parallel") drawPicture();
  };
  window.addEventListener("resize", again);
  page.leave = () => {
    asked += 1;
    api.stopWork(USE);
    window.removeEventListener("resize", again);
    models.close();
    if (scatter) scatter.close();
  };
  requestAnimationFrame(() => {
    loadPair().catch(() => drawPicture());
    loadDetail();
    drawCompare();
  });
  return built;
}
