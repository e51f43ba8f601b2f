// The page: which of the four views is shown, what the server said, and coming back after a reload.

import * as api from "/static/api.js";
import {
  clock,
  h,
  handsOff,
  isTyping,
  makeButton,
  number,
  percent,
  replace,
  say,
  whenRested,
  wrong,
} from "/static/dom.js";
import { dataView } from "/static/data.js";
import { searchView } from "/static/search.js";
import { exploreView } from "/static/explore.js";
import { releaseView } from "/static/release.js";
import { runsCard } from "/static/runs.js";
import { lastTable, rememberTable, tableName, tablesMenu } from "/static/tables.js";
import { changesOf, putOnTop, sameTable, takeInto } from "/static/changes.js";

const VIEWS = [
  ["data", "Data", dataView],
  ["search", "Search", searchView],
  ["explore", "Explore", exploreView],
  ["release", "Release", releaseView],
];
const GONE = 410; // a session that the server does not know
const BEAT = 1000; // milliseconds between two questions whether the server is there and what is new
const SOON = 400; // work that is done before is not worth a word

const over = (phase) => ["done", "stopped", "failed"].includes(phase);

export const page = {
  about: null, // version, files, measures
  id: null,
  job: null, // the one object that every view changes; see draft
  profile: null, // the columns; none after a restart, until the table is looked at again
  awaits: "", // a file that was dropped here before a restart, and whose job waits for it
  goesOn: false, // with the rows that were read, although their file has changed
  uploaded: false,
  search: null, // status of the search that was started last
  run: null, // the run that is explored
  front: null, // the finished front
  frontOf: null, // which run it is of, and how far that was
  released: null,
  stale: false, // the job has changed since the search
  view: {}, // what is shown; kept on the server
  leave: null, // what a view that is being drawn will do when it is left

  get draft() {
    return this.job;
  },

  // The object stays and its content changes, so that no part of the page goes on with an old job.
  set draft(next) {
    if (next === this.job) return;
    const mine = sameTable(next, this.job) ? this.unsent() : [];
    api.setKnown(next);
    if (!next || !this.job) this.job = next;
    else takeInto(this.job, putOnTop(next, mine));
  },

  // What was changed here and the server does not have: on its way, lost, or come too late. It stays in the job.
  unsent() {
    return this.job && api.knownJob() ? changesOf(api.knownJob(), this.job) : [];
  },

  // Change the job: the page has it at once, the server when it answers; what it refuses is taken back.
  async change(next = this.job) {
    if (next !== this.job && !sameTable(next, this.job)) {
      show();
      return undefined;
    } // of a table that is no longer open
    takeInto(this.job, next);
    const done = await this.attempt(async () => {
      try {
        return await api.putJob(() => this.job);
      } catch (error) {
        if (!error.late && !error.lost && error.status !== GONE) {
          takeInto(this.job, putOnTop(api.knownJob(), changesOf(error.sent, this.job)));
          show();
        }
        throw error;
      }
    });
    if (done) Object.assign(this, { draft: done.draft, stale: done.stale });
    return done;
  },

  take(state) {
    const { draft, profile, uploaded, search, released, stale, run } = state;
    const before = this.job;
    this.job = null;
    Object.assign(this, {
      draft,
      profile,
      uploaded,
      search,
      run,
      released,
      stale,
      awaits: state.awaits,
      view: state.view || {},
      id: state.id,
    });
    if (sameTable(before, this.job)) {
      takeInto(before, this.job);
      this.job = before;
    } // the view that is shown has it
    this.frontMoved();
  },

  // Another run, or more of the same one: its points are others, and so are their numbers. Tells whether it is so.
  frontMoved() {
    const { run, search } = this;
    const own = run && search && search.run === run.id ? search : null;
    if (!run) {
      Object.assign(this, { frontOf: null, front: null });
      return false;
    }
    if (own && !over(own.phase)) return false;
    const [was, now] = [this.frontOf, { id: run.id, far: own ? [own.done, own.points].join() : null }];
    const same = was !== null && was.id === now.id;
    if (same && (was.far === null || now.far === null || was.far === now.far)) {
      was.far = was.far || now.far;
      return false;
    }
    Object.assign(this, { frontOf: now, front: null });
    if (same) Object.assign(this.view, { chosen: null, pins: [] });
    return true;
  },

  // Every answer that has the job in it.
  hear(answer) {
    if (!answer.draft || !this.job || answer.draft.data.source !== this.job.data.source) return;
    if (api.knownJob() && answer.draft.revision < api.knownJob().revision) return; // overtaken by a newer one
    this.draft = answer.draft;
    if (answer.stale === undefined || answer.stale === this.stale) return;
    this.stale = answer.stale;
    if (current() === "explore") show(); // a late answer: the picture says that it is old
  },

  // What is shown stays the same object where it is kept: a view that is being drawn goes on with it.
  async refresh(words = "", { keepView = false, keepMine = keepView } = {}) {
    let state = await api.oldSession(this.id);
    if (isOlder(state)) state = await api.oldSession(this.id);
    const { view } = this;
    const mine = keepMine && sameTable(state.draft, this.job) ? this.unsent() : [];
    const kept = keepView ? { ...state, view } : state;
    this.take(kept);
    if (keepView) this.view = Object.assign(view, kept.view);
    if (mine.length) takeInto(this.job, putOnTop(api.knownJob(), mine));
    if (words) note(words);
    await show();
  },

  // Look at the table after a restart, or at a file that has changed; a second wish waits for the first.
  lookAgain() {
    const { view } = this;
    this.looking ??= api
      .post("/table/look")
      .then(async (state) => {
        this.take({ ...state, view });
        drawChanged(false);
        if (state.words) note(state.words);
        await show();
      })
      .finally(() => {
        this.looking = null;
      });
    return this.looking;
  },

  remember(changes) {
    Object.assign(this.view, changes);
    clearTimeout(this.later);
    this.later = setTimeout(() => api.put("/view", this.view).catch(() => {}), 150);
  },

  // An error that comes when another view is shown names the one it is of.
  async attempt(work, busy = "", failed = () => {}) {
    const began = current();
    wrong("");
    if (busy) say(busy);
    document.body.classList.add("busy");
    try {
      const answer = await work();
      if (busy) say("Done.");
      return answer;
    } catch (error) {
      failed(error);
      if (error.stopped) say("Stopped.");
      else if (error.late) late(true).catch((reason) => wrong(reason.message));
      else if (error.lost) connection(error.message);
      else
        wrong(current() === began ? error.message : `${VIEWS.find(([each]) => each === began)[1]}: ${error.message}`);
      return undefined;
    } finally {
      document.body.classList.remove("busy");
    }
  },

  staleNote() {
    return this.stale
      ? h(
          "p",
          { class: "price" },
          "The job has changed since this search, or the file that it reads has. ",
          h("a", { href: "#search" }, "Search again"),
          " to see what the changes do.",
        )
      : null;
  },

  async loadFront() {
    if (this.front || !this.run) return this.front;
    const of = this.frontOf;
    const front = await api.get("/front");
    if (this.frontOf === of) this.front = front; // else the run has gone on meanwhile, or is another
    return front;
  },

  open(name) {
    if (location.hash === `#${name}`) show();
    else location.hash = name;
  },
  redraw: () => show(),
  note: (words) => note(words),
};

