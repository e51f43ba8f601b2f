// The page: which of the four views is shown, what the server said, and coming back after a reload.

import * as api from "/static/api.js";
import { h, replace, say, wrong } from "/static/dom.js";
import { dataView } from "/static/data.js";
import { searchView } from "/static/search.js";
import { exploreView } from "/static/explore.js";
import { releaseView } from "/static/release.js";

const VIEWS = [
  ["data", "Data", dataView],
  ["search", "Search", searchView],
  ["explore", "Explore", exploreView],
  ["release", "Release", releaseView],
];
const KEY = "kpareto-session";

export const page = {
  about: null, // version, files, measures
  draft: null, // the job
  profile: null, // the columns
  uploaded: false,
  search: null, // status of the search
  front: null, // the finished front
  released: null,
  stale: false, // the job has changed since the search
  view: {}, // what is shown; kept on the server
  leave: null, // what the view does when it is left

  take(state) {
    const { draft, profile, uploaded, search, released, stale } = state;
    Object.assign(this, { draft, profile, uploaded, search, released, stale, view: state.view || {} });
  },

  remember(changes) {
    Object.assign(this.view, changes);
    clearTimeout(this.later);
    this.later = setTimeout(() => api.put("/view", this.view).catch(() => {}), 150);
  },

  async attempt(work, busy = "") {
    wrong("");
    if (busy) say(busy);
    document.body.classList.add("busy");
    try {
      const answer = await work();
      if (busy) say("Done.");
      return answer;
    } catch (error) {
      wrong(error.message);
      return undefined;
    } finally {
      document.body.classList.remove("busy");
    }
  },

  staleNote() {
    return this.stale ? h("p", { class: "price" }, "The job has changed since this search. ", h("a", { href: "#search" }, "Search again"), " to see what the changes do.") : null;
  },

  async loadFront() {
    if (!this.front && this.search && ["done", "stopped"].includes(this.search.phase)) this.front = await api.get("/front");
    return this.front;
  },

  open(name) {
    if (location.hash === `#${name}`) show();
    else location.hash = name;
  },
  redraw: () => show(),
};

function allowed(name) {
  if (name === "data") return true;
  if (name === "search") return Boolean(page.draft);
  return Boolean(page.search && ["done", "stopped"].includes(page.search.phase));
}

export function steps() {
  const now = current();
  replace(document.getElementById("steps"), VIEWS.map(([name, title], place) => {
    const can = allowed(name);
    const inside = [h("span", { class: "step", "aria-hidden": "true" }, place + 1), title];
    return h("li", {}, can
      ? h("a", { href: `#${name}`, "aria-current": name === now ? "page" : null }, inside)
      : h("span", { class: "off", "aria-disabled": "true" }, inside));
  }));
}

function current() {
  const name = location.hash.slice(1);
  return VIEWS.some(([each]) => each === name) && allowed(name) ? name : "data";
}

async function show() {
  const name = current();
  if (page.leave) page.leave();
  page.leave = null;
  steps();
  const place = document.getElementById("main");
  const [, title, view] = VIEWS.find(([each]) => each === name);
  document.title = `${title} – kpareto`;
  try {
    const made = await view(page);
    if (current() === name) replace(place, made);
  } catch (error) {
    replace(place, h("h1", {}, title), h("p", {}, error.message));
  }
  document.body.dataset.view = name;
}

async function begin() {
  const theme = localStorage.getItem("kpareto-theme");
  if (theme) document.documentElement.dataset.theme = theme;
  page.about = await api.about();
  document.getElementById("about").textContent = `${page.about.version} · ${page.about.folder}`;
  const given = new URLSearchParams(location.search).get("s") || localStorage.getItem(KEY);
  let state = null;
  if (given) {
    try { state = await api.oldSession(given); } catch { /* the server was started anew */ }
  }
  if (!state) {
    state = await api.newSession();
    if (state.draft) location.hash = "data";
  }
  localStorage.setItem(KEY, state.id);
  history.replaceState(null, "", `/?s=${encodeURIComponent(state.id)}${location.hash}`);
  api.setSession(state.id);
  page.take(state);
  await show();
}

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("kpareto-theme", root.dataset.theme);
  window.dispatchEvent(new Event("resize"));
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("hashchange", async () => {
  wrong("");
  await show();
  document.getElementById("main").focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
begin().catch((error) => {
  wrong(error.message);
  replace(document.getElementById("main"), h("h1", {}, "kpareto"), h("p", {}, "The page could not be set up; the sentence above says why."));
});
