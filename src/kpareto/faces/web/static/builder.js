// Bring or build a hierarchy: intervals, parts, rounding, prefixes, dates, the alphabet, a file, another column;
// what would come of it is shown before it is taken.

import * as api from "/static/api.js";
import { h, number, replace, say, select } from "/static/dom.js";

const numbers = (text) =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);

// kind -> [name, fields [key, label, default by profile], rule]
const KINDS = {
  intervals: [
    "Intervals of equal width",
    [
      ["widths", "Widths, narrow ones first", (about) => widths(about)],
      ["from", "Counted from", () => "0"],
      ["top", "One group from here on (empty: none)", () => ""],
    ],
    (v) => ({
      intervals: numbers(v.widths),
      from: Number(v.from || 0),
      ...(v.top === "" ? {} : { top_code: Number(v.top) }),
    }),
  ],
  quantiles: [
    "Parts with equally many rows",
    [["parts", "Numbers of parts, each divides the one before", () => "8, 4, 2"]],
    (v) => ({ quantiles: numbers(v.parts) }),
  ],
  round: [
    "Rounded numbers",
    [["steps", "Rounded to, finest first", (about) => widths(about)]],
    (v) => ({ round: numbers(v.steps) }),
  ],
  prefix: [
    "First letters of codes",
    [["keep", "Letters that are kept, most first", (about) => prefixes(about)]],
    (v) => ({ prefix: numbers(v.keep) }),
  ],
  suffix: [
    "Last letters of codes",
    [["keep", "Letters that are kept, most first", (about) => prefixes(about)]],
    (v) => ({ prefix: numbers(v.keep), stars: "left" }),
  ],
  mask: [
    "Letters starred from the end",
    [["stars", "Letters that are starred", () => "1, 2, 3"]],
    (v) => ({ mask: numbers(v.stars) }),
  ],
  dates: [
    "Dates by calendar",
    [["units", "Units, fine to coarse", () => "month, quarter, year, decade"]],
    (v) => ({ dates: v.units.split(/[\s,;]+/).filter(Boolean) }),
  ],
  alphabet: [
    "Ranges of the alphabet",
    [["parts", "Numbers of ranges, each divides the one before", () => "8, 4, 2"]],
    (v) => ({ alphabet: numbers(v.parts) }),
  ],
  flat: ["Values, or nothing", [], () => ({ flat: true })],
};

function widths(about) {
  const span = (about.high ?? 100) - (about.low ?? 0) || 10;
  const power = 10 ** Math.floor(Math.log10(span / 10));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= span / 16) || power;
  return [step, 2 * step, 4 * step].map((each) => Number(each.toPrecision(6))).join(", ");
}

function prefixes(about) {
  const longest = about.longest || 5;
  return [longest - 1, longest - 2, longest - 3, 1]
    .filter((each, place, all) => each > 0 && all.indexOf(each) === place)
    .join(", ");
}

const first = (about) =>
  ({ "whole number": "intervals", number: "intervals", date: "dates" })[about.kind] ||
  (about.coded ? "prefix" : "alphabet");

export function builder(page, column, take) {
  const about = page.profile.columns.find((each) => each.name === column) || {};
  const others = Object.keys(page.draft.columns).filter(
    (name) => name !== column && page.draft.columns[name].role === "quasi-identifier",
  );
  let kind = first(about);
  const place = h("div", { class: "builder" });
  const fields = h("div", { class: "row" });
  const preview = h("div", { role: "status" });
  let later = null,
    asked = 0;
  const values = () =>
    Object.fromEntries([...fields.querySelectorAll("input")].map((input) => [input.dataset.field, input.value.trim()]));
  const rule = () => KINDS[kind][2](values());
  const look = async () => {
    const mine = ++asked;
    try {
      const view = await api.post("/hierarchy/preview", { column, rule: rule() });
      if (mine === asked) replace(preview, drawn(view));
    } catch (error) {
      if (mine === asked) replace(preview, h("p", { class: "bad" }, error.message));
    }
  };
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(look, 250);
  };
  const drawFields = () => {
    replace(
      fields,
      KINDS[kind][1].map(([key, label, standard]) =>
        h(
          "label",
          { class: "field" },
          h("span", {}, label),
          h("input", {
            type: "text",
            "data-field": key,
            id: `build-${key}`,
            value: standard(about),
            oninput: soon,
            spellcheck: "false",
          }),
        ),
      ),
    );
    look();
  };
  const use = async (form, done) => {
    const answer = await page.attempt(() => api.post("/hierarchy/use", { column, ...form }));
    if (answer) {
      say(done);
      take(answer);
    }
  };
  const file = h("input", {
    type: "file",
    id: "hierarchy-file",
    class: "unseen",
    accept: ".csv,.tsv,.txt,.json",
    onchange: (event) => {
      bring(event.target.files[0], use);
      event.target.value = "";
    },
  });
  const folder = h("span", {});
  api
    .get("/hierarchy/files")
    .then(({ files }) => {
      const own = files.filter((name) => name !== page.draft.data.source);
      replace(
        folder,
        own.length
          ? select(
              "A file of the folder",
              [["", "choose …"], ...own],
              "",
              (name) => {
                if (name) use({ file: name }, `The groups of ${name} are taken.`);
              },
              { id: "hierarchy-folder" },
            )
          : null,
      );
    })
    .catch(() => {});
  replace(
    place,
    h(
      "div",
      { class: "row" },
      select(
        "Build it from",
        Object.entries(KINDS).map(([name, [title]]) => [name, title]),
        kind,
        (value) => {
          kind = value;
          drawFields();
        },
        { id: "build-kind" },
      ),
    ),
    fields,
    preview,
    h(
      "div",
      { class: "row" },
      h(
        "button",
        {
          type: "button",
          class: "small",
          id: "use-hierarchy",
          onclick: () => use({ rule: rule() }, "The hierarchy is taken."),
        },
        "Use this",
      ),
    ),
    h(
      "div",
      { class: "row" },
      file,
      h("label", { for: "hierarchy-file", class: "button second small" }, "Bring a file (ARX, CSV, JSON)"),
      folder,
      others.length
        ? select(
            "Copy from",
            [["", "another column …"], ...others],
            "",
            (name) => {
              if (name) use({ copy: name }, `The hierarchy of ${name} is taken.`);
            },
            { id: "hierarchy-copy" },
          )
        : null,
    ),
    h(
      "p",
      { class: "quiet" },
      "A file can also be dropped on the tree: one line per value, the value first, then its groups from fine to coarse.",
    ),
  );
  drawFields();
  return place;
}

// A file is sent as it is, so that its letters are found out where every other file's are.
export async function bring(file, use) {
  if (!file) return;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  await use({ content: btoa(text) }, `The groups of ${file.name} are taken.`);
}

function drawn(view) {
  const shown = view.levels.map((level) => {
    const groups = level.groups
      .slice(0, 8)
      .map((group) => group[2])
      .join(", ");
    const title = level.level === 0 ? "values" : level.level === view.height ? "all" : `level ${level.level}`;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, title),
      h("td", { class: "num" }, number(level.count)),
      h("td", {}, groups, level.count > 8 ? " …" : ""),
    );
  });
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "What would come of it" },
    h("table", { class: "preview" }, h("caption", {}, "What would come of it"), h("tbody", {}, shown)),
  );
}
