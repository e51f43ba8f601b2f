// A hierarchy as a tree that grows to the right: everything on the left, the single values on the right; and its edits.
// The tree is one stop of the tab key; arrow keys walk in it, the space bar chooses, with Shift a whole range.

import * as api from "/static/api.js";
import {
  colName,
  h,
  makeButton,
  number,
  quiet,
  replace,
  say,
  select,
  several,
  stretch,
  tableOf,
  tr,
  wrong,
} from "/static/dom.js";
import { bring, builder } from "/static/builder.js";
import { saveFile } from "/static/plain.js";

const MOST = 300; // groups of a level that can still be drawn one by one

export function hierarchyPanel(page, view) {
  const place = h("div", {});
  draw(page, view, place, { level: 1, groups: new Set(), at: null, building: false });
  return place;
}

function draw(page, view, place, state) {
  // The drawn levels, from the top to the first one with few enough groups.
  const levels = view.levels.filter((level) => level.count <= MOST && level.groups.length).reverse();
  const lowest = levels.length ? levels[levels.length - 1].level : 0;
  const selected = { level: Math.min(state.level, view.height), groups: state.groups };
  const label = h("input", {
    type: "text",
    id: "group-name",
    "aria-label": "Name of the group",
    placeholder: "name of the group",
  });
  const scroller = place.querySelector(".tree-scroll");
  const top = scroller ? scroller.scrollTop : 0;
  const again = (next, at = null) =>
    draw(page, next, place, { level: selected.level, groups: new Set(), at, building: state.building });
  const take = (answer) => {
    if (answer.draft) Object.assign(page, { draft: answer.draft, stale: answer.stale });
    again(answer.view);
  };
  const edit = async (action, more = {}) => {
    wrong("");
    replace(status, "");
    try {
      const at = [selected.level, Math.min(...selected.groups)];
      const next = await api.post("/hierarchy", {
        column: view.name,
        action,
        level: selected.level,
        groups: [...selected.groups].sort((a, b) => a - b),
        ...more,
      });
      if (!next.draft) page.draft = (await api.get("")).draft;
      else Object.assign(page, { draft: next.draft, stale: next.stale });
      say(`Done: ${action}.`);
      again(next, at);
    } catch (error) {
      replace(status, error.message);
    }
  };
  const step = async (action) => {
    const answer = await page.attempt(() => api.post("/hierarchy/step", { column: view.name, action }));
    if (answer) {
      say(`Done: ${action}.`);
      take(answer);
    }
  };
  const use = async (form, words) => {
    const answer = await page.attempt(() => api.post("/hierarchy/use", { column: view.name, ...form }));
    if (answer) {
      say(words);
      take(answer);
    }
  };
  const save = async () => {
    const file = await page.attempt(() => api.get(`/hierarchy/file?column=${encodeURIComponent(view.name)}`));
    if (file) saveFile(file.name, file.text, "text/csv");
  };
  const status = h("p", { class: "bad", role: "alert" });
  const hint = h("p", { class: "quiet", role: "status" });
  const buttons = {};
  const button = (name, text, work, title) => {
    buttons[name] = makeButton(text, { class: "second small", title, "data-key": `tree-${name}` }, work);
    return buttons[name];
  };
  // One more group, or with Shift all from the last one to this one.
  const pick = (level, group, range = false) => {
    if (selected.level !== level) {
      selected.level = level;
      selected.groups.clear();
      selected.last = null;
    }
    if (range && selected.last !== null && selected.last !== undefined) {
      for (let at = Math.min(selected.last, group); at <= Math.max(selected.last, group); at++) selected.groups.add(at);
    } else if (selected.groups.has(group)) selected.groups.delete(group);
    else selected.groups.add(group);
    selected.last = group;
    for (const cell of place.querySelectorAll("button.node"))
      cell.setAttribute(
        "aria-pressed",
        String(Number(cell.dataset.level) === selected.level && selected.groups.has(Number(cell.dataset.group))),
      );
    refresh();
  };
  const refresh = () => {
    if (!view.editable) return;
    const count = selected.groups.size;
    const names = [...selected.groups]
      .sort((a, b) => a - b)
      .map((group) => view.levels[selected.level].groups[group][2]);
    const inner = selected.level > 0 && selected.level < view.height;
    buttons.merge.disabled = count < 2 || selected.level === view.height;
    buttons.split.disabled = count !== 1 || !inner;
    buttons.rename.disabled = count !== 1 || selected.level === 0;
    buttons.up.disabled = buttons.down.disabled = count !== 1 || selected.level === view.height || view.ordered;
    buttons.add.disabled = count === 0;
    buttons.remove.disabled = count === 0 || !inner;
    hint.textContent = count
      ? `Level ${selected.level}: ${names.slice(0, 4).join(", ")}${count > 4 ? ` and ${count - 4} more` : ""}`
      : "Choose groups in the tree to change them; with Shift a whole range. Drag one onto another to put them together.";
    label.value = count === 1 ? names[0] : count ? shared(names) : "";
  };
  const tools = h(
    "div",
    { class: "tools", role: "group", "aria-label": "Edit the chosen groups" },
    button("merge", "Merge", () => edit("merge", { label: label.value }), "Make one group of the chosen ones"),
    button("split", "Split", () => edit("split"), "Let the group fall apart into those it holds"),
    button("rename", "Rename", () => edit("rename", { label: label.value }), "Give the group the name in the field"),
    label,
    button("up", "Move up", () => edit("move", { step: -1 }), "Change places with the neighbour above"),
    button("down", "Move down", () => edit("move", { step: 1 }), "Change places with the neighbour below"),
    button("add", "Add level", () => edit("add-level"), "One more level above the chosen one"),
    button("remove", "Remove level", () => edit("remove-level"), "Take the chosen level out"),
  );
  const can = view.can || {};
  const past = (action, text) =>
    makeButton(text, { class: "second small", "data-key": `tree-${action}`, disabled: !can[action] }, () =>
      step(action),
    );
  const history = h(
    "div",
    { class: "tools", role: "group", "aria-label": "Changes of the hierarchy" },
    past("undo", "Undo"),
    past("redo", "Redo"),
    past("reset", "Reset"),
    makeButton("Save as a file", { class: "second small", "data-key": "tree-save" }, save),
  );
  const find = h("input", {
    type: "search",
    id: "tree-find",
    placeholder: "find a value",
    "aria-label": "Find a value in the tree",
    oninput: (event) => seek(place, event.target.value),
  });
  const picture = levels.length ? icicle(levels, view, pick) : quiet("Too many groups to draw. Build groups below.");
  const region = h(
    "div",
    {
      class: "scroll tall tree-scroll",
      role: "group",
      "aria-label": `Tree of ${view.name}`,
      ondragover: (event) => {
        if ([...event.dataTransfer.types].includes("Files")) {
          event.preventDefault();
          region.classList.add("over");
        }
      },
      ondragleave: () => region.classList.remove("over"),
      ondrop: (event) => {
        region.classList.remove("over");
        if (event.dataTransfer.files.length) {
          event.preventDefault();
          bring(event.dataTransfer.files[0], use);
        }
      },
      onkeydown: (event) => walkTree(event, region, pick),
    },
    picture,
  );
  const build = h(
    "details",
    {
      class: "build",
      open: state.building,
      ontoggle: (event) => {
        state.building = event.target.open;
        if (event.target.open && !event.target.querySelector(".builder"))
          event.target.append(builder(page, view.name, take));
      },
    },
    h("summary", { "data-key": "tree-build" }, h("h3", {}, "Build or bring a hierarchy")),
  );
  if (state.building) build.append(builder(page, view.name, take));
  refresh(); // before anything is shown: a button that is switched off later would lose the focus
  replace(
    place,
    h("h2", {}, `Hierarchy of ${view.name}`, view.edited ? h("span", { class: "tag" }, "edited") : null),
    quiet(
      `${number(view.leaves)} values, ${view.height + 1} levels: ${view.levels.map((level) => number(level.count)).join(" → ")} groups.`,
      lowest > 0 ? ` Levels below ${lowest} have too many groups to draw.` : "",
    ),
    view.lint.length
      ? h(
          "ul",
          { class: "lint", tabindex: "0", "aria-label": "Remarks on this hierarchy" },
          view.lint.map((remark) => h("li", {}, h("strong", {}, remark.kind.replaceAll("-", " ")), " ", remark.text)),
        )
      : h("p", { class: "good" }, "Nothing odd about this hierarchy."),
    limits(page, view, region),
    history,
    view.leaves > 20 ? find : null,
    region,
    view.editable ? [hint, tools] : quiet("Cells by number are changed by building them anew."),
    status,
    build,
  );
  region.scrollTop = top;
  const stop = rove(region, state.at);
  if (state.at && stop) stop.focus({ preventScroll: true });
}

