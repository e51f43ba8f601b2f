// Search: what is to be optimized and limited, by which method; start, watch, stop, go on.

import * as api from "/static/api.js";
import {
  afterHands,
  clock,
  formula,
  h,
  inRow,
  makeButton,
  number,
  numberField,
  quiet,
  replace,
  say,
  select,
  several,
  titled,
} from "/static/dom.js";
import { Scatter } from "/static/chart.js";
import { axisName, better, drawn, labelOf, wordsOf } from "/static/plain.js";
import { steps } from "/static/main.js";
import { showRun } from "/static/research.js";
import { runsCard } from "/static/runs.js";
import { ways } from "/static/ways.js";

const RULES = {
  none: "none at all",
  "below-k": "those of classes smaller than the limit on k",
  "cap-max-k": "as many as are allowed, for the highest k (the papers’ rule)",
  "as-needed": "as few as each k and the other limits need",
};
// A share or a whole number of rows; what could be either goes as the text that was typed, so that it is refused in words.
const limitTyped = (text) => (/^\d*$/.test(text) || Number(text) < 1 ? Number(text) : text);

export async function searchView(page) {
  const { draft } = page;
  const search = draft.search;
  const send = async () => Boolean(await page.change(draft));
  const runs = h("div", {}, runsCard(page));
  const box = h(
    "div",
    { class: "split even" },
    settings(page, send),
    watching(page, send, () => {
      if (!runs.contains(document.activeElement)) replace(runs, runsCard(page));
    }),
  );
  return h(
    "div",
    {},
    h(
      "div",
      { class: "title" },
      h("h1", {}, "Search for every trade-off"),
      // Where the two cards stand below each other, the start is far down.
      makeButton("To the start button", { class: "second narrow-only", id: "to-start" }, () => {
        const card = document.getElementById("watch");
        card.scrollIntoView();
        document.querySelector("#start:not([hidden]), #stop:not([hidden])").focus({ preventScroll: true });
      }),
    ),
    h(
      "p",
      { class: "lead" },
      "What should be good at the same time? ",
      h("span", { id: "objective-count" }, counted(search.objectives)),
      "; each point of the front is a recoding that no other beats in all of them.",
    ),
    box,
    runs,
  );
}

const counted = (objectives) => `${objectives.length} ${objectives.length === 1 ? "objective" : "objectives"} now`;

