// The columns of the table and their roles: one by one, or several at once. A change touches its row and nothing else.

import * as api from "/static/api.js";
import {
  bad,
  colName,
  h,
  labelled,
  makeButton,
  meter,
  num,
  number,
  numName,
  percent,
  quiet,
  replace,
  rowName,
  say,
  scroll,
  select,
  several,
  tableOf,
  td,
  tr,
  why,
} from "/static/dom.js";
import { columnPicture } from "/static/look.js";
import { wordsOf } from "/static/plain.js";
import { hierarchyPanel } from "/static/tree.js";

const ROLES = {
  "quasi-identifier": "quasi-identifier: others may know it",
  sensitive: "sensitive: must stay unknown",
  target: "target: to be predicted",
  identifier: "identifier: left out",
  plain: "plain: released as it is",
  decide: "decide: left out until you say",
};
const QUASI = "quasi-identifier";

const roleOf = (page, name) => (page.draft.columns[name] || { role: "plain" }).role;

export function columnsCard(page, panel) {
  const columns = page.profile.columns;
  if (!page.picks || page.picks.source !== page.draft.data.source)
    page.picks = { source: page.draft.data.source, names: new Set(), last: null, text: "", only: "" };
  const { picks } = page; // what is picked and which columns are listed stays when the view is drawn anew
  const lines = columns.map((column) => line(column));
  const count = h("span", { class: "quiet", id: "quasi-count" });
  const picked = h("span", { class: "quiet", id: "picked-count", role: "status" });
  const all = h("input", { type: "checkbox", id: "pick-all", "aria-label": "Pick every column that is listed" });
  const together = select(
    "Role of all picked",
    [["", "choose …"], ...Object.keys(ROLES)],
    "",
    { id: "picked-role" },
    (value) => {
      if (!value) return;
      give([...picks.names], value);
      picks.names.clear();
      together.querySelector("select").value = "";
      list();
    },
  );
  const box = together.querySelector("select");

  // What is listed: by name, and by role or kind.
  const only = [
    ["", "all columns"],
    ["decide", "undecided"],
    ...Object.keys(ROLES)
      .filter((role) => role !== "decide")
      .map((role) => [role, `role ${role}`]),
    ...[...new Set(columns.map((column) => column.kind))].sort().map((kind) => [`kind ${kind}`, `kind ${kind}`]),
  ];
  const isListed = ({ column }) =>
    column.name.toLowerCase().includes(picks.text.toLowerCase()) &&
    ["", roleOf(page, column.name), `kind ${column.kind}`].includes(picks.only);
  const list = () => {
    for (const each of lines) each.row.hidden = !isListed(each);
    mark();
  };
  const listed = () => lines.filter(({ row }) => !row.hidden);

  const mark = () => {
    const shown = listed();
    for (const { column, tick } of lines) tick.checked = picks.names.has(column.name);
    // The boxes are one stop of the tab key, and arrow keys walk in them.
    const stop = shown.find(({ column }) => column.name === picks.last) || shown[0];
    for (const each of lines) each.tick.tabIndex = each === stop ? 0 : -1;
    all.checked = shown.length > 0 && shown.every(({ column }) => picks.names.has(column.name));
    all.disabled = !shown.length;
    box.disabled = !picks.names.size;
    const hidden = lines.length - shown.length;
    picked.textContent = `${number(picks.names.size)} picked${hidden ? `, ${number(hidden)} not listed` : ""}`;
    const quasi = columns.filter(({ name }) => roleOf(page, name) === QUASI).length;
    const open = columns.filter(({ name }) => roleOf(page, name) === "decide").length;
    count.textContent = `${several(quasi, QUASI)}${open ? `, ${number(open)} undecided` : ""}`;
  };

  // One column, or with Shift all that are listed from the last one to this one.
  const pick = (name, on, range) => {
    const names = listed().map(({ column }) => column.name);
    const [from, to] = [names.indexOf(picks.last), names.indexOf(name)].sort((a, b) => a - b);
    for (const each of range && from >= 0 ? names.slice(from, to + 1) : [name])
      picks.names[on ? "add" : "delete"](each);
    picks.last = name;
    mark();
  };
  const walk = (event, name) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const shown = listed();
    const next = shown[shown.findIndex(({ column }) => column.name === name) + step];
    if (!next) return;
    if (event.shiftKey) {
      pick(name, true, false);
      pick(next.column.name, true, true);
    }
    next.tick.focus();
  };

  // The page has the roles at once; the server gets them in one request, together with what is changed meanwhile.
  const give = async (names, role) => {
    const [draft, gone] = fitting(page, withRoles(page, names, role));
    const answer = page.change(draft);
    for (const each of lines) if (names.includes(each.column.name)) each.update();
    mark();
    const measured = document.getElementById("measured");
    if (measured) replace(measured); // it was measured by other roles
    if (names.length > 1) say(`${several(names.length, "column")} became ${role}.`);
    if (!(await answer)) return;
    if (gone.length)
      page.note(
        `Taken out of the job, for no column has the role it needs: ${gone.map((each) => wordsOf(page, each)).join("; ")}.`,
      );
    if (document.getElementById("facts")) page.countAgain(); // else another view is shown by now
    if (panel.isConnected && names.includes(panel.dataset.asked)) showColumn(page, panel.dataset.asked, panel);
  };

  function line(column) {
    const { name } = column;
    const tick = h("input", {
      type: "checkbox",
      "aria-label": `Pick ${name}`,
      onclick: (event) => pick(name, tick.checked, event.shiftKey),
      onkeydown: (event) => walk(event, name),
    });
    const button = makeButton("Show", { class: "second small", "data-column": name }, () => {
      page.remember({ column: name });
      showColumn(page, name, panel, true);
    });
    const reason = h("span", { class: "why two" });
    const role = select(
      null,
      Object.keys(ROLES),
      roleOf(page, name),
      {
        "aria-label": `Role of ${name}`,
      },
      (value) => give([name], value),
    );
    const row = tr(
      h("td", { class: "pick" }, tick),
      rowName(h("span", { class: "column-name" }, h("span", { title: name }, name), button), reason),
      td(role),
      td(column.kind, column.missing ? why(`${number(column.missing)} missing`) : null),
      num(number(column.distinct)),
      td(
        meter(column.unique_share, `${percent(column.unique_share)} of the rows with a value have it alone`),
        why(percent(column.unique_share)),
      ),
    );
    const update = () => {
      const now = roleOf(page, name);
      row.className = `role-${now}`;
      role.value = now;
      role.title = ROLES[now];
      reason.textContent =
        column.role === now
          ? `${column.why}${column.note ? ". " + column.note : ""}`
          : `proposed: ${column.role} (${column.why.split("; left out")[0]})`;
      reason.title = reason.textContent;
      button.setAttribute("aria-label", `Show the ${now === QUASI ? "hierarchy" : "values"} of ${name}`);
    };
    update();
    return { column, row, tick, update };
  }

  all.addEventListener("change", () => {
    for (const { column } of listed()) picks.names[all.checked ? "add" : "delete"](column.name);
    mark();
  });
  list();
  return h(
    "section",
    { class: "card wide", "aria-labelledby": "columns-title" },
    h("h2", { id: "columns-title" }, "Columns ", count),
    h(
      "div",
      { class: "row", role: "group", "aria-label": "List and pick columns" },
      labelled(
        "Find by name",
        h("input", {
          type: "search",
          id: "find-column",
          value: picks.text,
          spellcheck: "false",
          oninput: (event) => {
            picks.text = event.target.value;
            list();
          },
        }),
      ),
      select("List", only, picks.only, { id: "list-columns" }, (value) => {
        picks.only = value;
        list();
      }),
      together,
      picked,
    ),
    scroll(
      "Columns of the table",
      tableOf(
        { class: "columns" },
        [
          h("td", { class: "pick" }, all),
          ["Column", "Role", "Type"].map((title) => colName(title)),
          numName("Values"),
          colName("Unique rows"),
        ],
        lines.map(({ row }) => row),
      ),
    ),
  );
}

