// A scatter picture: the cloud and the points on a canvas, axes and marks as SVG; arrow keys walk along the points.

import { h, number, replace, s } from "/static/dom.js";

const PAD = { left: 74, right: 18, top: 16, bottom: 46 };

export function scale(low, high, log, from, to) {
  const turn = log ? Math.log : (value) => value;
  let a = turn(low), b = turn(high);
  if (!(b > a)) { a -= 0.5; b += 0.5; }
  const make = (value) => from + ((turn(value) - a) / (b - a)) * (to - from);
  make.ticks = () => (log ? logTicks(low, high) : ticks(low, high));
  return make;
}

function ticks(low, high) {
  if (!(high > low)) return [low];
  const raw = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of high / low > 1000 ? [1] : high / low > 50 ? [1, 3] : [1, 2, 5]) {
      const at = step * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
    }
  }
  return found.length > 1 ? found : [low, high];
}

const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return number(value, 3);
};

export class Scatter {
  constructor(place, { onpick = null, quiet = false } = {}) {
    this.place = place;
    this.onpick = onpick;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.svg = s("svg", { "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    this.quiet = quiet;
    const body = h("div", { class: "plot" }, this.canvas, this.svg, this.tip);
    if (!quiet) {
      body.setAttribute("tabindex", "0");
      body.setAttribute("role", "slider");
      body.setAttribute("aria-label", "Points of the front; arrow keys move the choice");
      body.addEventListener("click", (event) => this.pick(event));
      body.addEventListener("pointermove", (event) => this.hover(event));
      body.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      body.addEventListener("keydown", (event) => this.walk(event));
    }
    this.body = body;
    replace(place, body);
    this.observer = new ResizeObserver(() => this.shown && this.draw(this.shown));
    this.observer.observe(place);
  }

  close() { this.observer.disconnect(); }

  draw(shown) {
    this.shown = shown;
    const width = this.place.clientWidth || 600;
    const height = this.quiet ? 230 : Math.max(300, Math.min(460, width * 0.62));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.width = `${width}px`;
    this.svg.style.height = `${height}px`;
    const all = shown.points;
    if (!all.length) return;
    const pad = { ...PAD, left: width < 420 ? 54 : PAD.left };
    const range = (axis, log) => {
      let low = Infinity, high = -Infinity;
      for (const point of all) { if (point[axis] === null) continue; low = Math.min(low, point[axis]); high = Math.max(high, point[axis]); }
      const room = log ? 1 : (high - low) * 0.03;
      return log ? [low / 1.08, high * 1.12] : [low - room, high + room];
    };
    const [xl, xh] = range("x", shown.logs[0]);
    const [yl, yh] = range("y", shown.logs[1]);
    const x = scale(xl, xh, shown.logs[0], pad.left, width - pad.right);
    const y = scale(yl, yh, shown.logs[1], height - pad.bottom, pad.top);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(pad.left - 6, pad.top - 6, width - pad.left - pad.right + 12, height - pad.top - pad.bottom + 12);
    pen.clip();
    pen.fillStyle = colour("--cloud");
    for (const [cx, cy] of shown.cloud) {
      if ((shown.logs[0] && cx <= 0) || (shown.logs[1] && cy <= 0)) continue;
      pen.fillRect(x(cx) - 1, y(cy) - 1, 2, 2);
    }
    if (shown.line.length > 1) {
      pen.strokeStyle = colour("--accent");
      pen.globalAlpha = 0.55;
      pen.lineWidth = 1.3;
      pen.beginPath();
      shown.line.forEach((id, place) => {
        const point = all[id];
        const before = place ? all[shown.line[place - 1]] : null;
        if (!before) pen.moveTo(x(point.x), y(point.y));
        else {
          if (shown.higher) pen.lineTo(x(before.x), y(point.y));
          else pen.lineTo(x(point.x), y(before.y));
          pen.lineTo(x(point.x), y(point.y));
        }
      });
      pen.stroke();
      pen.globalAlpha = 1;
    }
    pen.fillStyle = colour("--accent");
    const radius = all.length > 400 ? 2.6 : 4;
    const best = new Set(shown.line);
    this.spots = all.map((point) => [x(point.x), y(point.y)]);
    all.forEach((point, place) => {
      pen.globalAlpha = shown.line.length && !best.has(point.id) ? 0.45 : 1;
      pen.beginPath();
      pen.arc(this.spots[place][0], this.spots[place][1], radius, 0, 7);
      pen.fill();
    });
    pen.restore();
    this.frame = [x, y, pad, width, height];
    this.overlay(shown, ...this.frame);
  }

  // Another point is chosen or pinned: the cloud and the points below stay as they are.
  mark(chosen, pins) {
    if (!this.frame) return;
    Object.assign(this.shown, { chosen, pins });
    this.overlay(this.shown, ...this.frame);
  }

  overlay(shown, x, y, pad, width, height) {
    const parts = [];
    const bottom = height - pad.bottom;
    for (const at of x.ticks()) {
      parts.push(s("line", { class: "grid", x1: x(at), x2: x(at), y1: pad.top, y2: bottom }), s("text", { x: x(at), y: bottom + 16, "text-anchor": "middle" }, short(at)));
    }
    for (const at of y.ticks()) {
      parts.push(s("line", { class: "grid", x1: pad.left, x2: width - pad.right, y1: y(at), y2: y(at) }), s("text", { x: pad.left - 8, y: y(at) + 4, "text-anchor": "end" }, short(at)));
    }
    const title = (place) => `${shown.names[place]}${shown.logs[place] ? " (log)" : ""}`;
    parts.push(s("text", { class: "axis", x: (pad.left + width - pad.right) / 2, y: height - 8, "text-anchor": "middle" }, `${title(0)}${shown.betters ? `, ${shown.betters[0] === "higher" ? "more" : "less"} is better` : ""}`));
    parts.push(s("text", { class: "axis", x: 14, y: (pad.top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(pad.top + bottom) / 2})` }, `${title(1)}${shown.betters ? `, ${shown.betters[1] === "higher" ? "more" : "less"} is better` : ""}`));
    const taken = [];
    for (const mark of shown.marks) {
      const point = shown.points[mark.id];
      if (!point || point.x === null || point.y === null) continue;
      const cx = x(point.x), cy = y(point.y);
      parts.push(s("circle", { class: mark.kind ? `mark ${mark.kind}` : "mark", cx, cy, r: 7 }));
      let ly = cy + 18;
      while (taken.some(([a, b]) => Math.abs(a - cx) < 60 && Math.abs(b - ly) < 13)) ly += 13;
      taken.push([cx, ly]);
      parts.push(s("text", { class: mark.kind ? `label ${mark.kind}` : "label", x: Math.min(cx + 9, width - 50), y: ly }, mark.label));
    }
    for (const pin of shown.pins || []) {
      const point = shown.points[pin.id];
      if (!point) continue;
      const cx = x(point.x), cy = y(point.y);
      parts.push(s("path", { class: "pin", d: `M${cx} ${cy - 6}l-7 -12h14z` }), s("text", { class: "pin-name", x: cx, y: cy - 20, "text-anchor": "middle" }, pin.label));
    }
    const chosen = shown.points[shown.chosen];
    if (chosen) {
      const cx = x(chosen.x), cy = y(chosen.y);
      parts.push(s("line", { class: "cross", x1: pad.left, x2: cx, y1: cy, y2: cy }), s("line", { class: "cross", x1: cx, x2: cx, y1: cy, y2: bottom }));
      parts.push(s("circle", { class: "chosen", cx, cy, r: 8 }));
    }
    replace(this.svg, parts);
    if (!this.quiet) {
      this.body.setAttribute("aria-valuemin", "0");
      this.body.setAttribute("aria-valuemax", String(shown.points.length - 1));
      this.body.setAttribute("aria-valuenow", String(shown.chosen ?? 0));
      this.body.setAttribute("aria-valuetext", chosen ? `${shown.names[0]} ${number(chosen.x)}, ${shown.names[1]} ${number(chosen.y)}` : "none chosen");
    }
  }

  nearest(event) {
    if (!this.spots) return -1;
    const box = this.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = -1, least = 900;
    this.spots.forEach(([sx, sy], place) => {
      const far = (sx - px) ** 2 + (sy - py) ** 2;
      if (far < least) { least = far; best = place; }
    });
    return best;
  }

  pick(event) {
    const place = this.nearest(event);
    if (place >= 0 && this.onpick) this.onpick(this.shown.points[place].id);
  }

  hover(event) {
    const place = this.nearest(event);
    this.body.classList.toggle("near", place >= 0);
    if (place < 0) { this.tip.hidden = true; return; }
    const point = this.shown.points[place];
    this.tip.hidden = false;
    this.tip.textContent = `${this.shown.names[0]} ${number(point.x)} · ${this.shown.names[1]} ${number(point.y)}`;
    const [sx, sy] = this.spots[place];
    this.tip.style.left = `${Math.min(sx + 10, this.place.clientWidth - 150)}px`;
    this.tip.style.top = `${Math.max(0, sy - 34)}px`;
  }

  walk(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    const order = this.order();
    if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      this.onpick(order[event.key === "Home" ? 0 : order.length - 1]);
      return;
    }
    if (!step) return;
    event.preventDefault();
    const now = order.indexOf(this.shown.chosen);
    this.onpick(order[Math.max(0, Math.min(order.length - 1, now + step))]);
  }

  order() {
    return this.shown.points.map((point) => point.id).sort((a, b) => this.shown.points[a].x - this.shown.points[b].x || this.shown.points[a].y - this.shown.points[b].y);
  }
}

export function parallel(place, front, chosen, pins, onpick) {
  const width = Math.max(320, place.clientWidth || 600), height = 330;
  const axes = front.objectives;
  const gap = (width - 110) / Math.max(1, axes.length - 1);
  const across = (column) => 55 + column * gap;
  const ups = axes.map((axis) => {
    const [low, high] = axis.better === "higher" ? [axis.low, axis.high] : [axis.high, axis.low];
    const log = axis.log;
    const turn = log ? Math.log : (value) => value;
    const a = turn(low), b = turn(high);
    return (value) => (b === a ? height / 2 : height - 34 - ((turn(value) - a) / (b - a)) * (height - 84));
  });
  const canvas = h("canvas", { "aria-hidden": "true" });
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const line = (row, stroke, wide, alpha) => {
    if (row.some((value) => value === null)) return;
    pen.strokeStyle = stroke;
    pen.lineWidth = wide;
    pen.globalAlpha = alpha;
    pen.beginPath();
    row.forEach((value, column) => (column ? pen.lineTo(across(column), ups[column](value)) : pen.moveTo(across(column), ups[column](value))));
    pen.stroke();
  };
  for (const row of front.values) line(row, colour("--accent"), 1, front.values.length > 300 ? 0.15 : 0.4);
  pins.forEach((id) => id !== null && front.values[id] && line(front.values[id], colour("--calm"), 2.5, 1));
  if (front.values[chosen]) line(front.values[chosen], colour("--mark"), 3, 1);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Parallel coordinates of ${axes.map((axis) => axis.name).join(", ")}; better is up` });
  svg.style.width = `${width}px`;
  svg.style.height = `${height}px`;
  axes.forEach((axis, column) => {
    const best = axis.better === "higher" ? axis.high : axis.low, worst = axis.better === "higher" ? axis.low : axis.high;
    svg.append(s("line", { class: "axis-line", x1: across(column), x2: across(column), y1: 50, y2: height - 34 }),
      s("text", { class: "axis", x: across(column), y: 16, "text-anchor": "middle" }, axis.name + (axis.log ? " (log)" : "")),
      s("text", { x: across(column), y: 38, "text-anchor": "middle" }, short(best)),
      s("text", { x: across(column), y: height - 14, "text-anchor": "middle" }, short(worst)));
  });
  const plot = h("div", { class: "plot" }, canvas, svg);
  plot.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    const left = Math.max(0, Math.min(axes.length - 2, Math.floor((px - 55) / gap)));
    const part = (px - across(left)) / gap;
    let best = -1, least = 14;
    front.values.forEach((row, id) => {
      const far = Math.abs(ups[left](row[left]) * (1 - part) + ups[left + 1](row[left + 1]) * part - py);
      if (far < least) { least = far; best = id; }
    });
    if (best >= 0) onpick(best);
  });
  const key = (name, text) => {
    const line = h("span", { class: "line-key" });
    line.style.background = `var(${name})`;
    return [line, ` ${text} `];
  };
  replace(place, plot, h("p", { class: "quiet" }, "Better is up. ", key("--mark", "chosen"), key("--calm", "pinned"), "Click a line to choose it."));
}
