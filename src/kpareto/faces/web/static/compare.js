// Two pinned points side by side, and who gains or loses by group when B is taken instead of A.

import * as api from "/static/api.js";
import {
  bad,
  colName,
  fillFrom,
  formula,
  h,
  inRow,
  makeButton,
  num,
  number,
  numName,
  percent,
  quiet,
  rowName,
  scroll,
  select,
  stretch,
  tableOf,
  td,
  tr,
  why,
} from "/static/dom.js";
import { spell } from "/static/plain.js";

const WHAT = [
  ["class-size", "size of the class"],
  ["breach-probability", "probability of being recognised"],
  ["row-loss", "information lost per row"],
];

export async function compare(page, front, place, redraw) {
  const view = page.view;
  const [a, b] = view.pins;
  const title = (words) => h("h2", { id: "compare-title" }, words);
  if (a === null || b === null) {
    const words = "Choose a point and pin it as A, choose another and pin it as B.";
    await fillFrom(place, async () => [title("Compare two points"), quiet(words)]);
    return;
  }
  const by = front.groups.includes(view.by) ? view.by : front.groups.includes("sex") ? "sex" : front.groups[0];
  const what = view.what || "class-size";
  const work = async () => {
    const comparison = await api.get(`/compare?a=${a}&b=${b}&by=${encodeURIComponent(by)}&what=${what}`);
    return [
      h(
        "div",
        { class: "title" },
        title("A and B side by side"),
        makeButton("Clear pins", { class: "small second" }, () => {
          page.remember({ pins: [null, null] });
          redraw();
          page.redraw();
        }),
      ),
      h("div", { class: "split even" }, numbersOf(front, comparison.points), changesBy(comparison)),
    ];
  };
  const changesBy = (comparison) => {
    const box = (key, label, options, now) =>
      select(label, options, now, { id: `compare-${key}` }, (value) => {
        page.remember({ [key]: value });
        redraw();
      });
    return h(
      "div",
      {},
      inRow(box("by", "By the groups of", front.groups, by), box("what", "By", WHAT, what)),
      gains(comparison, by),
    );
  };
  await fillFrom(place, work, (error) => [title("Compare two points"), bad(error.message)]);
}

function numbersOf(front, [one, two]) {
  const cells = (name, x, y) => h("tr", { class: x !== y ? "differs" : "" }, rowName(name), num(x), num(y));
  const line = (name, x, y) => cells(name, number(x), number(y));
  const level = (value) => (typeof value === "number" ? `level ${value}` : value);
  return scroll(
    "Numbers of A and B",
    tableOf(
      {},
      [td(), numName(`A (point ${one.id})`), numName(`B (point ${two.id})`)],
      [
        front.objectives.map((objective) =>
          cells(
            [objective.label, " ", formula(objective.name)],
            spell(objective, one.values[objective.name]),
            spell(objective, two.values[objective.name]),
          ),
        ),
        front.objectives.some((objective) => objective.name === "suppressed")
          ? null
          : line("rows suppressed", one.suppressed, two.suppressed),
        line("classes", one.classes, two.classes),
        Object.keys(one.recoding).map((name) => cells(name, level(one.recoding[name]), level(two.recoding[name]))),
      ],
    ),
  );
}

function gains({ rows, gain, lose, groups, level, left }, by) {
  const cell = (group, kind) => {
    const words = percent(group[kind] / group.rows);
    const bar = h(
      "span",
      { class: "gain-bar", role: "img", "aria-label": `${words} ${kind}` },
      stretch(group[kind] / group.rows, { class: kind }),
    );
    return td(bar, why(words));
  };
  return [
    h(
      "p",
      {},
      "With B instead of A ",
      h("strong", { class: "gains" }, `${percent(gain / rows)} gain`),
      ", ",
      h("strong", { class: "loses" }, `${percent(lose / rows)} lose`),
      ", ",
      `${percent(1 - (gain + lose) / rows)} stay the same.`,
    ),
    scroll(
      "Who gains and who loses",
      tableOf(
        { class: "gains-table" },
        [colName(level ? `${by}, level ${level}` : by), numName("rows"), colName("gain"), colName("lose")],
        groups.map((group) =>
          tr(rowName(group.group), num(number(group.rows)), cell(group, "gain"), cell(group, "lose")),
        ),
      ),
      "scroll tall",
    ),
    left ? quiet(`${left} smaller groups are not shown.`) : null,
  ];
}
