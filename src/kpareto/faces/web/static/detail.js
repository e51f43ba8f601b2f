// One point in all detail: the cut of each column on its hierarchy, class sizes, risk, loss, rows before and after.

import * as api from "/static/api.js";
import { warningItem } from "/static/plain.js";
import {
  add,
  colName,
  drawing,
  fillFrom,
  h,
  list,
  makeButton,
  meter,
  num,
  number,
  numName,
  percent,
  plainTable,
  quiet,
  replace,
  rowName,
  s,
  scroll,
  several,
  tableOf,
  td,
  tr,
} from "/static/dom.js";
import { contingencyPart, cut, distributionPart, riskPart } from "/static/spread.js";

export const USE = /\/points\/\d+\/(use|attack)$/; // what is stopped when another point is chosen
const opened = new Map(); // which parts are open; they stay so when another point is chosen

export function detail(page, front, about) {
  return [
    part("Warnings", "Those of its release: the rows are recoded for a trial.", () => warnings(about.id), true),
    part(
      "Recoding",
      about.columns.some((column) => column.by_class)
        ? "What each column shows; the coloured labels are released, each in some classes."
        : "What each column shows; the coloured level is released.",
      () => about.columns.map(column),
    ),
    part(
      "Class sizes",
      `${several(about.classes, "class", "classes")}; how many rows are in classes of which size.`,
      () => sizes(about.sizes),
    ),
    part("Risk", "How likely a person is recognised by one who knows the quasi-identifiers.", () => risks(about.risks)),
    part("Attacks on people", "How often somebody is singled out, linked or inferred about.", () => attacks(about.id)),
    part("Rows and cells at risk", "", () => riskPart(about), true),
    part("Detail kept per column", "The share of a cell that is kept, suppressed rows counted as lost.", () =>
      losses(about.columns),
    ),
    part("Columns before and after", "How many rows have which value.", () => distributionPart(page, about), true),
    front.groups.length > 1
      ? part(
          "Two columns together",
          "How many rows have which pair of values.",
          () => contingencyPart(page, front, about),
          true,
        )
      : null,
    part("What an analyst still gets", "Measured for this point, before anything is released.", () => use(about.id)),
    part(
      "Marked points in use",
      "How far off counts are from each, and recodings with the same k from which more can be counted.",
      () => marked(front),
      true,
    ),
    part("Rows before and after", about.sample.note, () => sample(about.sample)),
    about.tree ? part("Decision tree", "How well the target can still be learned.", () => tree(about)) : null,
  ];
}

// The trial is kept, so that Release has its checks at once.
function warnings(id) {
  const place = h("div", { role: "status" }, quiet("Recoding the rows for a trial …"));
  fillFrom(place, async () => {
    const trial = await api.post(`/points/${id}/check`);
    return h(
      "ul",
      { class: "warnings" },
      trial.warnings.map((warning) => warningItem(warning)),
    );
  });
  return place;
}

// Measured behind the view, for the chosen point alone.
function use(id) {
  const place = h("div", { role: "status", id: "use" }, quiet("Measuring; you can go on …"));
  api.post(`/points/${id}/use`).then(
    (answer) => {
      replace(place, list(answer.sentences));
      place.after(
        ...answer.tables.map((table) => plainTable(table)),
        relations(answer.relations),
        quiet(answer.method),
      );
    },
    (error) => replace(place, quiet(error.message)),
  );
  return place;
}

// Measured once for a front, when somebody opens it.
const measured = new WeakMap();

function marked(front) {
  if (measured.has(front)) return measured.get(front);
  api.stopWork(/\/marks$/); // of another front
  const place = h("div", { role: "status", id: "marked" }, quiet("Measuring; you can go on …"));
  measured.set(front, place);
  api.post("/marks").then(
    ({ table, sentences }) =>
      replace(place, table ? [plainTable(table), list(sentences)] : quiet("Nothing can be said.")),
    (error) => {
      measured.delete(front);
      replace(place, quiet(error.message));
    },
  );
  return place;
}