// The least and the highest level that may be released, the others crossed out in the tree, and how much the column
// counts in a weighted loss.
function limits(page, view, region) {
  const known = page.draft.columns[view.name] || {};
  const ends = [...(known.levels || [0, view.height])];
  const cross = () => {
    for (const cell of region.querySelectorAll("button.node"))
      cell.classList.toggle("outside", cell.dataset.level < ends[0] || cell.dataset.level > ends[1]);
  };
  const change = (next) =>
    page.change({
      ...page.draft,
      columns: { ...page.draft.columns, [view.name]: { ...page.draft.columns[view.name], ...next } },
    });
  const levels = view.levels.map(({ level, count }) => [String(level), `${level}: ${several(count, "group")}`]);
  for (const level of new Set(ends))
    if (level > view.height) levels.push([String(level), `${level}: not in this hierarchy`]);
  const end = (at, label, id) =>
    select(label, levels, String(ends[at]), { id }, (value) => {
      ends[at] = Number(value);
      ends[1 - at] = at ? Math.min(...ends) : Math.max(...ends); // the other end gives way
      boxes[1 - at].querySelector("select").value = String(ends[1 - at]);
      cross();
      change({ levels: ends[0] === 0 && ends[1] === view.height ? null : [...ends] });
    });
  cross();
  const boxes = [end(0, "Released from level", "least-level"), end(1, "to level", "most-level")];
  const weights = Object.entries({
    0.25: "hardly any",
    0.5: "less",
    "1.0": "usual",
    "2.0": "more",
    "4.0": "much more",
  });
  const weight = Number(known.weight ?? 1);
  if (!weights.some(([value]) => Number(value) === weight)) weights.push([String(weight), String(weight)]);
  const chosen = weights.find(([value]) => Number(value) === weight)[0];
  return h(
    "div",
    { class: "row", role: "group", "aria-label": `Levels and importance of ${view.name}` },
    boxes,
    select(
      "Importance",
      weights,
      chosen,
      {
        id: "importance",
        title: "Counts in the loss nwp; the other losses take every column alike.",
      },
      (value) => change({ weight: Number(value) === 1 ? null : Number(value) }),
    ),
  );
}