function allowed(name) {
  if (name === "data") return true;
  if (name === "search") return Boolean(page.draft);
  return Boolean(page.run);
}

export function steps() {
  const now = current();
  replace(
    document.getElementById("steps"),
    VIEWS.map(([name, title], place) => {
      const can = allowed(name);
      const inside = [h("span", { class: "step", "aria-hidden": "true" }, place + 1), title];
      return h(
        "li",
        {},
        can
          ? h(
              "a",
              {
                href: `#${name}`,
                "aria-current": name === now ? "page" : null,
                onclick: () => {
                  if (location.hash === `#${name}` || (!location.hash && name === now)) show();
                },
              },
              inside,
            )
          : h("span", { class: "off", "aria-disabled": "true" }, inside),
      );
    }),
  );
}

function current() {
  const name = location.hash.slice(1);
  return VIEWS.some(([each]) => each === name) && allowed(name) ? name : "data";
}

let asked = 0; // a view that was asked for later is the one that is drawn
let leaving = null; // what the view that is shown does when it is left

// What a view needs comes first, and then a hand that lets go: what is shown stays alive until the other takes its place.
async function show() {
  const name = current();
  const mine = ++asked;
  const overtaken = () => mine !== asked || current() !== name;
  const disturbs = () => document.body.dataset.view === name && isTyping();
  if (disturbs()) {
    whenRested(show);
    return;
  }
  steps();
  const [, title, view] = VIEWS.find(([each]) => each === name);
  document.title = [title, page.draft ? tableName(page.draft.data.source) : "", "kpareto"].filter(Boolean).join(" – ");
  let failed = null;
  if (name === "explore" || name === "release")
    await page.loadFront().catch((error) => {
      failed = error;
    });
  await handsOff();
  if (overtaken()) return;
  if (disturbs()) {
    whenRested(show);
    return;
  }
  if (leaving) leaving();
  page.leave = null;
  try {
    if (failed) throw failed;
    replace(document.getElementById("main"), await view(page), name === "data" && !page.draft ? runsCard(page) : null);
  } catch (error) {
    const ways = [h("a", { href: "#search" }, "Search again"), ", ", h("a", { href: "#data" }, "look at the data")];
    replace(
      document.getElementById("main"),
      h("h1", {}, title),
      h("p", { class: "price" }, error.message),
      failed ? [h("p", {}, ways, ", or open another run."), runsCard(page)] : null,
    );
  }
  leaving = page.leave;
  document.body.dataset.view = name;
}