// The job with one role for some columns. A quasi-identifier gets the hierarchy it had, or one that suits its values; the
// embedded table has its own. Only quasi-identifiers have hierarchies, weights and first levels.
function withRoles(page, names, role) {
  let { columns } = page.draft;
  for (const column of page.profile.columns.filter(({ name }) => names.includes(name))) {
    const after = { ...columns[column.name], role };
    if (role === QUASI && !after.hierarchy && !(page.draft.data.preset && !column.own))
      after.hierarchy = column.own || column.hierarchy || column.suits;
    if (role !== QUASI) {
      if (after.hierarchy) column.own = after.hierarchy; // an edited one comes back with the role
      for (const key of ["hierarchy", "weight", "levels", "first"]) delete after[key];
    }
    columns = { ...columns, [column.name]: after };
  }
  return { ...page.draft, columns };
}

// A job without what needs a sensitive or a target column that is none any more: its search would be refused.
function fitting(page, draft) {
  const roles = Object.entries(draft.columns).map(([name, column]) => [name, column.role]);
  const fits = (measure) => {
    const of = /\(column=(.+)\)$/.exec(measure);
    const needs = (page.about.measures.find((each) => each.name === measure.replace(/\(.*$/, "")) || {}).column;
    return (
      (needs !== "sensitive" && needs !== "target") ||
      draft.data.preset ||
      roles.some(([name, role]) => role === needs && (!of || of[1] === name))
    );
  };
  const gone = [...new Set([...draft.search.objectives, ...Object.keys(draft.limits)])].filter(
    (measure) => !fits(measure),
  );
  const limits = Object.fromEntries(Object.entries(draft.limits).filter(([measure]) => fits(measure)));
  return [{ ...draft, limits, search: { ...draft.search, objectives: draft.search.objectives.filter(fits) } }, gone];
}

// What a column holds, and below it the hierarchy of a quasi-identifier.
export async function showColumn(page, column, panel, focus = false) {
  for (const button of document.querySelectorAll("button[data-column]"))
    button.classList.toggle("on", button.dataset.column === column);
  const before = panel.dataset.asked === column ? panel.querySelector(".column-look") : null; // its values are the same
  panel.dataset.asked = column;
  const asked = (panel.asked = {});
  const late = () => panel.asked !== asked; // another one was asked for meanwhile, and answered before
  const quasi = roleOf(page, column) === QUASI;
  const place = h(
    "div",
    {},
    quasi
      ? h("p", { class: "quiet", role: "status" }, "Reading the rows for the hierarchy …")
      : quiet("Only quasi-identifiers have a hierarchy."),
  );
  replace(panel, h("h2", {}, `Values of ${column}`), before || columnPicture(column), place);
  if (focus) {
    panel.focus();
    panel.scrollIntoView({ block: "nearest" });
  }
  if (!quasi) return;
  try {
    const view = await api.get(`/hierarchy?column=${encodeURIComponent(column)}`);
    if (!late()) replace(place, hierarchyPanel(page, view));
  } catch (error) {
    if (!late()) replace(place, h("h2", {}, `Hierarchy of ${column}`), bad(error.message));
  }
}
