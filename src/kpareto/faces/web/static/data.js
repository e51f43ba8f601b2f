// Data: open a table, give roles, look at hierarchies, save or load the job.

import * as api from "/static/api.js";
import {
  afterHands,
  fileChoice,
  h,
  inRow,
  labelled,
  makeButton,
  number,
  numberField,
  quiet,
  replace,
  say,
  select,
  titled,
} from "/static/dom.js";
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
  const words = h(
    "p",
    { class: "lead", role: "status" },
    "The server was started anew, or this table was closed. What its columns hold is being counted again; the other steps can be used meanwhile.",
  );
  const view = h("div", {}, h("h1", {}, name), words);
  page.lookAgain().catch((error) => {
    if (!words.isConnected) return;
    replace(words, h("span", { class: "bad" }, error.message));
    view.append(
      h(
        "p",
        { class: "row" },
        makeButton("Try again", {}, () => page.redraw()),
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
            makeButton(`Try as ${text}`, { class: "small second" }, () => {
              encoding = name;
              letters.querySelector("select").value = name;
              again();
            }),
          ),
        ),
      );
      retry.querySelector("button").focus();
    }
    return state;
  };
  const retry = h("div", { class: "retry", role: "status" });
  const letters = select("Letters of text files are written in", ENCODINGS, encoding, { id: "encoding" }, (value) => {
    encoding = value;
  });
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
  const endings = page.about.data_endings.map((end) => `.${end.split(".").pop()}`);
  const input = fileChoice("drop-file", [...new Set(endings), ".deid"].join(","), (file) => take("data", file));
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
    quiet(`It stays on this machine. At most ${number(page.about.upload_limit / 2 ** 20)} MB.`),
  );
  const fileList = (lines) =>
    h(
      "ul",
      { class: "files" },
      lines.map(([name, ...words]) =>
        h(
          "li",
          {},
          makeButton(words, { class: "file" }, () => open(name)),
        ),
      ),
    );
  const list = (kinds, empty) => {
    const listed = page.about.files.filter((file) => kinds.includes(file.kind));
    if (!listed.length) return quiet(empty);
    return fileList(
      listed.map(({ name, bytes }) => [name, h("span", {}, name), h("span", { class: "quiet" }, size(bytes))]),
    );
  };
  const job = fileChoice("job-file", ".toml", (file) => take("job", file));
  return h(
    "div",
    {},
    h(
      "div",
      { class: "title" },
      h("h1", {}, first ? "Which table is to be shared?" : "Open another table"),
      first
        ? null
        : makeButton(
            `Back to ${page.draft.data.source === "adult" ? "Adult" : page.draft.data.source}`,
            { class: "second", id: "back-to-table" },
            () => page.redraw(),
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
      titled("o1", `In the folder “${page.about.folder}”`, list(["data", "project"], "No table in this folder.")),
      titled("o2", "From elsewhere on this machine", zone),
      titled(
        "o3",
        "Go on with a job, or try it out",
        list(["job"], "No job file in this folder."),
        h("p", {}, job, h("label", { for: "job-file", class: "button second" }, "Load a job file")),
        h(
          "p",
          {},
          makeButton("Try the embedded Adult table", { class: "second" }, () => open("adult")),
        ),
        quiet("Or begin with the example job of a paper, on Adult:"),
        fileList(Object.entries(page.about.papers).map(([name, words]) => [`paper:${name}`, h("span", {}, words)])),
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
        makeButton("Overwrite", { class: "small second", id: "overwrite" }, () => save(true)),
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
    titled(
      "job-title",
      "The job file",
      quiet("The same file runs on the command line: kpareto front job.toml."),
      inRow(
        labelled("Name in the working folder", name),
        makeButton("Save job", {}, () => save(false)),
        h("a", { class: "button second", href: api.link("/job/file"), download: "" }, "Download job"),
        makeButton("Open another table", { class: "second" }, () => {
          replace(document.getElementById("main"), opening(page, false));
          document.getElementById("back-to-table").focus();
          window.scrollTo(0, 0);
        }),
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
  return titled(
    "rows-title",
    "Rows and persons",
    inRow(
      select(
        "Rows without a value",
        [
          ["", "are left out (kept if above 5 %)"],
          ["drop", "are left out"],
          ["category", "count as a value of their own"],
          ["error", "are refused"],
        ],
        data.missing || "",
        { id: "missing" },
        (value) => change("missing", value || null),
      ),
      select(
        "One person may have several rows, told apart by",
        [["", "nothing: each row is a person"], ...profile.columns.map((column) => column.name)],
        data.person || "",
        { id: "person" },
        (value) => change("person", value || null),
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
  const typed = (kind, label, step) => {
    const model = known.model ? { model: known.model } : {};
    const attributes = { id: `population-${kind}`, min: 0, step, value: known[kind] ?? "" };
    return numberField(
      label,
      attributes,
      (text) => send(text === "" ? {} : { ...model, [kind]: Number(text) }),
      "field",
    );
  };
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
          { id: "population-source" },
          (value) => send(value ? { source: value } : {}),
        ),
        known.source && !/\.(parquet|parq|pq)$/i.test(known.source)
          ? select("Its letters are written in", ENCODINGS, known.encoding || "utf-8", {}, (value) =>
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
            {},
            (value) => send({ ...known, model: value }),
          ),
    ];
  };
  const draw = (kind) =>
    replace(
      place,
      h("h2", { id: "population-title" }, "Population"),
      quiet(
        "For somebody who does not know who is in the table. With a population the search offers k-map, presence and the risks of journalist and marketer.",
      ),
      inRow(
        select(
          "What is known of the people the rows were drawn from",
          KNOWLEDGE,
          kind,
          { id: "population-kind" },
          (value) => {
            if (!value && Object.keys(known).length) {
              send({});
              return;
            }
            page.populationKind = value; // a redraw by an answer that comes meanwhile must not take the choice back
            afterHands(() => draw(value));
          },
        ),
        fields(kind),
      ),
    );
  draw(["source", "sampling", "size"].find((kind) => known[kind] !== undefined) || page.populationKind || "");
  return place;
}