function settings(page, send) {
  const { draft } = page;
  const search = draft.search;
  const place = h("section", { class: "card", "aria-labelledby": "what" });
  const redraw = () => afterHands(() => replace(place, ...parts()));
  const toggle = (name, on) => {
    const now = search.objectives.filter((objective) => objective !== name);
    search.objectives = on ? [...now, name] : now;
    if (search.preference) {
      // a wish is for an objective
      search.preference = Object.fromEntries(
        Object.entries(search.preference).filter(([wished]) => search.objectives.includes(wished)),
      );
      if (on && name !== "k" && !(page.about.measures.find((measure) => measure.name === name) || {}).privacy)
        search.preference[name] = 0.2;
      redraw();
    }
    document.getElementById("objective-count").textContent = counted(search.objectives);
    send();
  };
  const parts = () => {
    const sensitive = Object.values(draft.columns).some((column) => column.role === "sensitive") || draft.data.preset;
    const target = Object.values(draft.columns).some((column) => column.role === "target");
    const { counted, estimated } = page.about.people;
    const population = draft.population || {};
    const about = Object.keys(population).length ? [...(population.source ? counted : []), ...estimated] : []; // what can be said of it
    const known = page.about.measures;
    const offered = known
      .filter((measure) => measure.usual && (!measure.population || about.includes(measure.name)))
      .map((measure) => [measure.name, measure.words]);
    const lacking = [...counted, ...estimated].filter((name) => !about.includes(name));
    const others = search.objectives.filter((name) => !offered.some(([each]) => each === name));
    const why = (name) => {
      const needs = (known.find((measure) => measure.name === name) || {}).column;
      return needs === "sensitive" && !sensitive
        ? "needs a sensitive column"
        : needs === "target" && !target
          ? "needs a target column"
          : "";
    };
    const can = (name) => !why(name);
    const chips = [...offered, ...others.map((name) => [name, ""])].map(([name, what]) =>
      h(
        "label",
        { class: can(name) ? "chip" : "chip off" },
        h("input", {
          type: "checkbox",
          checked: search.objectives.includes(name),
          disabled: !can(name),
          onchange: (event) => toggle(name, event.target.checked),
        }),
        h(
          "span",
          {},
          h("strong", {}, labelOf(page, name)),
          " ",
          formula(name),
          " ",
          h("span", { class: "quiet words" }, what, why(name) ? ` (${why(name)})` : ""),
        ),
      ),
    );
    const more = select(
      "Another measure",
      [
        ["", "choose …"],
        ...known
          .filter(({ name }) => ![...offered.map(([each]) => each), ...others, ...lacking].includes(name))
          .map((measure) => [
            measure.name,
            `${measure.label}: ${measure.words} (${measure.name})${why(measure.name) ? `, ${why(measure.name)}` : ""}`,
          ]),
      ],
      "",
      {},
      async (name) => {
        if (name) {
          search.objectives.push(name);
          await send();
          redraw();
        }
      },
    );
    const limit = (name, label, step) => {
      const attributes = { step, min: step === 1 ? 1 : 0, value: draft.limits[name] ?? "", "data-limit": name };
      return numberField(label, attributes, (text) => {
        if (text === "") delete draft.limits[name];
        else draft.limits[name] = Number(text);
        send();
      });
    };
    const unlimited = ["none", "below-k"]; // rules that know no limit on suppressed rows
    return [
      h("h2", { id: "what" }, "What is wanted"),
      ways(page, send, redraw),
      h("fieldset", {}, h("legend", {}, "Objectives"), h("div", { class: "chips" }, chips), more),
      h(
        "fieldset",
        {},
        h("legend", {}, "Limits (empty: none)"),
        inRow(
          limit("k", "k at least: rows that look alike", 1),
          limit("l", "l at least: sensitive values per class", 1),
          limit("t", "t at most: distance from the whole table", 0.01),
          Object.keys(draft.limits)
            .filter((name) => !["k", "l", "t", "k-map", "journalist-risk"].includes(name))
            .map((name) => limit(name, `limit on ${wordsOf(page, name)}`, "any")),
          about.includes("k-map") ? limit("k-map", wordsOf(page, "k-map"), 1) : null,
          about.includes("journalist-risk")
            ? limit("journalist-risk", `${labelOf(page, "journalist-risk")}, at most (journalist-risk)`, 0.01)
            : null,
        ),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Rows that may be left out"),
        inRow(
          select(
            "Which",
            page.about.rules.map((name) => [name, RULES[name] || name]),
            draft.suppression.rule || "as-needed",
            {},
            (value) => {
              draft.suppression.rule = value;
              if (unlimited.includes(value)) delete draft.suppression.limit;
              send();
              redraw();
            },
          ),
          unlimited.includes(draft.suppression.rule)
            ? null
            : numberField(
                "At most (0.01 is 1 % of the rows, 10 is ten rows)",
                { min: 0, step: "any", value: draft.suppression.limit ?? 0 },
                (text) => {
                  draft.suppression.limit = limitTyped(text);
                  send();
                },
              ),
          select(
            "They are",
            [
              ["drop", "dropped"],
              ["mask", "masked with *"],
            ],
            draft.suppression.rows || "drop",
            {},
            (value) => {
              draft.suppression.rows = value;
              send();
            },
          ),
        ),
      ),
      search.method === "nsga2" ? wishing(page, send, redraw) : null,
    ];
  };
  replace(place, ...parts());
  return place;
}

// Wishes instead of the whole front (GECCO 2009): a k, and how much each loss may be; the search goes where they are nearest met.
function wishing(page, send, redraw) {
  const { search } = page.draft;
  const known = (name) => page.about.measures.find((measure) => measure.name === name) || { words: name };
  const losses = search.objectives.filter((name) => name !== "k" && !known(name).privacy);
  const wish = search.preference;
  const slider = (name, words, low, high, step) => {
    const shown = h("output", { class: "num" }, number(wish[name], 3));
    return h(
      "label",
      { class: "field" },
      h("span", {}, `${words} (${name}) `, shown),
      h("input", {
        type: "range",
        min: low,
        max: high,
        step,
        value: wish[name],
        "data-wish": name,
        oninput: (event) => {
          shown.textContent = number(Number(event.target.value), 3);
        },
        onchange: (event) => {
          search.preference = { ...wish, [name]: Number(event.target.value) };
          send();
          redraw();
        },
      }),
    );
  };
  const turn = (on) => {
    if (on) search.preference = Object.fromEntries([["k", 5], ...losses.map((name) => [name, 0.2])]);
    else delete search.preference;
    send();
    redraw();
  };
  return h(
    "fieldset",
    {},
    h("legend", {}, "Wishes"),
    h(
      "label",
      { class: "chip" },
      h("input", {
        type: "checkbox",
        id: "wishing",
        checked: Boolean(wish),
        onchange: (event) => turn(event.target.checked),
      }),
      h("span", {}, "Search for the recoding that comes nearest to wishes, and the trade-offs beside it"),
    ),
    wish
      ? inRow(
          "k" in wish ? slider("k", "Rows that look alike, at least", 2, Math.max(100, wish.k), 1) : null,
          Object.keys(wish)
            .filter((name) => name !== "k")
            .map((name) => slider(name, known(name).words, 0, Math.max(1, wish[name]), 0.01)),
        )
      : null,
  );
}

