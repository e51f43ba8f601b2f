// How the table is recoded: one question, three ways in plain words, and the algorithms of the papers under Research.

import * as api from "/static/api.js";
import { h, inRow, numberField, replace, select, ticked } from "/static/dom.js";
import { research } from "/static/research.js";

const WAYS = [
  {
    method: "exact",
    title: "Whole columns",
    mark: "complete",
    does: "A column is shown in the same steps throughout: all ages in fives, or all in tens.",
    proves: "Run to its end, it proves that no better recoding of this kind is missing.",
    costs: "Detail: a few rare values make their whole column coarser.",
    opens: "Least: labels never overlap, and later rows can be recoded in the same way.",
  },
  {
    method: "nsga2",
    title: "Mixed levels",
    mark: "in between",
    does: "A column may be fine in one part and coarse in another: ages below 40 in fives, above in twenties.",
    proves: "Nothing is proven complete: a better recoding may be missing.",
    costs: "Steps of different widths in one column, which statistics must allow for.",
    opens: "Where the steps change tells a little about the rows. Later rows can be recoded in the same way.",
  },
  {
    method: "local",
    title: "Class by class",
    mark: "keeps most",
    does: "Every class of rows has labels of its own: an age may read 30-34 in one row and 20-39 in another.",
    proves: "Where it can, for each k, how far it is from the best of its kind.",
    costs: "Labels overlap, so counts of one column need care; later rows cannot be recoded in the same way.",
    opens: "Most: whoever knows how it was made can conclude more. Warning W18 says how much.",
  },
];
// The algorithms by the papers that have them.
const METHODS = {
  exact: "exact: whole columns, by branch and bound",
  poka: "POkA, repaired (Dewri, Ray, Ray and Whitley, CIKM 2009)",
  "poka-literal": "POkA as printed (Dewri, Ray, Ray and Whitley, CIKM 2009)",
  "pbg-ea": "PBG-EA with a box archive (Dewri, Ray, Ray and Whitley, DBSEC 2010)",
  datafly: "Datafly: one recoding that meets the limits (Sweeney)",
  samarati: "Samarati: one recoding of the least height that meets the limits",
  genitor: "GENITOR over mixed levels",
  "genitor-iyengar": "GENITOR with the settings of Iyengar, KDD 2002",
  "genitor-lunacek": "GENITOR with the settings of Lunacek, Whitley and Ray, GECCO 2006",
  nsga2: "NSGA-II over mixed levels; wishes as in Dewri, Whitley, Ray and Ray, GECCO 2009",
  recut: "recutting column by column, for one loss and a given k",
  flip: "mixed levels, one step changed at a time",
  improve: "recutting where it can, else one step changed at a time",
  local: "class by class",
};
const SPACES = {
  lattice: "whole columns",
  cuts: "mixed levels of the tree",
  order: "mixed levels, any intervals",
  local: "labels by class",
};

const wayOf = (method) => WAYS.find((way) => way.method === method);
export const wayName = (method) => (wayOf(method) ? wayOf(method).title.toLowerCase() : method);

export function ways(page, send, redraw) {
  const { draft } = page;
  const { search } = draft;
  const settings = page.about.settings[search.method];
  const take = (method) => {
    if (method === search.method) return;
    search.method = method;
    if (!page.about.methods[method].includes(search.space)) search.space = page.about.methods[method][0];
    // What the other search does not take would be refused.
    for (const key of Object.keys(search)) if (!page.about.settings[method].includes(key)) delete search[key];
    send();
    redraw();
  };
  const typed = (key, label, more = {}) =>
    numberField(label, { min: 1, value: search[key] ?? "", ...more }, (text) => {
      search[key] = text === "" ? null : Number(text);
      send();
    });
  return [
    question(page, take, redraw),
    h(
      "fieldset",
      {},
      h("legend", {}, "Method"),
      h(
        "div",
        { class: "ways" },
        WAYS.map((way) => card(way, search.method, take)),
      ),
      settings.includes("seconds")
        ? inRow(
            typed("seconds", "Seconds it may take (empty: until it is done)", { id: "seconds" }),
            settings.includes("prove") ? proof(search, send) : null,
          )
        : null,
      h(
        "details",
        {
          id: "research",
          open: page.view.research || !wayOf(search.method),
          ontoggle: (event) => page.remember({ research: event.target.open }),
        },
        h("summary", {}, "Research: the algorithms of the papers and their settings"),
        inRow(
          select(
            "Algorithm",
            Object.keys(page.about.methods).map((name) => [name, METHODS[name] || name]),
            search.method,
            { id: "method" },
            take,
          ),
          select(
            "Recodings",
            page.about.methods[search.method].map((name) => [name, SPACES[name]]),
            search.space,
            {},
            (value) => {
              search.space = value;
              send();
            },
          ),
          settings.includes("budget")
            ? typed("budget", "Recodings it may try (empty: the algorithm’s own)", { id: "budget" })
            : null,
          search.method === "exact" ? null : typed("seed", "Seed of its chance", { min: 0, value: search.seed ?? 1 }),
        ),
        research(page),
      ),
    ),
  ];
}

