// Data: open a table, give roles, look at hierarchies, save or load the job.

import * as api from "/static/api.js";
import { h, meter, number, percent, replace, say, select } from "/static/dom.js";
import { hierarchyPanel } from "/static/tree.js";

const ROLES = [
  ["quasi-identifier", "quasi-identifier: others may know it"],
  ["sensitive", "sensitive: must stay unknown"],
  ["target", "target: to be predicted"],
  ["identifier", "identifier: left out"],
  ["plain", "plain: released as it is"],
];

export async function dataView(page) {
  return page.draft ? table(page) : opening(page, true);
}

function opening(page, first) {
  let encoding = "utf-8";
  const encodings = [["utf-8", "UTF-8 (usual)"], ["latin-1", "Latin-1 (older western files)"], ["cp1252", "Windows-1252 (older spreadsheets)"], ["utf-16", "UTF-16"]];
  const open = async (name) => {
    const state = await page.attempt(() => api.post("/open", { name, encoding }), `Looking at ${name} …`);
    if (state) { page.front = null; page.take(state); page.redraw(); }
  };
  const take = async (kind, file) => {
    if (!file) return;
    if (file.size > page.about.upload_limit) {
      await page.attempt(async () => {
        throw new Error(`${file.name} has ${number(file.size / 2 ** 20)} MB, and at most ${number(page.about.upload_limit / 2 ** 20)} MB can be uploaded. Put it into the working folder and open it from there.`);
      });
      return;
    }
    const state = await page.attempt(() => api.upload(kind, file, encoding), `Looking at ${file.name} …`);
    if (state) { page.front = null; page.take(state); page.redraw(); }
  };
  const input = h("input", { type: "file", id: "drop-file", class: "unseen", accept: ".csv,.tsv,.txt,.gz,.parquet,.parq,.pq",
    onchange: (event) => take("data", event.target.files[0]) });
  const zone = h("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      const file = event.dataTransfer.files[0];
      take(file && file.name.endsWith(".toml") ? "job" : "data", file);
    } },
  h("p", {}, "Drop a CSV, TSV or Parquet file here"), input, h("label", { for: "drop-file", class: "button" }, "Choose a file"),
  h("p", { class: "quiet" }, `It stays on this machine. At most ${number(page.about.upload_limit / 2 ** 20)} MB.`));
  const files = page.about.files;
  const list = (kind, empty) => {
    const found = files.filter((file) => file.kind === kind);
    if (!found.length) return h("p", { class: "quiet" }, empty);
    return h("ul", { class: "files" }, found.map((file) =>
      h("li", {}, h("button", { type: "button", class: "file", onclick: () => open(file.name) },
        h("span", {}, file.name), h("span", { class: "quiet" }, size(file.bytes))))));
  };
  const job = h("input", { type: "file", id: "job-file", class: "unseen", accept: ".toml", onchange: (event) => take("job", event.target.files[0]) });
  return h("div", {},
    h("h1", {}, first ? "Which table is to be shared?" : "Open another table"),
    h("p", { class: "lead" }, "kpareto looks at the columns, proposes what each one is, and shows every trade-off between privacy and information that the table allows."),
    h("div", { class: "cards three" },
      h("section", { class: "card", "aria-labelledby": "o1" }, h("h2", { id: "o1" }, `In the folder “${page.about.folder}”`), list("data", "No table in this folder."),
        select("Letters of text files are written in", encodings, encoding, (value) => { encoding = value; })),
      h("section", { class: "card", "aria-labelledby": "o2" }, h("h2", { id: "o2" }, "From elsewhere on this machine"), zone),
      h("section", { class: "card", "aria-labelledby": "o3" }, h("h2", { id: "o3" }, "Go on with a job, or try it out"), list("job", "No job file in this folder."),
        h("p", {}, job, h("label", { for: "job-file", class: "button second" }, "Load a job file")),
        h("p", {}, h("button", { type: "button", class: "second", onclick: () => open("adult") }, "Try the embedded Adult table")))));
}

function size(bytes) {
  return bytes < 1 << 20 ? `${number(Math.ceil(bytes / 1024))} kB` : `${number(bytes / 2 ** 20, 3)} MB`;
}

