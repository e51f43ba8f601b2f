// A hierarchy as a tree that grows to the right: everything on the left, the single values on the right; and its edits.

import * as api from "/static/api.js";
import { h, number, replace, say, wrong } from "/static/dom.js";

const MOST = 300; // groups of a level that can still be drawn one by one

export function hierarchyPanel(page, view, _) {
  const place = h("div", {});
  draw(page, view, place, new Set(), 1);
  return place;
}

function draw(page, view, place, chosen, at) {
  // The drawn levels, from the top to the first one with few enough groups.
  const levels = view.levels.filter((each) => each.count <= MOST && each.groups.length).reverse();
  const lowest = levels.length ? levels[levels.length - 1].level : 0;
  const selected = { level: at, groups: chosen };
  const label = h("input", { type: "text", id: "group-name", "aria-label": "Name of the group", placeholder: "name of the group" });
  const edit = async (action, more = {}) => {
    wrong("");
    try {
      const next = await api.post("/hierarchy", { column: view.name, action, level: selected.level, groups: [...selected.groups], ...more });
      if (page.draft) page.draft = (await api.get("")).draft;
      say(`Done: ${action}.`);
      draw(page, next, place, new Set(), Math.min(selected.level, next.height));
    } catch (error) {
      replace(said, error.message);
    }
  };
  const said = h("p", { class: "bad", role: "alert" });
  const hint = h("p", { class: "quiet", role: "status" });
  const buttons = {};
  const button = (name, text, work, title) => {
    buttons[name] = h("button", { type: "button", class: "second small", title, onclick: work }, text);
    return buttons[name];
  };
  const pick = (level, group, cell) => {
    if (selected.level !== level) {
      selected.level = level;
      selected.groups.clear();
      for (const other of place.querySelectorAll("button.node[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    }
    if (selected.groups.has(group)) selected.groups.delete(group);
    else selected.groups.add(group);
    cell.setAttribute("aria-pressed", String(selected.groups.has(group)));
    refresh();
  };
  const refresh = () => {
    const count = selected.groups.size;
    const names = [...selected.groups].map((group) => view.levels[selected.level].groups[group][2]);
    const inner = selected.level > 0 && selected.level < view.height;
    buttons.merge.disabled = count < 2 || selected.level === view.height;
    buttons.split.disabled = count !== 1 || !inner;
    buttons.rename.disabled = count !== 1 || selected.level === 0;
    buttons.up.disabled = buttons.down.disabled = count !== 1 || selected.level === view.height || view.ordered;
    buttons.add.disabled = count === 0;
    buttons.remove.disabled = count === 0 || !inner;
    hint.textContent = count ? `Level ${selected.level}: ${names.slice(0, 4).join(", ")}${count > 4 ? ` and ${count - 4} more` : ""}` : "Choose groups in the tree to change them.";
    label.value = count === 1 ? names[0] : count ? shared(names) : "";
  };
  const tools = h("div", { class: "tools", role: "group", "aria-label": "Edit the chosen groups" },
    button("merge", "Merge", () => edit("merge", { label: label.value }), "Make one group of the chosen ones"),
    button("split", "Split", () => edit("split"), "Let the group fall apart into those it holds"),
    button("rename", "Rename", () => edit("rename", { label: label.value }), "Give the group the name in the field"),
    label,
    button("up", "Move up", () => edit("move", { step: -1 }), "Change places with the neighbour above"),
    button("down", "Move down", () => edit("move", { step: 1 }), "Change places with the neighbour below"),
    button("add", "Add level", () => edit("add-level"), "One more level above the chosen one"),
    button("remove", "Remove level", () => edit("remove-level"), "Take the chosen level out"));
  const picture = levels.length ? icicle(levels, view, pick) : h("p", { class: "quiet" }, "Too many groups to draw.");
  replace(place,
    h("h2", {}, `Hierarchy of ${view.name}`, view.edited ? h("span", { class: "tag" }, "edited") : null),
    h("p", { class: "quiet" }, `${number(view.leaves)} values, ${view.height + 1} levels: ${view.levels.map((each) => number(each.count)).join(" → ")} groups.`,
      lowest > 0 ? ` Levels below ${lowest} have too many groups to draw.` : ""),
    view.lint.length
      ? h("ul", { class: "lint", "aria-label": "Remarks on this hierarchy" }, view.lint.map((each) => h("li", {}, h("strong", {}, each.kind.replaceAll("-", " ")), " ", each.text)))
      : h("p", { class: "good" }, "Nothing odd about this hierarchy."),
    h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": `Tree of ${view.name}` }, picture),
    view.editable ? [hint, tools, said] : h("p", { class: "quiet" }, "Cells by number are changed in the job file."));
  if (view.editable) refresh();
}

function shared(names) {
  let start = names[0];
  for (const name of names) while (start && !name.startsWith(start)) start = start.slice(0, -1);
  start = start.replace(/[\s\-_,.;:]+$/, "");
  return start.length > 2 ? start : names.join(" or ").slice(0, 40);
}

function icicle(levels, view, pick) {
  const last = levels[levels.length - 1].groups;
  const total = view.levels[view.height].groups[0][3] || 1;
  const starts = levels.map((level) => new Map(level.groups.map((group, place) => [group[0], place])));
  const rows = last.map((leaf) => h("tr", {}, levels.map((level, depth) => {
    const place = starts[depth].get(leaf[0]);
    if (place === undefined) return null;
    const [first, end, name, count] = level.groups[place];
    const span = last.filter((each) => each[0] >= first && each[1] <= end).length;
    const cell = h("button", { type: "button", class: "node", "aria-pressed": "false", disabled: !view.editable, "data-level": level.level,
      title: `level ${level.level}, ${number(count)} rows` },
    h("span", { class: "name" }, name === "" ? "(empty)" : name), " ", h("span", { class: "count" }, number(count)));
    const share = h("span", { class: "share" });
    share.style.width = `${Math.max(1, (100 * count) / total)}%`;
    cell.append(share);
    cell.addEventListener("click", () => pick(level.level, place, cell));
    return h("td", { rowspan: span }, cell);
  })));
  return h("table", { class: "icicle" },
    h("thead", {}, h("tr", {}, levels.map((level) => h("th", { scope: "col" }, level.level === 0 ? "values" : level.level === view.height ? "all" : `level ${level.level}`)))),
    h("tbody", {}, rows));
}
