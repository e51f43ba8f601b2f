// The front as a table: every point, sorted by any column, filtered by any objective, saved as CSV or JSON.

import * as api from "/static/api.js";
import {
  colName,
  formula,
  h,
  inRow,
  labelled,
  makeButton,
  num,
  number,
  say,
  scroll,
  tableOf,
  td,
} from "/static/dom.js";
import { better, drawn, saveFile, spell, unit } from "/static/plain.js";

const PAGE = 100; // rows that are drawn at once

// The points that the filter leaves out.
export function hiddenPoints(front, filter) {
  const hidden = new Set();
  front.objectives.forEach((objective, column) => {
    const own = (filter || {})[objective.name];
    if (!own) return;
    const [low, high] = own;
    front.values.forEach((row, id) => {
      const value = drawn(objective, row[column]);
      const slack = 1e-9 * Math.max(1, Math.abs(value));
      if ((low !== null && value < low - slack) || (high !== null && value > high + slack)) hidden.add(id);
    });
  });
  return hidden;
}

// Fields from and to for each objective, in the unit that is shown.
export function filterPanel(page, front, onchange) {
  const filter = page.view.filter || {};
  const change = (name, place, text) => {
    const own = [...((page.view.filter || {})[name] || [null, null])];
    own[place] = text === "" ? null : Number(text);
    const next = { ...page.view.filter, [name]: own };
    if (own[0] === null && own[1] === null) delete next[name];
    page.remember({ filter: next });
    onchange();
  };
  const left = front.values.length - hiddenPoints(front, filter).size;
  const active = Object.keys(filter).length > 0;
  const panel = h(
    "details",
    {
      class: "filter",
      open: Boolean(page.view.filtering),
      ontoggle: (event) => page.remember({ filtering: event.target.open }),
    },
    h(
      "summary",
      { "data-key": "filter" },
      "Filter",
      active ? h("span", { class: "tag" }, `${number(left)} of ${number(front.values.length)} trade-offs`) : null,
    ),
    front.objectives.map((objective) =>
      h(
        "div",
        { class: "row filter-row" },
        h("span", { class: "filter-name" }, objective.label, " ", formula(objective.name)),
        ["from", "to"].map((word, place) =>
          labelled(
            word + unit(objective),
            h("input", {
              type: "number",
              step: "any",
              id: `filter-${word}-${objective.name}`,
              "aria-label": `${objective.label} (${objective.name}) ${word}`,
              value: rounded((filter[objective.name] || [])[place] ?? ""),
              onchange: (event) => change(objective.name, place, event.target.value),
            }),
            "field narrow",
          ),
        ),
      ),
    ),
    active
      ? h(
          "p",
          {},
          makeButton("Show all again", { class: "small second", "data-key": "no-filter" }, () => {
            page.remember({ filter: {} });
            onchange();
          }),
        )
      : null,
  );
  return panel;
}

const rounded = (value) => (value === "" ? "" : Number(Number(value).toPrecision(6)));

export function pointTable(page, front, hidden, choose, redraw) {
  const { view } = page;
  const marks = new Map(front.marks.map((mark) => [mark.id, mark.label]));
  const twice = front.objectives.some((objective) => objective.name === "suppressed");
  const columns = [
    { key: "id", title: "point", value: (id) => id },
    ...front.objectives.map((objective, column) => ({
      key: objective.name,
      title: objective.label,
      formula: objective.name,
      better: better(objective),
      value: (id) => drawn(objective, front.values[id][column]),
      text: (id) => spell(objective, front.values[id][column]),
    })),
    ...(twice
      ? []
      : [
          {
            key: "left-out",
            title: "rows suppressed",
            value: (id) => front.suppressed[id],
            text: (id) => number(front.suppressed[id]),
          },
        ]),
  ];
  const [by, down] = view.sort || ["id", false];
  const sorted = columns.find((column) => column.key === by) || columns[0];
  const ids = front.values.map((_, id) => id).filter((id) => !hidden.has(id));
  ids.sort((a, b) => (down ? -1 : 1) * (sorted.value(a) - sorted.value(b)) || a - b);
  const pages = Math.max(1, Math.ceil(ids.length / PAGE));
  const at = Math.max(0, Math.min(pages - 1, view.tablePage || 0));
  const head = columns.map((column) =>
    h(
      "th",
      {
        scope: "col",
        class: "num",
        "aria-sort": column.key === sorted.key ? (down ? "descending" : "ascending") : "none",
      },
      makeButton(
        [
          column.title,
          column.formula ? formula(column.formula) : null,
          h("span", { "aria-hidden": "true" }, column.key === sorted.key ? (down ? " ▼" : " ▲") : ""),
        ],
        { class: "sorter", "data-key": `sort-${column.key}` },
        () => {
          page.remember({ sort: [column.key, column.key === sorted.key ? !down : false], tablePage: 0 });
          redraw();
        },
      ),
    ),
  );
  const body = ids.slice(at * PAGE, (at + 1) * PAGE).map((id) =>
    h(
      "tr",
      { class: id === view.chosen ? "on" : "" },
      num(
        makeButton(
          id,
          { class: "small second", "aria-label": `Choose point ${id}`, "aria-pressed": String(id === view.chosen) },
          () => choose(id),
        ),
      ),
      columns.slice(1).map((column) => num(column.text(id))),
      td(marks.get(id) || ""),
    ),
  );
  const turn = (to, text) =>
    makeButton(text, { class: "small second", disabled: to < 0 || to >= pages, "data-key": `table-${text}` }, () => {
      page.remember({ tablePage: to });
      redraw();
    });
  return [
    inRow(
      h(
        "p",
        { class: "quiet", id: "table-count" },
        `${number(ids.length)} of ${number(front.values.length)} trade-offs`,
        pages > 1 ? `, ${number(at * PAGE + 1)} to ${number(Math.min(ids.length, (at + 1) * PAGE))} shown` : "",
      ),
      pages > 1 ? [turn(at - 1, "Previous"), turn(at + 1, "Next")] : null,
      makeButton("Save as CSV", { class: "small second" }, () => save(front, ids, "csv")),
      makeButton("Save as JSON", { class: "small second" }, () => save(front, ids, "json")),
    ),
    scroll("Points of the front", tableOf({ class: "points" }, [head, colName("mark")], body), "scroll tall"),
  ];
}

// What is shown, in its order, with the level or the number of groups of each column; numbers as the job counts them.
async function save(front, ids, kind) {
  const { columns, points } = await api.get("/rows-of-front");
  const chosen = ids.map((id) => points[id]);
  const kept = front.objectives.filter((objective) => objective.reading === "kept" && objective.most > 0);
  const places = kept.map((objective) => columns.indexOf(objective.name));
  const names = [...columns, ...kept.map((objective) => `detail kept in percent (${objective.name})`)];
  const rows = chosen.map((row) => [
    ...row,
    ...kept.map((objective, place) => Number((100 * (1 - row[places[place]] / objective.most)).toPrecision(12))),
  ]);
  if (kind === "json") {
    const objectives = front.objectives.map(({ name, label, better: way, unit: counted }) => ({
      name,
      label,
      better: way,
      unit: counted,
    }));
    saveFile(
      "front.json",
      JSON.stringify(
        {
          objectives,
          complete: front.complete,
          points: rows.map((row) => Object.fromEntries(row.map((value, place) => [names[place], value]))),
        },
        null,
        1,
      ),
      "application/json",
    );
  } else {
    const cell = (value) =>
      /[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");
    saveFile("front.csv", [names, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n", "text/csv");
  }
  say(`Saved ${rows.length} points.`);
}