function table(page) {
  const { profile, draft } = page;
  const panel = h("section", { class: "card", id: "hierarchy", "aria-label": "Hierarchy" });
  const rows = profile.columns.map((column) => row(page, column, panel));
  const name = h("input", { type: "text", value: "job.toml", id: "job-name", spellcheck: "false" });
  const save = async () => {
    const done = await page.attempt(() => api.post("/job/save", { name: name.value }));
    if (done) { say(done.sentence); replace(said, done.sentence); }
  };
  const said = h("p", { class: "good", role: "status" });
  const quasi = Object.values(draft.columns).filter((column) => column.role === "quasi-identifier").length;
  const view = h("div", {},
    h("div", { class: "title" },
      h("h1", {}, draft.data.source === "adult" ? "Adult (embedded)" : draft.data.source),
      h("a", { class: "button", href: "#search" }, "Next: search")),
    h("p", { class: "lead" }, h("strong", {}, number(profile.rows)), " rows, ", h("strong", {}, profile.columns.length), " columns. ",
      `${percent(profile.quasi.unique / profile.rows)} of the rows are unique on the ${profile.quasi.columns.length} columns that others probably know.`,
      profile.rows - profile.complete ? ` ${number(profile.rows - profile.complete)} rows lack a value.` : ""),
    h("div", { class: "split" },
      h("section", { class: "card wide", "aria-labelledby": "columns-title" },
        h("h2", { id: "columns-title" }, "Columns ", h("span", { class: "quiet", id: "quasi-count" }, `${quasi} quasi-identifiers`)),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns of the table" },
          h("table", { class: "columns" },
            h("thead", {}, h("tr", {}, ["Column", "Role", "Hierarchy", "Type", "Values", "Unique rows"].map((title) => h("th", { scope: "col" }, title)))),
            h("tbody", {}, rows)))),
      panel),
    h("section", { class: "card", "aria-labelledby": "job-title" }, h("h2", { id: "job-title" }, "The job file"),
      h("p", { class: "quiet" }, "The same file runs on the command line: kpareto front job.toml."),
      h("div", { class: "row" }, h("label", { class: "field" }, h("span", {}, "Name in the working folder"), name),
        h("button", { type: "button", onclick: save }, "Save job"),
        h("a", { class: "button second", href: api.link("/job/file"), download: "" }, "Download job"),
        h("button", { type: "button", class: "second", onclick: () => replace(document.getElementById("main"), opening(page, false)) }, "Open another table")),
      said),
    rowsCard(page));
  const shown = page.view.column && draft.columns[page.view.column] ? page.view.column
    : Object.keys(draft.columns).find((each) => draft.columns[each].role === "quasi-identifier");
  if (shown) showHierarchy(page, shown, panel);
  return view;
}

function rowsCard(page) {
  const { draft, profile } = page;
  if (draft.data.source === "adult") return null;
  const change = async (key, value) => {
    const before = draft.data;
    draft.data = { ...draft.data, [key]: value };
    const done = await page.attempt(() => api.put("/job", draft));
    if (done) Object.assign(page, { draft: done.draft, stale: done.stale });
    else draft.data = before;
    page.redraw();
  };
  return h("section", { class: "card", "aria-labelledby": "rows-title" }, h("h2", { id: "rows-title" }, "Rows and persons"),
    h("div", { class: "row" },
      select("Rows without a value", [["drop", "are left out"], ["category", "count as a value of their own"], ["error", "are refused"]], draft.data.missing || "drop", (value) => change("missing", value)),
      select("One person may have several rows, told apart by", [["", "nothing: each row is a person"], ...profile.columns.map((column) => column.name)], draft.data.person || "", (value) => change("person", value || null))));
}

function row(page, column, panel) {
  const { draft } = page;
  const own = draft.columns[column.name] || { role: "plain" };
  const why = column.role === own.role ? `${column.why}${column.note ? ". " + column.note : ""}` : `proposed: ${column.role} (${column.why})`;
  const button = h("button", { type: "button", class: "second small", "data-column": column.name, "aria-label": `Show the hierarchy of ${column.name}`,
    onclick: () => { page.remember({ column: column.name }); showHierarchy(page, column.name, panel, true); } }, "Show");
  const cell = h("td", {}, own.role === "quasi-identifier" ? button : h("span", { class: "quiet" }, "–"));
  const role = select(null, ROLES.map(([value]) => value), own.role, async (value) => {
    const before = draft.columns[column.name] || { role: "plain" };
    const after = { ...before, role: value };
    if (value === "quasi-identifier" && !after.hierarchy && column.hierarchy) after.hierarchy = column.hierarchy;
    draft.columns[column.name] = after;
    const done = await page.attempt(() => api.put("/job", draft));
    if (!done) draft.columns[column.name] = before;
    else Object.assign(page, { draft: done.draft, stale: done.stale });
    page.redraw();
  }, { "aria-label": `Role of ${column.name}`, title: Object.fromEntries(ROLES)[own.role] });
  return h("tr", { class: `role-${own.role}` },
    h("th", { scope: "row" }, column.name, h("span", { class: "why two", title: why }, why)),
    h("td", {}, role),
    cell,
    h("td", {}, column.kind, column.missing ? h("span", { class: "why" }, `${number(column.missing)} missing`) : null),
    h("td", { class: "num" }, number(column.distinct)),
    h("td", {}, meter(column.unique_share, `${percent(column.unique_share)} of the rows have a value of their own`), h("span", { class: "why" }, percent(column.unique_share))));
}

async function showHierarchy(page, column, panel, focus = false) {
  for (const button of document.querySelectorAll("button[data-column]")) button.classList.toggle("on", button.dataset.column === column);
  panel.dataset.asked = column;
  const late = () => panel.dataset.asked !== column; // another column was asked for meanwhile, and answered before
  try {
    const view = await api.get(`/hierarchy?column=${encodeURIComponent(column)}`);
    if (late()) return;
    replace(panel, hierarchyPanel(page, view, (next) => { replace(panel, hierarchyPanel(page, next)); }));
  } catch (error) {
    if (late()) return;
    replace(panel, h("h2", {}, `Hierarchy of ${column}`), h("p", { class: "bad" }, error.message));
  }
  if (focus) { panel.setAttribute("tabindex", "-1"); panel.focus(); panel.scrollIntoView({ block: "nearest" }); }
}
