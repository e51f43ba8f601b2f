// A look at the table: its first rows, what a column holds, what the roles mean for the rows.

import * as api from "/static/api.js";
import {
  colName,
  drawing,
  fillFrom,
  h,
  handsOff,
  inRow,
  list,
  makeButton,
  num,
  number,
  numberField,
  numName,
  percent,
  plainTable,
  quiet,
  replace,
  rowName,
  s,
  scroll,
  select,
  several,
  stretch,
  tableOf,
  td,
  titled,
  tr,
} from "/static/dom.js";

const ROWS = 10;

// The first rows as they stand in the table; further ones by leafing.
export function rowsCard(page, encodings) {
  const place = h("div", {}, quiet("Loading …"));
  const show = (start) =>
    fillFrom(place, async () => {
      const slice = await api.get(`/table/rows?start=${start}&count=${ROWS}`);
      const last = Math.min(slice.total, slice.start + slice.rows.length);
      const turn = (to, text) => {
        const disabled = to < 0 || to >= slice.total;
        return makeButton(text, { class: "small second", "data-key": `rows-${text}`, disabled }, () => show(to));
      };
      return [
        scroll(
          "Rows of the table",
          tableOf(
            { class: "sample first-rows" },
            [numName("row"), slice.columns.map((name) => colName(name))],
            slice.rows.map((row, at) =>
              tr(
                h("th", { scope: "row", class: "num" }, number(slice.start + at + 1)),
                row.map((cell) => (cell === null ? h("td", { class: "quiet" }, "–") : td(cell))),
              ),
            ),
          ),
        ),
        inRow(
          h("span", { class: "quiet" }, `Rows ${number(slice.start + 1)} to ${number(last)} of ${number(slice.total)}`),
          turn(start - ROWS < 0 && start > 0 ? 0 : start - ROWS, "Previous"),
          turn(start + ROWS, "Next"),
        ),
      ];
    });
  show(0);
  return h(
    "section",
    { class: "card", "aria-labelledby": "rows-look" },
    h(
      "details",
      { open: page.view.rowsClosed !== true, ontoggle: (event) => page.remember({ rowsClosed: !event.target.open }) },
      h("summary", { "data-key": "rows-look" }, h("h2", { id: "rows-look" }, "The rows")),
      formRow(page, encodings),
      place,
    ),
  );
}

const SEPARATORS = [
  ["", "detected"],
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "bar"],
];
const HEADERS = [
  ["", "detected"],
  ["true", "has the names of the columns"],
  ["false", "is a row"],
];
const DECIMALS = [
  ["", "a point"],
  [",", "a comma"],
];

// How the file was read, and how it could be read otherwise; what the library cannot be told is not offered.
export function formRow(page, encodings) {
  const place = h("div", { class: "row form-row", id: "form-row" });
  const { data } = page.draft;
  const change = async (key, value) => {
    const state = await page.attempt(
      () => api.post("/table/form", { [key]: value === "" ? null : value }),
      "Reading the file again …",
    );
    if (state) {
      page.front = null;
      page.take(state);
    }
    page.redraw();
  };
  page.facts
    .then(async ({ form_keys: keys }) => {
      const has = (key, box) => (keys.includes(key) ? box() : null);
      if (!keys.length) return;
      await handsOff();
      replace(
        place,
        has("encoding", () =>
          select(
            "Letters are written in",
            encodings.some(([name]) => name === (data.encoding || "utf-8")) ? encodings : [...encodings, data.encoding],
            data.encoding || "utf-8",
            { id: "form-encoding" },
            (value) => change("encoding", value),
          ),
        ),
        has("separator", () =>
          select(
            "Cells are separated by",
            SEPARATORS,
            data.separator || "",
            {
              id: "form-separator",
            },
            (value) => change("separator", value),
          ),
        ),
        has("header", () =>
          select(
            "The first line",
            HEADERS,
            data.header === undefined ? "" : String(data.header),
            { id: "form-header" },
            (value) => change("header", value === "" ? "" : value === "true"),
          ),
        ),
        has("decimal", () =>
          select("Decimals come after", DECIMALS, data.decimal === "," ? "," : "", { id: "form-decimal" }, (value) =>
            change("decimal", value),
          ),
        ),
        has("skip", () =>
          numberField("Lines above the table", { id: "form-skip", min: 0, step: 1, value: data.skip ?? 0 }, (text) =>
            change("skip", Number(text) || ""),
          ),
        ),
        quiet("If the file is read differently, roles and hierarchies are proposed again."),
      );
    })
    .catch(() => {});
  return place;
}

// How anonymous the table is before anything is done to it; counted when somebody asks, for it reads all rows.
export function measureCard(page) {
  const place = h("div", { id: "measured", role: "status" });
  const button = makeButton("Measure", { class: "second", id: "measure-now" }, async () => {
    button.disabled = true;
    const measurement = await page.attempt(() => api.post("/table/measure", {}), "Measuring …");
    button.disabled = false;
    if (document.activeElement === document.body) button.focus({ preventScroll: true }); // else somebody has gone on
    if (measurement) replace(place, measured(measurement));
  });
  return titled(
    "measure-title",
    "How anonymous is the table as it is?",
    quiet("By the roles above, before anything is recoded: who could be singled out, and by which columns."),
    button,
    place,
  );
}

