// Data: open a table, give roles, look at hierarchies, save or load the job.

import * as api from "/static/api.js";
import { afterHands, h, number, replace, say, select } from "/static/dom.js";
import { columnsCard, showColumn } from "/static/columns.js";
import { newTable, tableName } from "/static/tables.js";
import { factsLine, measureCard, rowsCard } from "/static/look.js";

const ENCODINGS = [
  ["utf-8", "UTF-8 (usual)"],
  ["latin-1", "Latin-1 (older western files)"],
  ["cp1252", "Windows-1252 (older spreadsheets)"],
  ["utf-16", "UTF-16"],
];
const KNOWLEDGE = [
  ["", "nothing is known of them"],
  ["source", "a table of everybody, a file of this folder"],
  ["sampling", "the share of everybody that is in this table"],
  ["size", "how many everybody are"],
];
const MODELS = {
  auto: "the one that fits the share",
  pitman: "Pitman",
  zayatz: "Zayatz",
  snb: "slide negative binomial",
};

export async function dataView(page) {
  if (page.draft && !page.profile) return lookingAgain(page);
  return page.draft ? table(page) : opening(page, true);
}

// After a restart of the server the job is there at once, and what the columns hold is counted again behind it.
function lookingAgain(page) {
  const name = tableName(page.draft.data.source);
  const told = h(
    "p",
    { class: "lead", role: "status" },
    "The server was started anew, or this table was closed. What its columns hold is being counted again; the other steps can be used meanwhile.",
  );
  const view = h("div", {}, h("h1", {}, name), told);
  page.lookAgain().catch((error) => {
    if (!told.isConnected) return;
    replace(told, h("span", { class: "bad" }, error.message));
    view.append(
      h(
        "p",
        { class: "row" },
        h("button", { type: "button", onclick: () => page.redraw() }, "Try again"),
        newTable("Begin another table"),
      ),
    );
  });
  return view;
}

