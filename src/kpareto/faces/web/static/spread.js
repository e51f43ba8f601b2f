// What the recoding does to the table: one column before and after, two columns together, the classes at greatest risk.

import * as api from "/static/api.js";
import {
  afterHands,
  colName,
  drawing,
  fillFrom,
  h,
  inRow,
  num,
  number,
  numName,
  percent,
  quiet,
  replace,
  rowName,
  s,
  scroll,
  select,
  several,
  tableOf,
  td,
  tr,
} from "/static/dom.js";

const asked = (id, path, words) => api.get(`/${path}?${new URLSearchParams({ point: id, ...words })}`);

export function distributionPart(page, about) {
  const names = about.columns.map((column) => column.name);
  const place = h("div", {}, quiet("Loading …"));
  const show = (name) => {
    page.remember({ spread: name });
    fillFrom(place, async () => histogram(await asked(about.id, "distribution", { column: name })));
  };
  const chosen = names.includes(page.view.spread) ? page.view.spread : names[0];
  show(chosen);
  return [select("Column", names, chosen, { id: "spread-column" }, show), place];
}

function histogram(spread) {
  const width = 460,
    height = 150,
    bottom = 24,
    count = spread.labels.length;
  const most = Math.max(1, ...spread.before, ...spread.after);
  const step = width / count;
  const up = (rows) => height - bottom - (rows / most) * (height - bottom - 8);
  const svg = drawing(
    "bars",
    width,
    height,
    `${spread.name} before and after: ${percent(spread.moved)} of the rows would have to change to make the two alike`,
  );
  spread.before.forEach((rows, place) =>
    svg.append(
      s(
        "rect",
        {
          class: "bar gone",
          x: place * step + 0.5,
          y: up(rows),
          width: Math.max(0.8, step - 1),
          height: Math.max(0, height - bottom - up(rows)),
        },
        s(
          "title",
          {},
          `${spread.labels[place]}: ${several(rows, "row")} before, about ${number(Math.round(spread.after[place]))} after`,
        ),
      ),
    ),
  );
  const path = spread.after
    .map((rows, place) => `${place ? "L" : "M"}${place * step} ${up(rows)}L${(place + 1) * step} ${up(rows)}`)
    .join("");
  svg.append(s("path", { class: "after-line", d: path }));
  const shown = [0, Math.floor((count - 1) / 2), count - 1].filter((at, place, all) => all.indexOf(at) === place);
  shown.forEach((at) =>
    svg.append(
      s(
        "text",
        {
          x: at === 0 ? 2 : at === count - 1 ? width - 2 : at * step + step / 2,
          y: height - 8,
          "text-anchor": at === 0 ? "start" : at === count - 1 ? "end" : "middle",
        },
        cut(spread.labels[at], 22),
      ),
    ),
  );
  return [
    svg,
    quiet(
      h("span", { class: "key gone", "aria-hidden": "true" }),
      " before ",
      h("span", { class: "line-key after-key", "aria-hidden": "true" }),
      " after, a group spread evenly over its values. ",
      `${percent(spread.moved)} of the rows would have to change to make the two alike.`,
    ),
    h(
      "p",
      { class: "quiet clip", title: spread.groups.map((group) => group.label).join(", ") },
      "Released: ",
      spread.groups.map((group) => `${group.label} ${number(group.rows)}`).join(", "),
      spread.left ? ` and ${number(spread.left)} more` : "",
    ),
  ];
}

export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function contingencyPart(page, front, about) {
  const names = front.groups;
  const quasi = about.columns.map((column) => column.name);
  if (names.length < 2) return null;
  const place = h("div", {}, quiet("Loading …"));
  const pair =
    page.view.pair && page.view.pair.every((name) => names.includes(name)) && page.view.pair[0] !== page.view.pair[1]
      ? [...page.view.pair]
      : [quasi[0], names.find((name) => name !== quasi[0])];
  const show = () => {
    page.remember({ pair: [...pair] });
    fillFrom(place, async () => heat(await asked(about.id, "contingency", { first: pair[0], second: pair[1] })));
  };
  const change = (at, value) => {
    if (pair[1 - at] === value) pair[1 - at] = pair[at];
    pair[at] = value;
    afterHands(boxes);
    show();
  };
  const row = inRow();
  const boxes = () =>
    replace(
      row,
      ["down", "across"].map((word, at) =>
        select(word, names, pair[at], { id: `pair-${at}` }, (value) => change(at, value)),
      ),
    );
  boxes();
  show();
  return [row, place];
}

function heat(tables) {
  const side = (title, about) => {
    const most = Math.max(1, ...about.counts.flat());
    const cell = (rows) => {
      const entry = h("td", { class: "num heat" }, rows ? number(rows) : "");
      entry.style.setProperty("--share", String(Math.round(32 * Math.sqrt(rows / most))));
      return entry;
    };
    return scroll(
      `${tables.columns.join(" and ")} ${title}`,
      tableOf(
        { class: "heat-table" },
        [td(), about.columns.map((name) => h("th", { scope: "col", class: "num", title: name }, cut(name, 14)))],
        about.counts.map((row, place) =>
          tr(h("th", { scope: "row", title: about.rows[place] }, cut(about.rows[place], 18)), row.map(cell)),
        ),
        `${title}: they go together ${about.cramer === null ? "in no way that can be told: one has a single value" : `by ${percent(about.cramer, 0)} (Cramér's V)`}`,
      ),
    );
  };
  return [side("before", tables.before), side("after", tables.after)];
}

export function riskPart(about) {
  const place = h("div", {}, quiet("Loading …"));
  fillFrom(place, async () => {
    const risk = await asked(about.id, "at-risk", {});
    const columns = [...risk.without].sort((a, b) => b.part - a.part);
    return [
      h(
        "p",
        {},
        `The smallest classes have ${several(risk.least, "row")}: ${several(risk.classes_at_least, "class", "classes")} with ${several(risk.rows_at_least, "row")} together.`,
      ),
      scroll(
        "The smallest classes",
        tableOf(
          { class: "sample" },
          [risk.columns.map((name) => colName(name)), ["rows", "risk"].map((word) => numName(word))],
          risk.classes.map((group) =>
            tr(
              group.labels.map((label) => td(label)),
              num(number(group.size)),
              num(percent(group.risk)),
            ),
          ),
        ),
      ),
      risk.left ? quiet(`${number(risk.left)} larger classes are not shown.`) : null,
      quiet("Which cells give rows away: the classes that somebody sees who does not know one of the columns."),
      scroll(
        "Risk without one column",
        tableOf(
          {},
          [colName("without"), ["smallest class", "mean risk", "part of the risk"].map((word) => numName(word))],
          columns.map((column) =>
            tr(rowName(column.name), num(number(column.k)), num(percent(column.mean, 2)), num(percent(column.part, 0))),
          ),
        ),
      ),
    ];
  });
  return place;
}