// A name for several groups: the range that numbers span, what words begin with, or all of them.
function shared(names) {
  const spans = names.map((name) => name.match(/^(-?[\d.]+)(?:\s*[-–]\s*(-?[\d.]+))?$/));
  if (spans.every(Boolean)) {
    const lows = spans.map((span) => Number(span[1])),
      highs = spans.map((span) => Number(span[2] ?? span[1]));
    return `${Math.min(...lows)}-${Math.max(...highs)}`;
  }
  let start = names[0];
  for (const name of names) while (start && !name.startsWith(start)) start = start.slice(0, -1);
  start = start.replace(/[\s\-_,.;:]+$/, "");
  if (start.length > 2) return start;
  const all = names.join(" or ");
  return all.length <= 40 ? all : `${names[0]} and ${names.length - 1} more`;
}

// Only one cell of the tree is a stop of the tab key: the one that was last there.
function rove(region, at) {
  const cells = [...region.querySelectorAll("button.node")];
  const wanted =
    at && cells.find((cell) => Number(cell.dataset.level) === at[0] && Number(cell.dataset.group) === at[1]);
  const stop = wanted || cells[0];
  for (const cell of cells) cell.tabIndex = cell === stop ? 0 : -1;
  return stop;
}

function walkTree(event, region, pick) {
  const now = event.target.closest("button.node");
  if (!now) return;
  const cells = [...region.querySelectorAll("button.node")];
  const level = Number(now.dataset.level);
  const column = cells.filter((cell) => Number(cell.dataset.level) === level);
  const place = column.indexOf(now);
  const middle = (Number(now.dataset.first) + Number(now.dataset.end)) / 2;
  const beside = (to) =>
    cells
      .filter((cell) => Number(cell.dataset.level) === to)
      .find((cell) => Number(cell.dataset.first) <= middle && Number(cell.dataset.end) >= middle);
  const first = (to) =>
    cells
      .filter((cell) => Number(cell.dataset.level) === to)
      .find((cell) => Number(cell.dataset.first) === Number(now.dataset.first));
  const to = {
    ArrowDown: column[place + 1],
    ArrowUp: column[place - 1],
    Home: column[0],
    End: column[column.length - 1],
    PageDown: column[Math.min(column.length - 1, place + 10)],
    PageUp: column[Math.max(0, place - 10)],
    ArrowLeft: beside(level + 1),
    ArrowRight: first(level - 1),
  }[event.key];
  let next = to;
  if (!next && event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const letter = event.key.toLowerCase();
    next = [...column.slice(place + 1), ...column.slice(0, place)].find((cell) =>
      cell.dataset.name.toLowerCase().startsWith(letter),
    );
  }
  if (!next) return;
  event.preventDefault();
  if (event.shiftKey && ["ArrowDown", "ArrowUp"].includes(event.key)) pick(level, Number(next.dataset.group), true);
  for (const cell of cells) cell.tabIndex = cell === next ? 0 : -1;
  next.focus();
}