// Tried when somebody asks for it: rates on the release, on the control and on the raw table.
function attacks(id) {
  const outcome = h("div", { role: "status" });
  const tables = h("div", {});
  let trying = false;
  const attack = async () => {
    if (trying) return;
    trying = true;
    replace(outcome, "Trying attacks; you can go on …");
    try {
      const answer = await api.post(`/points/${id}/attack`);
      replace(outcome, list(answer.sentences));
      replace(
        tables,
        answer.tables.map((table) => plainTable(table)),
        answer.remarks.map((remark) => quiet(remark)),
      );
    } catch (error) {
      replace(outcome, h("span", { class: error.stopped ? "quiet" : "bad" }, error.message));
    }
    trying = false;
  };
  const button = makeButton("Try attacks on people", { class: "second small", "data-key": "attack" }, attack);
  return h("div", { id: "attacks" }, button, outcome, tables);
}

// A square for each two columns, the darker the more of their relation is left.
function relations({ names, shares }) {
  if (names.length < 2) return "";
  const cell = (share, pair) => {
    const whole = share === null ? "" : Math.round(100 * Math.min(share, 1));
    const square = h(
      "td",
      { class: "num heat", title: `${pair}: ${share === null ? "related by no more than chance" : percent(share)}` },
      whole,
    );
    square.style.setProperty("--share", String(whole * 0.32));
    return square;
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Relations between columns that are left" },
    tableOf(
      { class: "heat-table", id: "relations" },
      [
        td(),
        names
          .slice(0, -1)
          .map((name, at) => h("th", { scope: "col", class: "num", title: name, "aria-label": name }, at + 1)),
      ],
      names.map((name, at) =>
        tr(
          h("th", { scope: "row", title: name }, `${at + 1} ${cut(name, 22)}`),
          shares[at].map((share, other) => cell(share, `${names[other]} and ${name}`)),
        ),
      ),
      "How much of the relation between two columns is left, in percent",
    ),
    quiet("A square without a number: no relation beyond chance, or neither column is recoded."),
  );
}

// What is closed is not worked out before somebody opens it.
function part(title, words, make, closed = false) {
  const open = opened.has(title) ? opened.get(title) : !closed;
  const body = h("div", {}, open ? make() : null);
  const box = h(
    "details",
    { open },
    // Remembered at the click: the event "toggle" comes later, and the panel may be drawn anew in between.
    h("summary", { "data-key": `part-${title}`, onclick: () => opened.set(title, !box.open) }, h("h3", {}, title)),
    words ? quiet(words) : null,
    body,
  );
  box.addEventListener("toggle", () => {
    if (box.open && !body.childNodes.length) add(body, [make()]);
  });
  return box;
}

function column(about) {
  const width = 460,
    high = 13,
    gap = 2;
  // Labels by class say all: beneath them the hierarchy would draw the same values again.
  const bands = about.bands.filter((band) => band.chosen || !about.by_class).reverse();
  const total = about.leaves;
  const svg = drawing(
    "bands",
    width,
    bands.length * (high + gap),
    `${about.name}: ${about.by_class ? `${about.groups} labels by class` : about.level === null ? `${about.groups} groups` : `level ${about.level} of ${about.height}`}, ${about.groups} groups of ${about.leaves} values`,
    { preserveAspectRatio: "none" },
  );
  bands.forEach((band, place) => {
    const y = place * (high + gap);
    const runs = band.runs.length ? band.runs : [[0, total - 1, ""]];
    for (const [first, last, label] of runs) {
      const x = (first / total) * width,
        wide = ((last - first + 1) / total) * width;
      svg.append(
        s(
          "rect",
          {
            class: band.chosen ? "band chosen" : "band",
            x: x + 0.5,
            y,
            width: Math.max(0.6, wide - 1),
            height: high,
            rx: 2,
          },
          s("title", {}, label),
        ),
      );
      if (wide > label.length * 6.2 + 6 && label)
        svg.append(
          s("text", { class: band.chosen ? "on" : "", x: x + wide / 2, y: y + 10, "text-anchor": "middle" }, label),
        );
    }
  });
  const where = about.by_class
    ? `${number(about.groups)} labels, which differ from class to class`
    : about.level === null
      ? `${number(about.groups)} groups of ${number(about.leaves)} values`
      : `level ${about.level} of ${about.height}: ${number(about.groups)} of ${number(about.leaves)} values`;
  const shown = about.codes
    .slice(0, 6)
    .map((code) => code.label)
    .join(", ");
  return h(
    "div",
    { class: "column" },
    h("p", {}, h("strong", {}, about.name), " ", h("span", { class: "quiet" }, where)),
    svg,
    h("p", { class: "quiet clip" }, shown === "*" ? "hidden" : shown, about.codes.length > 6 ? " …" : ""),
  );
}