function measured(measurement) {
  const size = ({ from, to }) =>
    to === null ? `${number(from)} or more` : from === to ? number(from) : `${number(from)} to ${number(to)}`;
  const counted = (label, caption, head, rows) =>
    plainTable({ caption, head, rows, right: [1, 2] }, label, "scroll tall");
  return [
    list(measurement.sentences),
    h(
      "div",
      { class: "cards" },
      counted(
        "Rows by the size of their class",
        "Rows that look alike",
        ["In a class of", "rows", "share"],
        measurement.classes.map((band) => [size(band), number(band.rows), percent(band.rows / measurement.rows)]),
      ),
      counted(
        "Rows that a column singles out",
        "What each column gives away",
        ["Column", "alone by it", "alone without it"],
        measurement.columns.map((column) => [column.columns.join(", "), number(column.unique), number(column.without)]),
      ),
    ),
  ];
}

// The sentences above everything: they follow the roles. Counting goes on behind the hand: a change that comes meanwhile
// is counted after it, and only what is true of the last one is shown.
export function factsLine(page) {
  const { profile } = page;
  const size = [
    h("strong", {}, number(profile.rows)),
    " rows, ",
    h("strong", {}, profile.columns.length),
    " columns. ",
  ];
  const line = h("p", { class: "lead", id: "facts", role: "status" }, size);
  let running = false;
  let again = false;
  const count = async () => {
    again = true;
    line.setAttribute("aria-busy", "true");
    if (running) return;
    running = true;
    while (again) {
      again = false;
      page.facts = api.get("/table/facts");
      let words;
      try {
        words = factWords(page, await page.facts);
      } catch (error) {
        words = h("span", { class: "bad" }, error.message);
      }
      await handsOff();
      if (!again) replace(line, size, words);
    }
    running = false;
    line.removeAttribute("aria-busy");
  };
  page.countAgain = count;
  count();
  return line;
}

function factWords(page, facts) {
  const fate = {
    drop: "and will be left out",
    category: "and having none counts as a value of its own",
    error: "so the search will be refused",
  }[facts.policy];
  const whose =
    page.draft.data.source === "adult"
      ? " (as in the papers)"
      : " (kpareto’s choice: left out if they are at most 5 % of the rows, else kept)";
  return [
    facts.unique === null
      ? "No column is a quasi-identifier yet. "
      : [
          h("strong", {}, percent(facts.unique / facts.rows)),
          ` of the rows are unique on the ${several(facts.columns.length, "quasi-identifier")}. `,
        ],
    facts.lacking
      ? [
          h(
            "strong",
            { class: facts.policy === "category" ? "" : "bad" },
            `${several(facts.lacking, "row")} (${percent(facts.lacking / facts.rows)})`,
          ),
          ` ${facts.lacking === 1 ? "lacks" : "lack"} a value in a quasi-identifier, a sensitive column or a target, ${fate}${facts.named ? "" : whose}.`,
        ]
      : "No row lacks a value in a quasi-identifier, a sensitive column or a target.",
    facts.remarks.map((remark) => [" ", remark]),
  ];
}

// Bars of a column: numbers in rising order, or its commonest values.
export function columnPicture(name) {
  const place = h("div", { class: "column-look" }, quiet("Loading …"));
  fillFrom(place, async () => {
    const column = await api.get(`/table/column?column=${encodeURIComponent(name)}`);
    const words = [
      several(column.distinct, "value"),
      column.missing ? `${several(column.missing, "row")} without one` : "",
      column.others ? `${several(column.others, "row")} with further values` : "",
    ];
    const drawn = column.ordered && column.bars.length > 12 ? columns : rows;
    return [column.bars.length ? drawn(column) : null, quiet(words.filter(Boolean).join(", "), ".")];
  });
  return place;
}

function columns(column) {
  const width = 460,
    height = 120,
    bottom = 22;
  const most = Math.max(1, ...column.bars.map(([, rows]) => rows));
  const step = width / column.bars.length;
  const svg = drawing(
    "bars",
    width,
    height,
    `${column.name}: ${column.bars.map(([label, rows]) => `${label}: ${rows}`).join("; ")}`,
  );
  column.bars.forEach(([label, rows], place) => {
    const high = (rows / most) * (height - bottom - 6);
    svg.append(
      s(
        "rect",
        { class: "bar", x: place * step + 0.5, y: height - bottom - high, width: Math.max(1, step - 1), height: high },
        s("title", {}, `${label}: ${several(rows, "row")}`),
      ),
    );
  });
  const ends = [
    [0, "start", 2],
    [column.bars.length - 1, "end", width - 2],
  ];
  ends.forEach(([at, anchor, x]) =>
    svg.append(s("text", { x, y: height - 7, "text-anchor": anchor }, column.bars[at][0])),
  );
  return svg;
}

function rows(column) {
  const most = Math.max(1, ...column.bars.map(([, count]) => count));
  return scroll(
    `Values of ${column.name}`,
    tableOf(
      { class: "value-bars" },
      null,
      column.bars.map(([label, count]) =>
        tr(
          rowName(label === "" ? "(empty)" : label),
          td(h("span", { class: "meter wide-meter", "aria-hidden": "true" }, stretch(count / most))),
          num(number(count)),
        ),
      ),
    ),
    "scroll bars-scroll",
  );
}
