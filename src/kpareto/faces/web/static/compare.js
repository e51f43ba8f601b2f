// Two pinned points side by side, and who gains or loses by group when B is taken instead of A.

import * as api from "/static/api.js";
import { h, handsOff, number, percent, replace, select } from "/static/dom.js";
import { spell } from "/static/plain.js";

const WHAT = [
  ["class-size", "size of the class"],
  ["breach-probability", "probability of being recognised"],
  ["row-loss", "information lost per row"],
];

export async function compare(page, front, place, redraw) {
  const view = page.view;
  const [a, b] = view.pins;
  const mine = (place.dataset.asked = String(Number(place.dataset.asked || 0) + 1)); // a comparison that was asked for later stays
  if (a === null || b === null) {
    replace(
      place,
      h("h2", { id: "compare-title" }, "Compare two points"),
      h("p", { class: "quiet" }, "Choose a point and pin it as A, choose another and pin it as B."),
    );
    return;
  }
  const by = front.groups.includes(view.by) ? view.by : front.groups.includes("sex") ? "sex" : front.groups[0];
  const what = view.what || "class-size";
  let comparison;
  try {
    comparison = await api.get(`/compare?a=${a}&b=${b}&by=${encodeURIComponent(by)}&what=${what}`);
    await handsOff();
    if (place.dataset.asked !== mine) return;
  } catch (error) {
    if (place.dataset.asked === mine)
      replace(place, h("h2", { id: "compare-title" }, "Compare two points"), h("p", { class: "bad" }, error.message));
    return;
  }
  const [one, two] = comparison.points;
  const cells = (name, x, y) =>
    h(
      "tr",
      { class: x !== y ? "differs" : "" },
      h("th", { scope: "row" }, name),
      h("td", { class: "num" }, x),
      h("td", { class: "num" }, y),
    );
  const line = (name, x, y) => cells(name, number(x), number(y));
  const level = (value) => (typeof value === "number" ? `level ${value}` : value);
  const text = (name, x, y) => cells(name, level(x), level(y));
  const bar = (share, kind, label) => {
    const inner = h("span", { class: kind });
    inner.style.width = `${share * 100}%`;
    return h("span", { class: "gain-bar", role: "img", "aria-label": label }, inner);
  };
  replace(
    place,
    h(
      "div",
      { class: "title" },
      h("h2", { id: "compare-title" }, "A and B side by side"),
      h(
        "button",
        {
          type: "button",
          class: "small second",
          onclick: () => {
            page.remember({ pins: [null, null] });
            redraw();
            page.redraw();
          },
        },
        "Clear pins",
      ),
    ),
    h(
      "div",
      { class: "split even" },
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of A and B" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td", {}),
              h("th", { scope: "col", class: "num" }, `A (point ${one.id})`),
              h("th", { scope: "col", class: "num" }, `B (point ${two.id})`),
            ),
          ),
          h(
            "tbody",
            {},
            front.objectives.map((each) =>
              cells(
                [each.label, " ", h("span", { class: "formula" }, each.name)],
                spell(each, one.values[each.name]),
                spell(each, two.values[each.name]),
              ),
            ),
            front.objectives.some((each) => each.name === "suppressed")
              ? null
              : line("rows suppressed", one.suppressed, two.suppressed),
            line("classes", one.classes, two.classes),
            Object.keys(one.recoding).map((name) => text(name, one.recoding[name], two.recoding[name])),
          ),
        ),
      ),
      h(
        "div",
        {},
        h(
          "div",
          { class: "row" },
          select(
            "By the groups of",
            front.groups,
            by,
            (value) => {
              page.remember({ by: value });
              redraw();
            },
            { id: "compare-by" },
          ),
          select(
            "By",
            WHAT,
            what,
            (value) => {
              page.remember({ what: value });
              redraw();
            },
            { id: "compare-what" },
          ),
        ),
        h(
          "p",
          {},
          "With B instead of A ",
          h("strong", { class: "gains" }, `${percent(comparison.gain / comparison.rows)} gain`),
          ", ",
          h("strong", { class: "loses" }, `${percent(comparison.lose / comparison.rows)} lose`),
          ", ",
          `${percent(1 - (comparison.gain + comparison.lose) / comparison.rows)} stay the same.`,
        ),
        h(
          "div",
          { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Who gains and who loses" },
          h(
            "table",
            { class: "gains-table" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, comparison.level ? `${by}, level ${comparison.level}` : by),
                h("th", { scope: "col", class: "num" }, "rows"),
                ["gain", "lose"].map((each) => h("th", { scope: "col" }, each)),
              ),
            ),
            h(
              "tbody",
              {},
              comparison.groups.map((each) =>
                h(
                  "tr",
                  {},
                  h("th", { scope: "row" }, each.group),
                  h("td", { class: "num" }, number(each.rows)),
                  h(
                    "td",
                    {},
                    bar(each.gain / each.rows, "gain", `${percent(each.gain / each.rows)} gain`),
                    h("span", { class: "why" }, percent(each.gain / each.rows)),
                  ),
                  h(
                    "td",
                    {},
                    bar(each.lose / each.rows, "lose", `${percent(each.lose / each.rows)} lose`),
                    h("span", { class: "why" }, percent(each.lose / each.rows)),
                  ),
                ),
              ),
            ),
          ),
        ),
        comparison.left ? h("p", { class: "quiet" }, `${comparison.left} smaller groups are not shown.`) : null,
      ),
    ),
  );
}