function sizes(bars) {
  const most = Math.max(1, ...bars.map((bar) => bar.rows));
  const width = 460,
    height = 130,
    bottom = 26;
  const step = width / Math.max(1, bars.length);
  const svg = drawing(
    "bars",
    width,
    height,
    "Histogram of class sizes: " +
      bars
        .map(
          (bar) =>
            `${bar.low} to ${bar.high}: ${several(bar.classes, "class", "classes")}, ${several(bar.rows, "row")}${bar.suppressed ? ", suppressed" : ""}`,
        )
        .join("; "),
  );
  bars.forEach((bar, place) => {
    const high = (bar.rows / most) * (height - bottom - 18);
    const x = place * step;
    const span =
      bar.low === bar.high
        ? `${bar.low}`
        : bar.low >= 1000
          ? `${number(Math.round(bar.low / 100) / 10)}k+`
          : `${bar.low}–${bar.high}`;
    svg.append(
      s(
        "rect",
        {
          class: bar.suppressed ? "bar gone" : "bar",
          x: x + 2,
          y: height - bottom - high,
          width: Math.max(1, step - 4),
          height: Math.max(1, high),
          rx: 2,
        },
        s("title", {}, `${several(bar.classes, "class", "classes")}, ${several(bar.rows, "row")}`),
      ),
      s(
        "text",
        { x: x + step / 2, y: height - bottom - high - 4, "text-anchor": "middle" },
        step > 30 ? number(bar.rows) : "",
      ),
      s("text", { x: x + step / 2, y: height - 10, "text-anchor": "middle" }, step > 34 || place % 2 === 0 ? span : ""),
    );
  });
  const gone = bars.some((bar) => bar.suppressed);
  return [
    svg,
    gone
      ? quiet(
          h("span", { class: "key gone", "aria-hidden": "true" }),
          " suppressed ",
          h("span", { class: "key", "aria-hidden": "true" }),
          " released; numbers are rows",
        )
      : null,
  ];
}

function risks(attacks) {
  const rows = attacks.filter((attack) => attack.after.mean !== null || attack.after.highest !== null);
  return tableOf(
    { class: "risks" },
    [td(), ["before", "after"].map((each) => numName(each))],
    rows.flatMap((each) => [
      each.after.highest === null
        ? null
        : tr(rowName(`highest, ${each.attacker}`), num(percent(each.before.highest)), num(percent(each.after.highest))),
      tr(rowName(`mean, ${each.attacker}`), num(percent(each.before.mean, 2)), num(percent(each.after.mean, 2))),
      ...each.after.above.map(([border, , share], place) =>
        tr(
          rowName(`rows above 1/${Math.round(1 / border)}`),
          num(percent(each.before.above[place] ? each.before.above[place][2] : null)),
          num(percent(share)),
        ),
      ),
    ]),
  );
}

function losses(columns) {
  const line = ({ name, loss, kept_loss: released }) => {
    const kept = 1 - (loss ?? released);
    return tr(rowName(name), td(meter(kept, `${percent(kept)} kept`)), num(percent(kept)));
  };
  return tableOf({ class: "losses" }, null, columns.map(line));
}

function sample(example) {
  const body = example.rows.map((row) => [
    row.before
      ? h(
          "tr",
          { class: "before" },
          rowName("before"),
          row.before.map((cell) => td(cell)),
        )
      : null,
    h(
      "tr",
      { class: row.suppressed ? "after gone" : "after" },
      rowName(row.suppressed ? "suppressed" : "after"),
      row.after.map((cell, place) =>
        h("td", { class: row.before && cell !== row.before[place] ? "changed" : "" }, row.suppressed ? "" : cell),
      ),
    ),
  ]);
  return scroll(
    "Rows before and after",
    tableOf({ class: "sample" }, [td(), example.columns.map((name) => colName(name))], body),
  );
}

function tree(about) {
  const place = h("p", { role: "status" });
  const button = makeButton("Measure the decision-tree error", { class: "second small" }, async () => {
    button.disabled = true;
    replace(place, "Growing trees …");
    try {
      const answer = await api.post(`/points/${about.id}/tree`);
      replace(place, answer.sentence);
    } catch (error) {
      replace(place, h("span", { class: "bad" }, error.message));
    }
    button.disabled = false;
  });
  return h("div", {}, button, place);
}
