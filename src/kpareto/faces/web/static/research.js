// Under Research: how the last run was made and how it came along, and searches side by side on this table.

import * as api from "/static/api.js";
import { h, inRow, labelled, makeButton, number, plainTable, quiet, replace, s, say } from "/static/dom.js";
import { COLOURS, scale } from "/static/chart.js";

const COMPARE = /\/research\/compare$/;
const kept = { id: null, place: null, run: null }; // the settings around it are drawn anew with every change

export function research(page) {
  if (kept.id !== page.id) Object.assign(kept, { id: page.id, run: h("div", { id: "last-run" }), place: null });
  if (!kept.place) kept.place = h("div", { class: "research" }, kept.run, comparing());
  showRun(page);
  return kept.place;
}

// The run whose front is explored: its operators, its convergence, its archive.
export async function showRun(page) {
  const place = kept.run;
  if (!place || !page.run) return;
  let run;
  try {
    ({ run } = await api.get("/research"));
  } catch {
    return; // the search itself says what is wrong
  }
  if (!run) return;
  replace(
    place,
    h("h3", {}, "The last run"),
    quiet(`${run.method}, seed ${run.seed ?? "–"}, ${number(run.evaluated)} recodings counted.`),
    run.settings.length
      ? table(
          "Operators and settings of the run",
          ["Setting", "Value", "What it is"],
          run.settings.map((setting) => [setting.name, setting.value, setting.meaning]),
        )
      : null,
    run.curve.length > 1
      ? [
          h("h4", {}, "Convergence"),
          picture(run.goal, [{ name: run.method, points: run.curve }]),
          quiet(`From ${reachedBy(run.curve[0])} to ${reachedBy(run.curve.at(-1))}.`),
        ]
      : null,
    run.exact.map((sentence) => quiet(sentence)),
    run.archive ? archive(run.archive) : null,
  );
}

const reachedBy = ([done, , least]) => `${number(least)} after ${number(done)} recodings`;

function archive({ names, widths, brackets, most, members }) {
  const wide = names.map((name, at) => `${name} ${number(widths[at])}`).join(", ");
  return [
    h("h4", {}, "Archive"),
    quiet(
      `${number(members.length)} boxes are held, of at most ${number(most)}. The width of a box: ${wide} (${brackets} of quality over width).`,
    ),
    table(
      "Boxes of the archive",
      ["Box", ...names],
      members.map((member) => [member.box.join(" · "), ...member.values.map((value) => number(value))]),
      1,
    ),
  ];
}

function comparing() {
  const answer = h("div", { id: "trials", role: "status" });
  const names = h("textarea", { rows: 3, id: "trial-searches", spellcheck: "false" }, "nsga2\nflip");
  const seeds = h("input", { type: "number", id: "trial-seeds", min: 1, max: 100, value: 5 });
  const start = makeButton("Compare searches", { class: "second", id: "start-trials" }, begin);
  const stop = makeButton("Stop", { class: "second", id: "stop-trials", hidden: true }, () => api.stopWork(COMPARE));
  async function begin() {
    const searches = names.value.split("\n");
    start.disabled = true;
    stop.hidden = false;
    replace(answer, quiet("Comparing; you can go on …"));
    try {
      const trials = await api.post("/research/compare", { searches, seeds: Number(seeds.value) });
      replace(answer, shown(trials));
      say("The searches are compared.");
    } catch (error) {
      replace(answer, h("p", { class: error.stopped ? "quiet" : "bad" }, error.message));
    }
    start.disabled = false;
    stop.hidden = true;
  }
  return [
    h("h3", {}, "Searches side by side"),
    quiet(
      "Several searches, or settings of one, on this table, each with several seeds. What the job says beside its search (wishes, budget, seconds) is taken where it fits.",
    ),
    labelled("Searches, one on each line, such as nsga2:mutation=0.08,population=50", names),
    inRow(labelled("Seeds of each", seeds, "field narrow"), start, stop),
    answer,
  ];
}

function shown(trials) {
  const [searches, pairs] = trials.tables;
  return [
    table("Searches", searches.heads, searches.rows, 1),
    table("Every two searches", pairs.heads, pairs.rows, 3),
    picture(trials.goal, trials.curves),
    trials.sentences.map((sentence) => quiet(sentence)),
  ];
}

// Columns from ``numbers`` on are numbers.
const table = (caption, head, rows, numbers = head.length) =>
  plainTable({ caption, head, rows, right: head.map((_, at) => at).filter((at) => at >= numbers) });

// The least loss against recodings: a line for the median, a band between the quartiles; points are [done, low, middle, high].
function picture(goal, curves) {
  const drawn = curves.filter((curve) => curve.points.length);
  const all = drawn.flatMap((curve) => curve.points);
  if (!all.length) return quiet("No run has met the limits, so there is no curve.");
  const [wide, high, left, right, top, bottom] = [560, 240, 64, 12, 12, 40];
  const last = Math.max(2, ...all.map(([done]) => done));
  const low = Math.min(...all.map((point) => point[1])),
    most = Math.max(...all.map((point) => point[3]));
  const x = scale(1, last, true, left, wide - right);
  const y = scale(low, most > low ? most : low + 1, false, high - bottom, top);
  const corner = (done, value) => `${x(done).toFixed(1)},${y(value).toFixed(1)}`;
  const line = (points, at) => points.map((point) => corner(point[0], point[at])).join(" ");
  const text = (words, place) => s("text", place, words);
  return h(
    "figure",
    { class: "curves" },
    s(
      "svg",
      { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${goal} against recodings counted` },
      s("path", { class: "axis", d: `M${left},${top}V${high - bottom}H${wide - right}` }),
      text(number(most), { x: left - 6, y: top + 8, "text-anchor": "end" }),
      text(number(low), { x: left - 6, y: high - bottom, "text-anchor": "end" }),
      text("1", { x: left, y: high - bottom + 16 }),
      text(number(last), { x: wide - right, y: high - bottom + 16, "text-anchor": "end" }),
      text("recodings counted (logarithmic)", { x: (left + wide) / 2, y: high - 8, "text-anchor": "middle" }),
      drawn.map((curve, at) =>
        s(
          "g",
          { class: `run-${at % COLOURS}` },
          s("polygon", {
            class: "band",
            points: `${line(curve.points, 1)} ${line([...curve.points].reverse(), 3)}`,
          }),
          s("polyline", { points: line(curve.points, 2) }),
        ),
      ),
    ),
    h(
      "figcaption",
      {},
      `${goal}: `,
      drawn.map((curve, at) => [
        h("span", { class: `run-${at % COLOURS}`, "aria-hidden": "true" }, "━ "),
        `${curve.name}${at < drawn.length - 1 ? ", " : ""}`,
      ]),
    ),
  );
}