// -- what goes on beside the views ---------------------------------------------------------------------------------
// What is drawn above a view moves it, and so the button that a hand is on: it waits until the hand lets go.

async function note(words) {
  const place = document.getElementById("note");
  say(words);
  await handsOff();
  replace(
    place,
    h("p", {}, words),
    makeButton("Close", { class: "plain" }, () => place.replaceChildren()),
  );
}

// The job was changed elsewhere: load what is there now and say so, also that a change made here was not taken. Where the
// server has that change, because only its answer was lost, there is nothing to say.
async function late(refused) {
  const mine = page.unsent().length > 0;
  const state = await api.oldSession(page.id);
  if (mine && sameTable(state.draft, page.job) && !changesOf(state.draft, page.job).length) {
    page.take({ ...state, view: page.view });
    await show();
    return;
  }
  const lost = refused || mine ? "What was changed here meanwhile was not taken. " : "";
  await page.refresh(
    `The job was changed elsewhere, in another tab or by somebody with the same link. ${lost}This is how it stands now.`,
  );
}

// Whether the job in a state is older than what the server has told since it was asked.
function isOlder(state) {
  return Boolean(state.draft && api.knownJob()) && state.draft.revision < api.knownJob().revision;
}

async function connection(words) {
  const place = document.getElementById("lost");
  await handsOff();
  if (place.textContent === words) return;
  replace(place, words ? h("p", {}, words) : null);
}

// A file that is no longer the one whose rows were read: what that means, and what can be done.
async function drawChanged(changed) {
  const place = document.getElementById("changed");
  await handsOff();
  if (!changed) page.goesOn = false;
  const words = !changed
    ? ""
    : page.goesOn
      ? "These are the rows that were read before the file changed on disk. What was searched can be explored; nothing is searched anew or released before the file is read again."
      : `${page.draft.data.source} has changed on disk since its rows were read. The two are never mixed: read it again, or go on exploring the rows that were read.`;
  if (place.dataset.words === words) return;
  place.dataset.words = words;
  const button = (text, id, onclick) => makeButton(text, { class: "small second", id }, onclick);
  const goOn = () => {
    page.goesOn = true;
    drawChanged(true);
  };
  replace(
    place,
    words ? h("p", {}, words) : null,
    words ? button("Read it again", "read-again", () => page.attempt(() => page.lookAgain())) : null,
    words && !page.goesOn ? button("Go on with the rows that were read", "go-on-old", goOn) : null,
  );
}

// Whether a search began, ended or found something of which this view has not heard.
function searchMoved(pulse) {
  if (pulse.phase === null) return false;
  if (!page.search) return true;
  if (!over(page.search.phase)) return current() !== "search" && over(pulse.phase); // the search view follows it itself
  return pulse.phase !== page.search.phase || pulse.search !== page.search.version;
}

// Where the server did not answer for a while, the view stays as it is, with what is typed and chosen in it; what a view
// had asked in vain is asked again, and so is a change that did not arrive, unless the job was changed elsewhere too.
async function beat() {
  const quiet = api.idle();
  const before = page.job ? page.job.revision : 0;
  const { search, run } = page;
  try {
    const pulse = await api.pulse();
    const was = document.getElementById("lost").textContent;
    connection("");
    if (was) say("The server answers again.");
    drawWork();
    if (pulse.changed && page.draft && !page.profile) page.lookAgain().catch((error) => wrong(error.message));
    else if (!page.looking) drawChanged(pulse.changed && Boolean(page.draft));
    if (!quiet || !api.idle() || !page.id || isTyping() || before !== (page.job ? page.job.revision : 0)) return;
    const [asked, dropped] = api.takeMissed();
    if (pulse.revision !== before) {
      await late(false);
    } else if (dropped && page.unsent().length) {
      if (await page.change()) note("The server answers again, and has what was changed here meanwhile.");
      await show();
    } else if (search !== page.search || run !== page.run) {
      // heard of meanwhile: what was told before is old
      if (asked) await show();
    } else if ((pulse.run || null) !== (run ? run.id : null) || searchMoved(pulse)) {
      await page.refresh("", { keepView: true });
    } else if (asked) await show();
  } catch (error) {
    if (error.lost)
      connection(
        "The server does not answer. Is kpareto serve still running in its terminal? The job and the runs are kept; this page tries again every second.",
      );
    else if (error.status === 401)
      connection(
        "The key of this page is old: kpareto serve was started anew. Open the link that it printed; the job and the runs are kept there.",
      );
    else if (error.closed) connection(error.message);
    else if (error.status === GONE) await revive();
  }
}

