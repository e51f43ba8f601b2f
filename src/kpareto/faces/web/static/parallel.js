// Parallel coordinates: one line per point, one axis per objective, better is up; drag along an axis to filter by it.

import { h, quiet, replace, s } from "/static/dom.js";
import { fit, inkOf, short, stepAlong } from "/static/chart.js";
import { better, drawn, mayLog, sentence } from "/static/plain.js";

const TOP = 66,
  FOOT = 34,
  HEIGHT = 350;

export function parallel(place, front, view, { hidden, pins, onpick, onbrush }) {
  const width = Math.max(320, place.clientWidth || 600);
  const axes = front.objectives;
  const side = width < 520 ? 34 : 60;
  const gap = (width - 2 * side) / Math.max(1, axes.length - 1);
  const across = (column) => side + column * gap;
  const values = front.values.map((row) => row.map((value, column) => drawn(axes[column], value)));
  const scales = axes.map((axis, column) => {
    const ends = [drawn(axis, axis.low), drawn(axis, axis.high)].sort((a, b) => a - b);
    if (better(axis) === "lower") ends.reverse();
    const log = axis.log && mayLog(axis) && ends.every((end) => end > 0);
    const turn = log ? Math.log : (value) => value;
    const a = turn(ends[0]),
      b = turn(ends[1]);
    const to = (value) =>
      b === a ? (TOP + HEIGHT - FOOT) / 2 : HEIGHT - FOOT - ((turn(value) - a) / (b - a)) * (HEIGHT - FOOT - TOP);
    const back = (pixel) => {
      const at = a + ((HEIGHT - FOOT - pixel) / (HEIGHT - FOOT - TOP)) * (b - a);
      return log ? Math.exp(at) : at;
    };
    return { to, back, worst: ends[0], best: ends[1], log, column };
  });
  const canvas = h("canvas", { "aria-hidden": "true" });
  const svg = s("svg", {
    role: "img",
    "aria-label": `Parallel coordinates of ${axes.map((axis) => axis.label).join(", ")}; better is up`,
  });
  const pen = fit(canvas, svg, width, HEIGHT);
  const colour = inkOf();
  const line = (row, stroke, wide, alpha) => {
    if (!row || row.some((value) => value === null)) return;
    pen.strokeStyle = stroke;
    pen.lineWidth = wide;
    pen.globalAlpha = alpha;
    pen.beginPath();
    row.forEach((value, column) =>
      column
        ? pen.lineTo(across(column), scales[column].to(value))
        : pen.moveTo(across(column), scales[column].to(value)),
    );
    pen.stroke();
  };
  values.forEach((row, id) =>
    line(
      row,
      hidden.has(id) ? colour("--cloud") : colour("--accent"),
      1,
      hidden.has(id) ? 0.12 : values.length > 300 ? 0.15 : 0.4,
    ),
  );
  pins.forEach((pin) => line(values[pin.id], colour("--calm"), 2.5, 1));
  line(values[view.chosen], colour("--mark"), 3, 1);
  axes.forEach((axis, column) => drawAxis(svg, axis, scales[column], across(column), gap, column, axes.length));
  const tip = h("div", { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  const band = h("div", { class: "band-box", "aria-hidden": "true" });
  band.hidden = true;
  const plot = h(
    "div",
    {
      class: "plot",
      tabindex: "0",
      role: "slider",
      "data-key": "plot",
      "aria-label": "Points of the front; arrow keys move the choice",
      "aria-valuemin": 0,
      "aria-valuemax": values.length - 1,
      "aria-valuenow": view.chosen,
      "aria-valuetext": sentence(front, view.chosen),
    },
    canvas,
    svg,
    band,
    tip,
  );
  const order = values
    .map((_, id) => id)
    .filter((id) => !hidden.has(id))
    .sort((a, b) => values[a][0] - values[b][0]);
  plot.addEventListener("keydown", (event) => {
    const to = stepAlong(event, order, view.chosen);
    if (to !== null) {
      event.preventDefault();
      onpick(to);
    }
  });
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = ([px, py]) => {
    const left = Math.max(0, Math.min(axes.length - 2, Math.floor((px - side) / gap)));
    const part = (px - across(left)) / gap;
    let best = -1,
      least = 14;
    values.forEach((row, id) => {
      if (hidden.has(id)) return;
      const far = Math.abs(scales[left].to(row[left]) * (1 - part) + scales[left + 1].to(row[left + 1]) * part - py);
      if (far < least) {
        least = far;
        best = id;
      }
    });
    return best;
  };
  let press = null,
    brushed = false;
  const axisAt = (px) => axes.findIndex((_, column) => Math.abs(across(column) - px) < 12);
  plot.addEventListener("pointerdown", (event) => {
    const at = spot(event);
    if (event.pointerType === "mouse" && event.button === 0 && axisAt(at[0]) >= 0)
      press = { column: axisAt(at[0]), from: at[1] };
    brushed = false;
  });
  plot.addEventListener("pointermove", (event) => {
    const at = spot(event);
    if (press) {
      brushed = Math.abs(at[1] - press.from) > 6;
      band.hidden = !brushed;
      Object.assign(band.style, {
        left: `${across(press.column) - 9}px`,
        width: "18px",
        top: `${Math.min(at[1], press.from)}px`,
        height: `${Math.abs(at[1] - press.from)}px`,
      });
      return;
    }
    const id = nearest(at);
    plot.classList.toggle("near", id >= 0);
    tip.hidden = id < 0;
    if (id < 0) return;
    tip.textContent = sentence(front, id);
    tip.style.left = `${Math.max(0, Math.min(at[0] + 10, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, at[1] - 34)}px`;
  });
  plot.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  plot.addEventListener("pointerup", (event) => {
    if (press && brushed) {
      const keep = (pixel) => Math.max(TOP, Math.min(HEIGHT - FOOT, pixel));
      const ends = [press.from, spot(event)[1]]
        .map((pixel) => scales[press.column].back(keep(pixel)))
        .sort((a, b) => a - b);
      const column = press.column;
      press = null;
      onbrush(axes[column].name, ends);
      return;
    }
    press = null;
    band.hidden = true;
  });
  plot.addEventListener("click", (event) => {
    if (brushed) return;
    const id = nearest(spot(event));
    if (id >= 0) onpick(id);
  });
  const key = (name, text) => {
    const stroke = h("span", { class: "line-key" });
    stroke.style.background = `var(${name})`;
    return [stroke, ` ${text} `];
  };
  replace(
    place,
    plot,
    quiet(
      "Better is up. ",
      key("--mark", "chosen"),
      key("--calm", "pinned"),
      "Click a line to choose it, or walk with the arrow keys; drag along an axis to keep only the lines that cross it there.",
    ),
  );
}

// Names stand at two heights where axes are close together, so that they do not run into each other.
function drawAxis(svg, axis, scaled, at, gap, column, count) {
  const anchor = column === 0 ? "start" : column === count - 1 ? "end" : "middle";
  const x = column === 0 ? at - 30 : column === count - 1 ? at + 30 : at;
  const tight = gap < 190;
  const long = !tight || gap > 120 ? axis.label : axis.name;
  const apart = (tight ? 2 : 1) * gap; // to the next name at the same height; each takes its half
  const room = anchor === "middle" ? apart - 10 : apart / 2 + 25;
  const words = long.length * 6.6 > room ? axis.name : long;
  svg.append(
    s("line", { class: "axis-line", x1: at, x2: at, y1: TOP, y2: HEIGHT - FOOT }),
    s(
      "text",
      { class: "axis", x: Math.max(2, x), y: tight && column % 2 ? 34 : 16, "text-anchor": anchor },
      words + (scaled.log && !tight ? " (log)" : ""),
      s("title", {}, axis.label),
    ),
    s("text", { x: at, y: TOP - 12, "text-anchor": "middle" }, short(scaled.best)),
    s("text", { x: at, y: HEIGHT - 14, "text-anchor": "middle" }, short(scaled.worst)),
  );
}
