// Other models of recoding beside the front: what each would keep of the detail, k by k, drawn into the same picture.

import * as api from "/static/api.js";
import {
  bad,
  clock,
  formula,
  h,
  inRow,
  makeButton,
  num,
  number,
  numName,
  percent,
  quiet,
  replace,
  say,
  scroll,
  select,
  tableOf,
  tr,
} from "/static/dom.js";
import { CURVE_COLOURS } from "/static/chart.js";

const LIMITS = [
  ["10", "about 10 seconds"],
  ["30", "about half a minute"],
  ["120", "about two minutes"],
  ["600", "about ten minutes"],
];

// The curves that fit a picture of k and detail kept; nothing on other axes.
export function curvesFor(run, x, y) {
  const fits = x.name === "k" && y.reading === "kept" && ["glm", "lm"].includes(y.name);
  if (!fits || !run || !run.curves) return [];
  return run.curves.map((curve) => ({
    ...curve,
    points: curve.points.map((point) => ({
      x: point.k,
      y: 100 * point.kept,
      most: point.most === null ? null : 100 * point.most,
    })),
  }));
}

export function modelsCard(page, onnews) {
  const place = h("section", { class: "card", id: "models", "aria-labelledby": "models-title" });
  let timer = null;
  let run = null;
  let seconds = "30";
  let open = true;
  const take = (answer) => {
    const before = run && run.phase;
    run = answer.run;
    if (!open) return;
    draw();
    if (before === "running" && run && run.phase === "done") say("The models are compared.");
    onnews(run);
    clearTimeout(timer);
    if (run && run.phase === "running") timer = setTimeout(look, 400);
  };
  const look = async () => {
    try {
      take(await api.get("/models"));
    } catch (error) {
      if (open) replace(place, title(), bad(error.message));
    }
  };
  const start = async () => {
    const answer = await page.attempt(() => api.post("/models", { seconds: Number(seconds) }));
    if (answer) {
      take(answer);
      const stop = document.getElementById("stop-models");
      if (stop) stop.focus();
    }
  };
  const stop = async () => {
    const answer = await page.attempt(() => api.remove("/models"));
    if (answer) take(answer);
  };
  const title = () => h("h2", { id: "models-title" }, "Other ways to recode");
  function draw() {
    const running = run && run.phase === "running";
    replace(
      place,
      title(),
      quiet(
        "The same table with more freedom: levels mixed within a column, or labels of their own for every class. More freedom keeps more detail at the same k.",
      ),
      running
        ? progress()
        : inRow(
            select("It may take", LIMITS, seconds, { id: "models-seconds" }, (value) => {
              seconds = value;
            }),
            makeButton(
              run && run.curves ? "Compare again" : "Compare with other models",
              { class: "second", id: "compare-models" },
              start,
            ),
          ),
      run && run.sentence
        ? h("p", { class: run.phase === "failed" ? "bad" : "quiet", role: "status" }, run.sentence)
        : null,
      run && run.curves ? gains() : null,
    );
  }
  function progress() {
    const now = run.models[Math.min(run.place, run.models.length - 1)];
    const late = run.seconds > run.allowed; // each model ends what it is at
    const words = run.stopping
      ? "Stopping …"
      : run.preparing
        ? `Preparing the compiled code, once for this machine; it can take minutes … · ${clock(run.prepared)}`
        : `${now.words} (${run.place + 1} of ${run.models.length}) · ${clock(run.seconds)} of about ${clock(run.allowed)}${late ? ", ending" : ""}`;
    return [
      h("progress", {
        max: run.allowed,
        value: late || run.preparing ? null : run.seconds,
        "aria-label": "Progress of the comparison",
      }),
      inRow(
        h("p", { class: "progress-words" }, words),
        makeButton("Stop", { class: "second small", id: "stop-models", disabled: run.stopping }, stop),
      ),
    ];
  }
  function gains() {
    const key = (curve) => {
      const line = h("span", { class: "line-key" });
      line.style.background = `var(${CURVE_COLOURS[curve.name]})`;
      return line;
    };
    return [
      scroll(
        "Detail kept by each model",
        tableOf(
          { class: "gains-by-model" },
          [
            numName("k"),
            run.curves.map((curve) =>
              numName(key(curve), ` ${curve.words}`, formula(curve.name + (curve.proven ? ", proven" : ""))),
            ),
          ],
          run.gains.map((row) =>
            tr(
              h("th", { scope: "row", class: "num" }, number(row.k)),
              run.curves.map((curve) => {
                const kept = row[curve.name],
                  most = row[`${curve.name} at most`];
                return num(
                  kept === null ? "–" : percent(kept / 100),
                  !curve.proven && most !== null && most !== undefined
                    ? h("span", { class: "quiet" }, ` (${percent(most / 100)})`)
                    : "",
                );
              }),
            ),
          ),
          "Detail kept at each k; in brackets the most that any such recoding could keep",
        ),
      ),
      quiet(`${run.advice ? run.advice + " " : ""}The curves are drawn in the picture of k and detail kept.`),
    ];
  }
  draw();
  look();
  return {
    place,
    curves: () => run,
    close: () => {
      open = false;
      clearTimeout(timer);
    },
  };
}
