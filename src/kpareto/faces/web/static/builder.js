// Bring or build a hierarchy: intervals, parts, rounding, prefixes, dates, the alphabet, a file, another column;
// what would come of it is shown before it is taken.

import * as api from "/static/api.js";
import {
  fileChoice,
  fillFrom,
  h,
  inRow,
  labelled,
  makeButton,
  num,
  number,
  quiet,
  replace,
  rowName,
  say,
  scroll,
  select,
  tableOf,
  td,
  tr,
} from "/static/dom.js";

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
  const fields = inRow();
  const preview = h("div", { role: "status" });
  let later = null;
  const values = () =>
    Object.fromEntries([...fields.querySelectorAll("input")].map((input) => [input.dataset.field, input.value.trim()]));
  const rule = () => KINDS[kind][2](values());
  const look = () =>
    fillFrom(preview, async () => drawn(await api.post("/hierarchy/preview", { column, rule: rule() })));
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(look, 250);
  };
  const drawFields = () => {
    replace(
      fields,
      KINDS[kind][1].map(([key, label, standard]) =>
        labelled(
          label,
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
  const file = fileChoice("hierarchy-file", ".csv,.tsv,.txt,.json", (chosen) => bring(chosen, use));
  const folder = h("span", {});
  api
    .get("/hierarchy/files")
    .then(({ files }) => {
      const own = files.filter((name) => name !== page.draft.data.source);
      replace(
        folder,
        own.length
          ? select("A file of the folder", [["", "choose …"], ...own], "", { id: "hierarchy-folder" }, (name) => {
              if (name) use({ file: name }, `The groups of ${name} are taken.`);
            })
          : null,
      );
    })
    .catch(() => {});
  replace(
    place,
    inRow(
      select(
        "Build it from",
        Object.entries(KINDS).map(([name, [title]]) => [name, title]),
        kind,
        { id: "build-kind" },
        (value) => {
          kind = value;
          drawFields();
        },
      ),
    ),
    fields,
    preview,
    inRow(
      makeButton("Use this", { class: "small", id: "use-hierarchy" }, () =>
        use({ rule: rule() }, "The hierarchy is taken."),
      ),
    ),
    inRow(
      file,
      h("label", { for: "hierarchy-file", class: "button second small" }, "Bring a file (ARX, CSV, JSON)"),
      folder,
      others.length
        ? select("Copy from", [["", "another column …"], ...others], "", { id: "hierarchy-copy" }, (name) => {
            if (name) use({ copy: name }, `The hierarchy of ${name} is taken.`);
          })
        : null,
    ),
    quiet(
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
    return tr(rowName(title), num(number(level.count)), td(groups, level.count > 8 ? " …" : ""));
  });
  return scroll("What would come of it", tableOf({ class: "preview" }, null, shown, "What would come of it"));
}
