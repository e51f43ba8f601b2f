// The tables of this browser: each has a session with an address of its own. Which there are, another one, closing one.

import * as api from "/static/api.js";
import { h, makeButton, quiet, replace, say } from "/static/dom.js";

const LIST = "kpareto-tables"; // belongs to this origin, as the key does: nobody else's tables are listed
const LAST = "kpareto-session";

function known() {
  try {
    const list = JSON.parse(localStorage.getItem(LIST));
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

const keep = (ids) => localStorage.setItem(LIST, JSON.stringify(ids.slice(-100)));
const address = (id) => `/?s=${encodeURIComponent(id)}`;
export const tableName = (source) => (source === "adult" ? "Adult (embedded)" : source);
export const lastTable = () => localStorage.getItem(LAST);
export const newTable = (words) => h("a", { href: address("new"), target: "_blank", class: "new-table" }, words);

export function rememberTable(id) {
  localStorage.setItem(LAST, id);
  if (!known().includes(id)) keep([...known(), id]);
}

async function close(page, line) {
  if (line.open) await api.closeTable(line.id);
  keep(known().filter((id) => id !== line.id));
  say(`${tableName(line.source)} is closed; its job and its runs are kept.`);
  if (line.id !== page.id) return;
  const { tables } = await api.tables(known()); // as they are now: other tabs open and close some too
  const next = tables.find((table) => table.open && table.id !== line.id);
  location.assign(address(next ? next.id : "new"));
}

function tableLine(page, line, draw) {
  const name = tableName(line.source);
  const price = line.running ? "It is searching: close?" : line.open && line.uploaded ? "Its rows go: close?" : "";
  const button = makeButton("Close", { class: "plain small", "aria-label": `Close ${name}` }, async () => {
    if (price && button.textContent !== price) {
      button.textContent = price;
      button.setAttribute("aria-label", `${price} ${name}`);
      return;
    }
    await page.attempt(() => close(page, line));
    draw();
  });
  const about = [
    line.id === page.id ? "in this tab" : line.open ? "open" : "closed, its job is kept",
    line.running ? "searching" : line.run ? line.run.name : "",
  ].filter(Boolean);
  return h(
    "li",
    {},
    h("a", { href: address(line.id), "aria-current": line.id === page.id ? "page" : null }, name),
    h("span", { class: "quiet" }, about.join(" · ")),
    button,
  );
}

// A list that is asked for when it is opened.
export function tablesMenu(page) {
  const menu = document.getElementById("tables");
  const place = menu.querySelector("div");
  const draw = async () => {
    let tables;
    try {
      ({ tables } = await api.tables(known()));
    } catch (error) {
      replace(place, h("p", {}, error.message));
      return;
    }
    keep(known().filter((id) => id === page.id || tables.some((line) => line.id === id)));
    replace(
      place,
      tables.length
        ? h(
            "ul",
            {},
            tables.map((line) => tableLine(page, line, draw)),
          )
        : quiet("No table is open yet."),
      h("p", {}, newTable("New table, in a new tab")),
      quiet(
        `At most ${page.about.most_tables} tables are open at once. Beyond that, the one unused longest is closed; its job and its runs are kept.`,
      ),
    );
  };
  menu.addEventListener("toggle", () => {
    if (menu.open) draw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target) && event.target.isConnected) menu.open = false;
  });
  window.addEventListener("focus", () => {
    if (page.id) localStorage.setItem(LAST, page.id); // the tab that was used last
  });
}