// Several recodings may have the same numbers: each is a point, and together they are one trade-off.
const ending = ({ points, different }) =>
  points === different
    ? several(points, "point")
    : `${several(different, "trade-off")}, ${several(points, "point")} (recodings with the same numbers are points of their own)`;

const PHASES = {
  reading: "Reading the rows …",
  preparing: "Preparing the compiled code, once for this machine …",
  looking: "Looking for good recodings to begin with",
  beginning: "Making the table ready and counting the first recodings …",
};
const RUNNING = ["waiting", "reading", "preparing", "looking", "searching"];

function watching(page, send, ended) {
  const words = h("p", { class: "progress-words", id: "progress-words" });
  const kept = h("p", { class: "price", role: "status" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress of the search" });
  const chart = h("div", { class: "chart small-chart" });
  let scatter = null;
  let source = null;
  let closed = false;
  const start = makeButton("Start the search", { id: "start" }, () => begin(false));
  const stop = makeButton("Stop", { id: "stop", class: "second" }, () => {
    stop.disabled = true;
    words.textContent = "Stopping …";
    say("Stopping.");
    page.attempt(() => api.remove("/search"));
  });
  const resume = makeButton("Go on", { id: "resume" }, () => begin(true));
  const next = h("a", { class: "button", id: "to-explore", href: "#explore" }, "Explore the front");
  async function begin(again) {
    if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
    if (!(await send())) return;
    const status = await page.attempt(() => api.post("/search", { resume: again }));
    if (!status) return;
    say("The search has started.");
    const seconds = document.getElementById("seconds");
    if (seconds) seconds.value = page.draft.search.seconds ?? ""; // going on to the end takes the time away
    show(status);
    if (!document.activeElement || document.activeElement === document.body) stop.focus();
    follow();
  }
  function follow() {
    if (source) source.close();
    source = api.watch(
      (status) => {
        if (status) show(status);
      },
      async (broken) => {
        if (closed) return;
        if (broken) {
          words.textContent =
            "The connection is lost. The search goes on where the server runs; this page looks for it.";
          setTimeout(() => {
            if (!closed) follow();
          }, 1000);
          return;
        }
        await finish();
      },
    );
  }
  // The search is over: what it has found is what is explored from now on, if it has found anything.
  async function finish() {
    const state = await page.attempt(() => api.oldSession(page.id));
    if (!state || closed) return;
    if (!state.search) {
      await page.attempt(() => page.refresh());
      return;
    } // the table was opened anew meanwhile
    const before = page.run && page.run.id;
    Object.assign(page, { search: state.search, run: state.run, stale: state.stale, released: state.released });
    const other = page.run && page.run.id !== before;
    if (page.frontMoved()) page.remember({ chosen: null, pins: [], ...(other ? { x: null, y: null } : {}) });
    page.front = null;
    show(state.search);
    showRun(page);
    ended();
  }
  function show(status) {
    page.search = status;
    const running = RUNNING.includes(status.phase) && status.phase !== "waiting";
    const phase = status.phase === "searching" && !status.done && !status.total ? "beginning" : status.phase;
    start.hidden = running;
    stop.hidden = !running;
    if (!running) stop.disabled = false;
    resume.hidden = status.phase !== "stopped" && !status.ran_out;
    resume.textContent = status.ran_out ? "Go on until nothing is missing" : "Go on";
    next.hidden = !page.run;
    start.className = status.phase === "waiting" ? "" : "second";
    if (status.phase === "failed") {
      bar.value = 0;
      words.textContent = "";
    } else if (stop.disabled && running) bar.removeAttribute("value");
    else if (PHASES[phase]) {
      bar.removeAttribute("value");
      words.textContent = [
        PHASES[phase],
        status.looked && status.phase === "looking" ? `${number(status.looked)} recodings` : "",
        status.points && status.phase === "looking" ? `${number(status.different)} trade-offs` : "",
      ]
        .filter(Boolean)
        .join(" · ");
    } else {
      if (!status.total && running) bar.removeAttribute("value");
      else bar.value = status.total ? status.done / status.total : status.phase === "done" ? 1 : 0;
      const rate = status.rate ? `${number(Math.round(status.rate))} per second` : "";
      const left = running && status.remaining !== null ? `${clock(status.remaining)} left` : "";
      words.textContent = [
        status.total
          ? `${number(status.done)} of ${number(status.total)} ${status.unit}`
          : `${number(status.done)} ${status.unit}`,
        rate,
        left,
        several(status.different, "trade-off"),
      ]
        .filter(Boolean)
        .join(" · ");
    }
    const earlier =
      status.phase === "failed" && page.run
        ? quiet("The front of the run before is still there to explore; the picture shows it.")
        : null;
    replace(
      outcome,
      status.sentence
        ? [h("p", { class: status.phase === "failed" ? "bad" : "quiet" }, status.sentence), earlier]
        : status.phase === "done"
          ? h("p", { class: "good" }, `Done in ${number(status.seconds, 3)} s: ${ending(status)}.`)
          : "",
    );
    if (!running && status.phase === "done") say(`The search is done: ${ending(status)}.`);
    if (status.names.length > 1 && status.values.length) {
      const about = (name) => page.about.measures.find((measure) => measure.name === name) || { label: name };
      plot({
        points: status.values.map((row, id) => ({ id, x: row[0], y: row[1] })),
        names: status.names.slice(0, 2).map((name) => `${about(name).label} (${name})`),
        logs: [0, 1].map((c) => about(status.names[c]).logarithmic && status.values.every((row) => row[c] > 0)),
      });
    }
    if (!running && status.phase !== "waiting") drawFront();
    else if (running) replace(proof);
    // What is changed meanwhile would not count: the search has its own copy of the job.
    for (const box of document.querySelectorAll("[aria-labelledby='what'] fieldset")) box.disabled = running;
    replace(
      kept,
      status.phase === "stopped" && page.stale
        ? "The job has changed since: Go on continues with the job as it was, Start the search begins with the new one."
        : "",
    );
    steps();
  }
  function plot(shown) {
    scatter ??= new Scatter(chart, { quiet: true });
    scatter.draw({ cloud: [], marks: [], line: [], ...shown });
  }
  // When it is over, the picture is the front itself, in the words of Explore; a failed search leaves none of its own.
  async function drawFront() {
    let front = null;
    try {
      front = page.run ? await page.loadFront() : null;
    } catch {
      /* Explore says why */
    }
    if (closed || !page.search || RUNNING.includes(page.search.phase)) return;
    if (!front || front.objectives.length < 2) {
      if (scatter) scatter.close();
      scatter = null;
      replace(chart);
      return;
    }
    const [across, up] = front.objectives;
    plot({
      points: front.values.map((row, id) => ({ id, x: drawn(across, row[0]), y: drawn(up, row[1]) })),
      names: [axisName(across), axisName(up)],
      betters: [better(across), better(up)],
      logs: [across, up].map((each) => each.log && each.reading !== "kept"),
    });
    if (page.search.phase === "done")
      replace(
        proof,
        front.sentence,
        front.answer ? h("strong", { id: "wish-answer" }, ` ${front.answer.words}`) : null,
      );
  }
  const proof = h("p", { class: "quiet", id: "search-proof" });
  const outcome = h("div", { role: "status" });
  const status = page.search || {
    phase: "waiting",
    done: 0,
    total: 0,
    unit: "recodings",
    names: [],
    values: [],
    sentence: "",
    version: 0,
    points: 0,
  };
  show(status);
  if (status.phase === "waiting") {
    words.textContent = "Not started yet.";
    stop.hidden = true;
    start.hidden = false;
  }
  if (RUNNING.includes(status.phase) && status.phase !== "waiting") follow();
  page.leave = () => {
    closed = true;
    if (source) source.close();
    if (scatter) scatter.close();
  };
  return titled("watch", "The search", inRow(start, resume, stop, next), kept, bar, words, outcome, proof, chart);
}