// The server was started anew with the same key: go on with what was worked on.
async function revive() {
  try {
    const base = api.knownJob();
    await page.refresh("The server was started anew. This is what you were working on.", { keepMine: true });
    if (!page.unsent().length) return;
    if (changesOf(base, api.knownJob()).length) await late(false);
    else await page.change();
    await show();
  } catch {
    connection(
      "This session is over, and what was worked on is not kept. Reload the page to begin another; earlier runs are listed there.",
    );
  }
}

async function keepBeating() {
  await beat();
  setTimeout(keepBeating, api.underWay().length ? BEAT / 3 : BEAT);
}

async function drawWork() {
  await handsOff();
  const place = document.getElementById("work");
  const shown = api.underWay().filter((work) => !work.behind && performance.now() - work.began > SOON);
  if (!shown.length) {
    if (place.children.length) place.replaceChildren();
    return;
  }
  for (const row of Array.from(place.children)) if (!shown.some((work) => work.id === row.dataset.work)) row.remove();
  for (const work of shown) {
    let row = [...place.children].find((each) => each.dataset.work === work.id);
    if (!row) {
      const stop = makeButton("Stop", { class: "second small" }, () => work.stop());
      row = h(
        "div",
        { class: "work", "data-work": work.id },
        h("span", { class: "words" }),
        h("progress", { max: 1, "aria-label": work.words }),
        stop,
      );
      place.append(row);
    }
    const bar = row.querySelector("progress");
    const seconds = (performance.now() - work.began) / 1000;
    const share = work.share ?? null; // of all that is to be done; nothing where it cannot be counted
    const far =
      work.total > 1 << 16
        ? `${number(work.done / 2 ** 20, 3)} of ${number(work.total / 2 ** 20, 3)} MB`
        : work.total && work.total !== 100
          ? `${number(work.done)} of ${number(work.total)}`
          : "";
    const step = work.steps > 1 ? `step ${work.step} of ${work.steps}` : "";
    row.querySelector(".words").textContent = [
      `${work.words} …`,
      step,
      share === null ? "" : percent(share, 0),
      far,
      seconds > 3 ? clock(seconds) : "",
    ]
      .filter(Boolean)
      .join(" · ");
    bar.setAttribute("aria-label", work.words);
    if (share !== null) bar.value = share;
    else bar.removeAttribute("value");
  }
}

async function begin() {
  const anew = api.takeKey();
  api.onState((answer) => page.hear(answer));
  api.onWork(() => {
    drawWork();
    setTimeout(drawWork, SOON + 20);
  });
  const theme = localStorage.getItem("kpareto-theme");
  if (theme) document.documentElement.dataset.theme = theme;
  page.about = await api.about();
  document.getElementById("about").textContent = `${page.about.version} · ${page.about.folder}`;
  const asked = new URLSearchParams(location.search).get("s");
  const begins = asked === "new" || (!asked && anew && page.about.job); // a server that was started with another table
  const known = begins ? null : asked || lastTable();
  let state = null;
  if (known) {
    try {
      state = await api.oldSession(known);
    } catch {
      if (asked) note("The table of this address is not known here. Begin a new one, or look under Tables.");
    }
  }
  if (!state) {
    state = await api.newSession(asked === "new");
    if (state.draft) location.hash = "data";
  }
  rememberTable(state.id);
  tablesMenu(page);
  history.replaceState(null, "", `/?s=${encodeURIComponent(state.id)}${location.hash}`);
  api.setSession(state.id);
  page.take(state);
  await show();
  keepBeating();
}

// A download cannot send the key, so it gets a link that is good once.
document.addEventListener("click", async (event) => {
  const anchor = event.target.closest ? event.target.closest("a[download]") : null;
  if (!anchor || !anchor.getAttribute("href").startsWith("/api/")) return;
  event.preventDefault();
  const href = await page.attempt(() => api.once(anchor.getAttribute("href")));
  if (href) h("a", { href, download: anchor.getAttribute("download") }).click();
});
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("kpareto-theme", root.dataset.theme);
  window.dispatchEvent(new Event("resize"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("resize")));
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
  replace(
    document.getElementById("main"),
    h("h1", {}, "kpareto"),
    h("p", {}, "The page could not be set up; the sentence above says why."),
  );
});