function seek(place, text) {
  const wanted = text.trim().toLowerCase();
  const cells = [...place.querySelectorAll("button.node")];
  const hits = wanted ? cells.filter((cell) => cell.dataset.name.toLowerCase().includes(wanted)) : [];
  for (const cell of cells) cell.classList.toggle("hit", hits.includes(cell));
  if (hits.length) hits[hits.length - 1].scrollIntoView({ block: "nearest" });
}

function icicle(levels, view, pick) {
  const last = levels[levels.length - 1].groups;
  const total = view.levels[view.height].groups[0][3] || 1;
  const starts = levels.map((level) => new Map(level.groups.map((group, place) => [group[0], place])));
  const rows = last.map((leaf) =>
    tr(
      levels.map((level, depth) => {
        const place = starts[depth].get(leaf[0]);
        if (place === undefined) return null;
        const [first, end, name, count] = level.groups[place];
        const span = last.filter((each) => each[0] >= first && each[1] <= end).length;
        const cell = h(
          "button",
          {
            type: "button",
            class: "node",
            tabindex: "-1",
            "aria-pressed": "false",
            draggable: view.editable ? "true" : null,
            "data-level": level.level,
            "data-group": place,
            "data-first": first,
            "data-end": end,
            "data-name": name,
            "aria-label": `${name === "" ? "(empty)" : name} ${several(count, "row")}, ${level.level === 0 ? "value" : `level ${level.level}`}`,
            title: `level ${level.level}, ${several(count, "row")}`,
          },
          h("span", { class: "name" }, name === "" ? "(empty)" : name),
          " ",
          h("span", { class: "count" }, number(count)),
        );
        cell.append(stretch(Math.max(0.01, count / total), { class: "share" }));
        if (view.editable) listen(cell, level.level, place, pick);
        return h("td", { rowspan: span }, cell);
      }),
    ),
  );
  return tableOf(
    { class: "icicle" },
    levels.map((level) =>
      colName(level.level === 0 ? "values" : level.level === view.height ? "all" : `level ${level.level}`),
    ),
    rows,
  );
}

// A click chooses, with Shift a range; one group dragged onto another of its level chooses both, ready to be named.
function listen(cell, level, place, pick) {
  cell.addEventListener("click", (event) => pick(level, place, event.shiftKey));
  cell.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/kpareto-group", `${level} ${place}`));
  cell.addEventListener("dragover", (event) => {
    if ([...event.dataTransfer.types].includes("text/kpareto-group")) event.preventDefault();
  });
  cell.addEventListener("drop", (event) => {
    const [from, other] = event.dataTransfer.getData("text/kpareto-group").split(" ").map(Number);
    if (from !== level || other === place || Number.isNaN(other)) return;
    event.preventDefault();
    event.stopPropagation();
    const pressed = (group) =>
      cell
        .closest("table")
        .querySelector(`button.node[data-level="${level}"][data-group="${group}"]`)
        .getAttribute("aria-pressed") === "true";
    for (const group of [other, place]) if (!pressed(group)) pick(level, group);
    document.getElementById("group-name").focus();
    document.getElementById("group-name").select();
  });
}
