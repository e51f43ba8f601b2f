// Runs: every search that was made over this folder or this table, kept; opened, renamed, noted, compared, deleted.

import * as api from "/static/api.js";
import {
  bad,
  colName,
  drawing,
  fillFrom,
  formula,
  h,
  inRow,
  makeButton,
  num,
  number,
  numName,
  quiet,
  replace,
  s,
  say,
  scroll,
  select,
  tableOf,
  td,
  why,
} from "/static/dom.js";
import { COLOURS } from "/static/chart.js";
import { countedOf, labelOf } from "/static/plain.js";
import { wayName } from "/static/ways.js";

const when = (seconds) =>
  new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export function runsCard(page) {
  const place = h("section", { class: "card", id: "runs", "aria-labelledby": "runs-title" });
  const chosen = new Set(page.view.runs || []);
  const fetched = new Map(); // id -> numbers of its front
  const picture = h("div", { id: "runs-picture" });

  async function load() {
    try {
      draw((await api.get("/runs")).runs);
    } catch (error) {
      replace(place, heading(), bad(error.message));
    }
  }

  const heading = () => h("h2", { id: "runs-title" }, "Runs");

  function draw(runs) {
    for (const id of chosen) if (!runs.some((run) => run.id === id)) chosen.delete(id);
    if (!runs.length) {
      replace(
        place,
        heading(),
        quiet(
          "Every search is kept here with its job, its front and its time, also when the server ends. There is none yet.",
        ),
      );
      return;
    }
    replace(
      place,
      heading(),
      quiet(
        "Kept with job, front and time, also when the server ends. Rows are not kept: a run over a file that was dropped here needs that file again.",
      ),
      scroll(
        "Kept runs",
        tableOf(
          { class: "runs" },
          [
            ["Compare", "Name and note", "Begun", "Table", "Search"].map((each) => colName(each)),
            numName("Points"),
            td(),
          ],
          runs.map((run) => line(run, runs)),
        ),
      ),
      picture,
    );
    drawPicture(runs);
  }

  function line(run, runs) {
    const { status } = run;
    const write = (key, attributes, words) => {
      const field = h("input", {
        type: "text",
        value: run[key],
        ...attributes,
        onchange: async () => {
          const answer = await page.attempt(() => api.put(`/runs/${run.id}`, { [key]: field.value }));
          if (answer) {
            run[key] = answer[key];
            say(words());
            if (key === "name") drawPicture(runs);
          }
          field.value = run[key];
        },
      });
      return field;
    };
    const name = write(
      "name",
      { maxlength: 80, "aria-label": `Name of the run ${run.name}` },
      () => `The run is called ${run.name} now.`,
    );
    const note = write(
      "note",
      { maxlength: 500, placeholder: "Note", "aria-label": `Note on the run ${run.name}` },
      () => "The note is kept.",
    );
    const compare = h("input", {
      type: "checkbox",
      checked: chosen.has(run.id),
      disabled: !status.points,
      "aria-label": `Compare ${run.name}`,
      onchange: () => {
        if (compare.checked) chosen.add(run.id);
        else chosen.delete(run.id);
        page.remember({ runs: [...chosen] });
        drawPicture(runs);
      },
    });
    const open = makeButton(
      run.explored ? "Open now" : "Open",
      {
        class: "second small",
        "data-open": run.id,
        disabled: run.explored || run.running || !run.here,
        title: run.here ? "" : "Drop its file on the Data page first",
      },
      async () => {
        const state = await page.attempt(() => api.post(`/runs/${run.id}/open`), `Opening ${run.name} …`);
        if (!state) return;
        page.take(state);
        page.open(page.run ? "explore" : "search");
      },
    );
    const drop = makeButton(
      "Delete",
      { class: "plain small", disabled: run.running, "aria-label": `Delete the run ${run.name}` },
      async () => {
        if (drop.dataset.sure !== "yes") {
          drop.dataset.sure = "yes";
          drop.textContent = "Delete for good?";
          return;
        }
        const done = await page.attempt(() => api.remove(`/runs/${run.id}`));
        if (done) {
          say("The run is deleted.");
          chosen.delete(run.id);
          await load();
        }
      },
    );
    const limits = Object.entries(run.limits)
      .map(([key, value]) => `${key} ${number(value)}`)
      .join(", ");
    return h(
      "tr",
      { class: run.explored ? "on" : "" },
      td(compare),
      td(h("div", { class: "name-note" }, name, note)),
      td(when(run.began)),
      td(run.source, run.uploaded ? why(run.here ? "dropped here" : "dropped here, file not at hand") : null),
      td(
        (status.names || []).map((each) => labelOf(page, each)).join("; ") || "–",
        " ",
        formula((status.names || []).join(", ")),
        why(
          [
            wayName(status.method),
            limits,
            run.running ? "running" : run.phase === "running" ? "cut short, can go on" : run.phase,
          ]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
      num(status.points ? number(status.points) : "–"),
      td(inRow(open, drop)),
    );
  }

  function drawPicture(runs) {
    const wanted = runs.filter((run) => chosen.has(run.id));
    fillFrom(picture, async () => {
      if (wanted.length < 1) return quiet("Tick two or more runs to see their fronts on one picture.");
      for (const run of wanted) if (!fetched.has(run.id)) fetched.set(run.id, await api.get(`/runs/${run.id}/points`));
      return drawn(wanted, runs);
    });
  }

  function drawn(wanted, runs) {
    const series = wanted.map((run, place) => ({ ...fetched.get(run.id), name: run.name, place: place % COLOURS }));
    const shared = series[0].objectives
      .map((objective) => objective.name)
      .filter((name) => series.every((one) => one.objectives.some((objective) => objective.name === name)));
    if (shared.length < 2)
      return bad("These runs have fewer than two objectives in common, so they have no picture together.");
    const axis = (key, otherwise) => (shared.includes(page.view[key]) ? page.view[key] : otherwise);
    const x = axis("runsX", shared[0]);
    const second = shared.find((name) => name !== x);
    const y = axis("runsY", second);
    const choices = shared.map((name) => [name, countedOf(page, name)]);
    const choose = (key, label, now) =>
      select(label, choices, now, { id: key }, (value) => {
        page.remember({ [key]: value });
        drawPicture(runs);
      });
    const key = (one) =>
      h(
        "li",
        {},
        h("span", { class: `run-dot run-${one.place}`, "aria-hidden": "true" }),
        ` ${one.name}: ${number(one.values.length)} points${one.complete ? ", complete" : ""}`,
      );
    return [
      inRow(choose("runsX", "across", x), choose("runsY", "up", y)),
      plot(series, x, y, (name) => countedOf(page, name)),
      h("ul", { class: "runs-key" }, series.map(key)),
    ];
  }

  replace(place, heading(), quiet("Loading …"));
  load();
  return place;
}

// Several fronts on one picture; sizes and losses that are all above zero are drawn by factors where they span many.
function plot(series, x, y, words) {
  const width = 720,
    height = 360,
    left = 64,
    bottom = 40,
    top = 12,
    right = 12;
  const at = (one, name) => one.objectives.findIndex((objective) => objective.name === name);
  const points = series
    .flatMap((one) => one.values.map((row) => ({ x: row[at(one, x)], y: row[at(one, y)], one })))
    .filter((point) => point.x !== null && point.y !== null);
  const scale = (key, from, to) => {
    const values = points.map((point) => point[key]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const logs = low > 0 && high / low > 50;
    const f = logs ? Math.log : (value) => value;
    const span = f(high) - f(low) || 1;
    return {
      place: (value) => from + ((f(value) - f(low)) / span) * (to - from),
      low,
      high,
      logs,
      middle: logs ? Math.sqrt(low * high) : (low + high) / 2,
    };
  };
  const across = scale("x", left, width - right),
    up = scale("y", height - bottom, top);
  const svg = drawing(
    "runs-plot",
    width,
    height,
    `${series.length} fronts: ${words(x)} across, ${words(y)} up. ${series.map((one) => `${one.name}, ${one.values.length} points`).join("; ")}`,
  );
  svg.append(s("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }));
  for (const value of [across.low, across.middle, across.high])
    svg.append(
      s(
        "text",
        {
          x: across.place(value),
          y: height - bottom + 16,
          "text-anchor": value === across.high ? "end" : value === across.low ? "start" : "middle",
        },
        number(value, 3),
      ),
    );
  for (const value of [up.low, up.middle, up.high])
    svg.append(s("text", { x: left - 6, y: up.place(value) + 4, "text-anchor": "end" }, number(value, 3)));
  svg.append(
    s(
      "text",
      { class: "axis-name", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" },
      `${words(x)}${across.logs ? " (by factors)" : ""}`,
    ),
    s(
      "text",
      {
        class: "axis-name",
        x: 14,
        y: (height - bottom) / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 14 ${(height - bottom) / 2})`,
      },
      `${words(y)}${up.logs ? " (by factors)" : ""}`,
    ),
  );
  // Earlier ones are rings around later ones, so that points in the same place are both seen.
  const rings = (one) => series.length - 1 - series.indexOf(one);
  for (const point of points)
    svg.append(
      s(
        "circle",
        {
          class: `${rings(point.one) ? "run-ring" : "run-point"} run-${point.one.place}`,
          cx: across.place(point.x),
          cy: up.place(point.y),
          r: 3.2 + 2.2 * rings(point.one),
        },
        s("title", {}, `${point.one.name}: ${words(x)} ${number(point.x)}, ${words(y)} ${number(point.y)}`),
      ),
    );
  return svg;
}