// A longer proof, which begins when all answers are there.
function proof(search, send) {
  const words = "a longer proof of how near the best it is, after the answers";
  return ticked(words, { id: "prove", checked: search.prove === true }, (on) => {
    if (on) search.prove = true;
    else delete search.prove;
    send();
  });
}

// How far off counts are by either way, measured behind the view on a sample, once for what a search would go by.
const measured = { of: null, place: null };

function inUse({ draft }) {
  const { data, columns, suppression, limits, population, search } = draft;
  const of = JSON.stringify([data, columns, suppression, limits, population, search.objectives]);
  if (measured.of === of) return measured.place;
  api.stopWork(/\/models\/use$/);
  const place = h("p", { class: "quiet", role: "status", id: "models-in-use" }, "Measuring both; you can go on …");
  Object.assign(measured, { of, place });
  api.post("/models/use").then(
    ({ use }) => replace(place, use ? use.sentence : ""),
    () => {
      replace(place, ""); // a job that cannot run is told where it is changed
      if (measured.place === place) measured.of = null;
    },
  );
  return place;
}

// The one question that chooses the way; the job stays as it is until somebody answers.
function question(page, take, redraw) {
  const { draft } = page;
  const barred = draft.data.person
    ? "this table tells persons apart"
    : (draft.population || {}).source
      ? "a table of the population is given"
      : "";
  const answer = page.view.later;
  const answers = [
    ["yes", "Yes, later rows too", "Whole columns are taken: later rows can be recoded by the same rule."],
    [
      "no",
      "No, only these rows",
      barred
        ? `Class by class would keep most, but is not possible here: ${barred}.`
        : "Class by class is recommended and taken: it keeps most. Read what it opens.",
    ],
  ];
  return h(
    "fieldset",
    {},
    h("legend", {}, "Will rows that come later have to be recoded in the same way?"),
    inRow(
      answers.map(([value, words]) =>
        h(
          "label",
          { class: "chip" },
          h("input", {
            type: "radio",
            name: "later",
            value,
            checked: answer === value,
            onchange: () => {
              page.remember({ later: value });
              if (value === "yes") take("exact");
              else if (!barred) take("local");
              redraw();
            },
          }),
          h("span", {}, words),
        ),
      ),
    ),
    h(
      "p",
      { class: "quiet", role: "status", id: "later-words" },
      (answers.find(([value]) => value === answer) || [])[2],
    ),
    answer === "no" && !barred ? inUse(page) : null,
  );
}

function card(way, method, take) {
  const line = (word, text) => [h("dt", {}, word), h("dd", {}, text)];
  return h(
    "label",
    { class: "chip way" },
    h("input", {
      type: "radio",
      name: "way",
      value: way.method,
      checked: way.method === method,
      "aria-describedby": `way-${way.method}`,
      "aria-label": `${way.title}: ${way.mark}`,
      onchange: () => take(way.method),
    }),
    h(
      "span",
      {},
      h("strong", {}, way.title),
      h("span", { class: "tag" }, way.mark),
      h(
        "span",
        { id: `way-${way.method}` },
        h("span", { class: "does" }, way.does),
        h("dl", {}, line("Proves", way.proves), line("Costs", way.costs), line("Opens", way.opens)),
      ),
    ),
  );
}