function opening(page, first) {
  let encoding = "utf-8";
  const took = (state) => {
    if (state) {
      Object.assign(page, { front: null, populationKind: "" });
      page.take(state);
      page.redraw();
    }
  };
  // A text in other letters than the chosen ones is no dead end: one button tries the others.
  const attempt = async (work, busy, again) => {
    replace(retry);
    let remedy = null;
    const state = await page.attempt(work, busy, (error) => {
      remedy = error.remedy;
    });
    if (!state && remedy === "choose-encoding") {
      replace(
        retry,
        h(
          "p",
          {},
          "The letters of this file are written in another way. ",
          ENCODINGS.filter(([name]) => name !== encoding).map(([name, text]) =>
            h(
              "button",
              {
                type: "button",
                class: "small second",
                onclick: () => {
                  encoding = name;
                  letters.querySelector("select").value = name;
                  again();
                },
              },
              `Try as ${text}`,
            ),
          ),
        ),
      );
      retry.querySelector("button").focus();
    }
    return state;
  };
  const retry = h("div", { class: "retry", role: "status" });
  const letters = select(
    "Letters of text files are written in",
    ENCODINGS,
    encoding,
    (value) => {
      encoding = value;
    },
    { id: "encoding" },
  );
  const open = async (name) => {
    took(
      await attempt(
        () => api.post("/open", { name, encoding }),
        `Looking at ${name} …`,
        () => open(name),
      ),
    );
  };
  const take = async (kind, file) => {
    if (!file) return;
    if (file.size > page.about.upload_limit) {
      await page.attempt(async () => {
        throw new Error(
          `${file.name} has ${number(file.size / 2 ** 20)} MB, and at most ${number(page.about.upload_limit / 2 ** 20)} MB can be uploaded. Put it into the working folder and open it from there.`,
        );
      });
      return;
    }
    took(
      await attempt(
        () => api.upload(kind, file, encoding),
        `Looking at ${file.name} …`,
        () => take(kind, file),
      ),
    );
  };
  const input = h("input", {
    type: "file",
    id: "drop-file",
    class: "unseen",
    accept: [...new Set(page.about.data_endings.map((end) => `.${end.split(".").pop()}`)), ".deid"].join(","),
    onchange: (event) => {
      const file = event.target.files[0];
      event.target.value = "";
      take("data", file);
    },
  });
  const zone = h(
    "div",
    {
      class: "drop",
      ondragover: (event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      ondragleave: () => zone.classList.remove("over"),
      ondrop: (event) => {
        event.preventDefault();
        zone.classList.remove("over");
        const file = event.dataTransfer.files[0];
        take(file && file.name.endsWith(".toml") ? "job" : "data", file);
      },
    },
    h("p", {}, "Drop a CSV, Excel, SPSS, Stata, SAS, JSON or Parquet file here, or a project of ARX (.deid)"),
    input,
    h("label", { for: "drop-file", class: "button" }, "Choose a file"),
    h("p", { class: "quiet" }, `It stays on this machine. At most ${number(page.about.upload_limit / 2 ** 20)} MB.`),
  );
  const files = page.about.files;
  const list = (kinds, empty) => {
    const listed = files.filter((file) => kinds.includes(file.kind));
    if (!listed.length) return h("p", { class: "quiet" }, empty);
    return h(
      "ul",
      { class: "files" },
      listed.map((file) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "file", onclick: () => open(file.name) },
            h("span", {}, file.name),
            h("span", { class: "quiet" }, size(file.bytes)),
          ),
        ),
      ),
    );
  };
  const job = h("input", {
    type: "file",
    id: "job-file",
    class: "unseen",
    accept: ".toml",
    onchange: (event) => {
      const file = event.target.files[0];
      event.target.value = "";
      take("job", file);
    },
  });
  return h(
    "div",
    {},
    h(
      "div",
      { class: "title" },
      h("h1", {}, first ? "Which table is to be shared?" : "Open another table"),
      first
        ? null
        : h(
            "button",
            { type: "button", class: "second", id: "back-to-table", onclick: () => page.redraw() },
            `Back to ${page.draft.data.source === "adult" ? "Adult" : page.draft.data.source}`,
          ),
    ),
    first
      ? null
      : h(
          "p",
          {},
          `It takes the place of ${tableName(page.draft.data.source)} in this tab. `,
          newTable("Have both, in two tabs"),
        ),
    page.awaits
      ? h(
          "p",
          { class: "price" },
          `${page.awaits} was dropped on this page and is not kept. Drop it again, and its job is back.`,
        )
      : null,
    h(
      "p",
      { class: "lead" },
      "kpareto looks at the columns, proposes what each one is, and shows every trade-off between privacy and information that the table allows.",
    ),
    h("div", { class: "row letters" }, letters, retry),
    h(
      "div",
      { class: "cards three" },
      h(
        "section",
        { class: "card", "aria-labelledby": "o1" },
        h("h2", { id: "o1" }, `In the folder “${page.about.folder}”`),
        list(["data", "project"], "No table in this folder."),
      ),
      h(
        "section",
        { class: "card", "aria-labelledby": "o2" },
        h("h2", { id: "o2" }, "From elsewhere on this machine"),
        zone,
      ),
      h(
        "section",
        { class: "card", "aria-labelledby": "o3" },
        h("h2", { id: "o3" }, "Go on with a job, or try it out"),
        list(["job"], "No job file in this folder."),
        h("p", {}, job, h("label", { for: "job-file", class: "button second" }, "Load a job file")),
        h(
          "p",
          {},
          h(
            "button",
            { type: "button", class: "second", onclick: () => open("adult") },
            "Try the embedded Adult table",
          ),
        ),
        h("p", { class: "quiet" }, "Or begin with the example job of a paper, on Adult:"),
        h(
          "ul",
          { class: "files" },
          Object.entries(page.about.papers).map(([name, words]) =>
            h(
              "li",
              {},
              h(
                "button",
                { type: "button", class: "file", onclick: () => open(`paper:${name}`) },
                h("span", {}, words),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function size(bytes) {
  return bytes < 1 << 20 ? `${number(Math.ceil(bytes / 1024))} kB` : `${number(bytes / 2 ** 20, 3)} MB`;
}

function table(page) {
  const { draft } = page;
  const panel = h("section", { class: "card", id: "hierarchy", tabindex: "-1", "aria-label": "Hierarchy" });
  const name = h("input", { type: "text", value: "job.toml", id: "job-name", spellcheck: "false" });
  const save = async (overwrite) => {
    replace(status);
    const done = await page.attempt(() => api.post("/job/save", { name: name.value, overwrite }));
    const place = document.getElementById("job-said") || status; // a change that was on its way has drawn the page anew
    if (done && done.exists) {
      replace(
        place,
        h("span", { class: "bad" }, done.sentence),
        " ",
        h("button", { type: "button", class: "small second", id: "overwrite", onclick: () => save(true) }, "Overwrite"),
      );
      document.getElementById("overwrite").focus();
    } else if (done) {
      say(done.sentence);
      replace(place, done.sentence);
    }
  };
  const status = h("p", { class: "good", role: "status", id: "job-said" });
  const view = h(
    "div",
    {},
    h(
      "div",
      { class: "title" },
      h("h1", {}, tableName(draft.data.source)),
      h("a", { class: "button", href: "#search" }, "Next: search"),
    ),
    factsLine(page),
    personsCard(page),
    rowsCard(page, ENCODINGS),
    h("div", { class: "split" }, columnsCard(page, panel), panel),
    measureCard(page),
    h(
      "section",
      { class: "card", "aria-labelledby": "job-title" },
      h("h2", { id: "job-title" }, "The job file"),
      h("p", { class: "quiet" }, "The same file runs on the command line: kpareto front job.toml."),
      h(
        "div",
        { class: "row" },
        h("label", { class: "field" }, h("span", {}, "Name in the working folder"), name),
        h("button", { type: "button", onclick: () => save(false) }, "Save job"),
        h("a", { class: "button second", href: api.link("/job/file"), download: "" }, "Download job"),
        h(
          "button",
          {
            type: "button",
            class: "second",
            onclick: () => {
              replace(document.getElementById("main"), opening(page, false));
              document.getElementById("back-to-table").focus();
              window.scrollTo(0, 0);
            },
          },
          "Open another table",
        ),
      ),
      status,
    ),
    populationCard(page),
    h("p", { class: "foot" }, h("a", { class: "button", href: "#search" }, "Go on to the search")),
  );
  const shown =
    page.view.column && draft.columns[page.view.column]
      ? page.view.column
      : Object.keys(draft.columns).find((each) => draft.columns[each].role === "quasi-identifier");
  if (shown) showColumn(page, shown, panel);
  return view;
}

function personsCard(page) {
  const { profile } = page;
  const { data } = page.draft;
  if (data.source === "adult") return null;
  const change = async (key, value) => {
    await page.change({ ...page.draft, data: { ...page.draft.data, [key]: value } });
    page.redraw();
  };
  return h(
    "section",
    { class: "card", "aria-labelledby": "rows-title" },
    h("h2", { id: "rows-title" }, "Rows and persons"),
    h(
      "div",
      { class: "row" },
      select(
        "Rows without a value",
        [
          ["", "are left out where they are few (at most 5 %), else they count as a value"],
          ["drop", "are left out"],
          ["category", "count as a value of their own"],
          ["error", "are refused"],
        ],
        data.missing || "",
        (value) => change("missing", value || null),
        { id: "missing" },
      ),
      select(
        "One person may have several rows, told apart by",
        [["", "nothing: each row is a person"], ...profile.columns.map((column) => column.name)],
        data.person || "",
        (value) => change("person", value || null),
        { id: "person" },
      ),
    ),
  );
}

// Whom the rows were drawn from; nothing is sent before a value is there.
function populationCard(page) {
  const place = h("section", { class: "card", "aria-labelledby": "population-title" });
  const known = page.draft.population || {};
  const send = async (population) => {
    const { draft } = page;
    const [objectives, limits] = [draft.search.objectives, { ...draft.limits }];
    // What can no longer be counted or estimated would stop the search.
    const lost = [
      ...(population.source ? [] : page.about.people.counted),
      ...(Object.keys(population).length ? [] : page.about.people.estimated),
    ];
    for (const name of lost) delete limits[name];
    const changed = {
      ...draft,
      population,
      limits,
      search: { ...draft.search, objectives: objectives.filter((name) => !lost.includes(name)) },
    };
    if (!(await page.change(changed))) return;
    page.populationKind = "";
    say(Object.keys(population).length ? "The population is part of the job." : "The job has no population.");
    page.redraw();
  };
  const typed = (kind, label, step) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, label),
      h("input", {
        type: "number",
        id: `population-${kind}`,
        min: 0,
        step,
        value: known[kind] ?? "",
        onchange: (event) =>
          send(
            event.target.value === ""
              ? {}
              : { ...(known.model ? { model: known.model } : {}), [kind]: Number(event.target.value) },
          ),
      }),
    );
  const fields = (kind) => {
    if (kind === "source") {
      const files = page.about.files
        .filter((file) => file.kind === "data" && (page.uploaded || file.name !== page.draft.data.source))
        .map((file) => file.name);
      return [
        select(
          "Table of everybody",
          [["", "choose …"], ...new Set([...files, ...(known.source ? [known.source] : [])])],
          known.source || "",
          (value) => send(value ? { source: value } : {}),
          { id: "population-source" },
        ),
        known.source && !/\.(parquet|parq|pq)$/i.test(known.source)
          ? select("Its letters are written in", ENCODINGS, known.encoding || "utf-8", (value) =>
              send({ ...known, encoding: value }),
            )
          : null,
      ];
    }
    if (!kind) return [];
    return [
      kind === "sampling"
        ? typed(kind, "Share of everybody, from 0 to 1", "any")
        : typed(kind, "People in the population", 1),
      known[kind] === undefined
        ? null
        : select(
            "Who is alone there is estimated by the model",
            page.about.people.models.map((name) => [name, MODELS[name] || name]),
            known.model || "auto",
            (value) => send({ ...known, model: value }),
          ),
    ];
  };
  const draw = (kind) =>
    replace(
      place,
      h("h2", { id: "population-title" }, "Population"),
      h(
        "p",
        { class: "quiet" },
        "For somebody who does not know who is in the table. With a population the search offers k-map, presence and the risks of journalist and marketer.",
      ),
      h(
        "div",
        { class: "row" },
        select(
          "What is known of the people the rows were drawn from",
          KNOWLEDGE,
          kind,
          (value) => {
            if (!value && Object.keys(known).length) {
              send({});
              return;
            }
            page.populationKind = value; // a redraw by an answer that comes meanwhile must not take the choice back
            afterHands(() => draw(value));
          },
          { id: "population-kind" },
        ),
        fields(kind),
      ),
    );
  draw(["source", "sampling", "size"].find((kind) => known[kind] !== undefined) || page.populationKind || "");
  return place;
}
