// A scatter picture: the cloud and the points on a canvas, axes and marks as SVG; arrow keys walk along the points,
// a rectangle drawn with the mouse zooms, further curves can lie over it, and the whole can be saved.

import { h, number, replace, s } from "/static/dom.js";
import { saveFile } from "/static/plain.js";

export const COLOURS = 6; // runs that can be told apart; see .run-0 … in style.css
const PAD = { left: 74, right: 18, top: 30, bottom: 46 };
const DASHES = { lattice: [], cuts: [6, 4], strict: [2, 3], local: [10, 4, 2, 4] };
export const CURVE_COLOURS = { lattice: "--accent", cuts: "--calm", strict: "--good", local: "--mark" };

export function scale(low, high, log, from, to) {
  const turn = log ? Math.log : (value) => value;
  let a = turn(low),
    b = turn(high);
  if (!(b > a)) {
    a -= 0.5;
    b += 0.5;
  }
  const make = (value) => from + ((turn(value) - a) / (b - a)) * (to - from);
  make.back = (pixel) => {
    const at = a + ((pixel - from) / (to - from)) * (b - a);
    return log ? Math.exp(at) : at;
  };
  make.ticks = () => (log ? logTicks(low, high) : ticks(low, high));
  return make;
}

function ticks(low, high) {
  if (!(high > low)) return [low];
  const raw = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const marks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step)
    marks.push(Number(at.toPrecision(12)));
  return marks;
}

function logTicks(low, high) {
  const marks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of high / low > 1000 ? [1] : high / low > 50 ? [1, 3] : [1, 2, 5]) {
      const at = step * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) marks.push(at);
    }
  }
  return marks.length > 1 ? marks : ticks(low, high).filter((at) => at > 0);
}

export const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return number(value, 3);
};

export function inkOf() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

export function fit(canvas, svg, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = svg.style.width = `${width}px`;
  canvas.style.height = svg.style.height = `${height}px`;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

export class Scatter {
  constructor(place, { onpick = null, onzoom = null, quiet = false } = {}) {
    Object.assign(this, { place, onpick, onzoom, quiet, zoom: null });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.svg = s("svg", { "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    this.band = h("div", { class: "band-box", "aria-hidden": "true" });
    this.band.hidden = true;
    const heard = {
      tabindex: "0",
      role: "slider",
      "data-key": "plot",
      "aria-label": "Points of the front; arrow keys move the choice, plus and minus zoom, 0 shows all",
      onclick: (event) => this.pick(event),
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => (this.from ? this.drag(event) : this.hover(event)),
      onpointerup: (event) => this.release(event),
      onpointercancel: () => this.letGo(),
      ondblclick: () => this.zoomTo(null),
      onpointerleave: () => {
        this.tip.hidden = true;
      },
      onkeydown: (event) => this.walk(event),
    };
    const body = h("div", { class: "plot", ...(quiet ? {} : heard) }, this.canvas, this.svg, this.band, this.tip);
    this.body = body;
    replace(place, body);
    this.again = () => this.shown && this.draw(this.shown);
    this.observer = new ResizeObserver(this.again);
    this.observer.observe(place);
    window.addEventListener("resize", this.again); // also told when the colours change, which a canvas does not follow
  }

  close() {
    this.observer.disconnect();
    window.removeEventListener("resize", this.again);
  }

  ranges(shown) {
    const range = (axis, log) => {
      let low = Infinity,
        high = -Infinity;
      const lines = shown.curves || [];
      const alone = axis === "y" ? [{ y: shown.control ?? null }] : [];
      for (const point of [...shown.points, ...lines.flatMap((curve) => curve.points), ...alone]) {
        if (point[axis] === null || (log && !(point[axis] > 0))) continue;
        low = Math.min(low, point[axis]);
        high = Math.max(high, point[axis]);
      }
      const room = log ? 1 : (high - low) * 0.03;
      return log ? [low / 1.08, high * 1.12] : [low - room, high + room];
    };
    return this.zoom || [...range("x", shown.logs[0]), ...range("y", shown.logs[1])];
  }

  draw(shown) {
    this.shown = shown;
    this.body.dataset.points = shown.points.length; // a canvas does not tell what is on it
    const width = this.place.clientWidth || 600;
    const height = this.quiet ? 230 : Math.max(300, Math.min(470, width * 0.62));
    const pen = fit(this.canvas, this.svg, width, height);
    if (!shown.points.length) {
      replace(this.svg);
      return;
    }
    const pad = { ...PAD, left: width < 420 ? 54 : PAD.left };
    const [xl, xh, yl, yh] = this.ranges(shown);
    const x = scale(xl, xh, shown.logs[0], pad.left, width - pad.right);
    const y = scale(yl, yh, shown.logs[1], height - pad.bottom, pad.top);
    this.frame = [x, y, pad, width, height];
    pen.save();
    pen.beginPath();
    pen.rect(pad.left - 6, pad.top - 6, width - pad.left - pad.right + 12, height - pad.top - pad.bottom + 12);
    pen.clip();
    paintGrid(pen, this.frame); // below the points, which it would cross out
    this.paint(pen, shown, x, y);
    pen.restore();
    this.overlay(shown, ...this.frame);
  }

  paint(pen, shown, x, y) {
    const colour = inkOf();
    const all = shown.points;
    pen.fillStyle = colour("--cloud");
    for (const [cx, cy] of shown.cloud) {
      if ((shown.logs[0] && cx <= 0) || (shown.logs[1] && cy <= 0)) continue;
      pen.fillRect(x(cx) - 1, y(cy) - 1, 2, 2);
    }
    for (const curve of shown.curves || []) paintCurve(pen, curve, x, y, colour);
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
      const gone = shown.hidden && shown.hidden.has(point.id);
      pen.globalAlpha = gone ? 0.12 : shown.line.length && !best.has(point.id) ? 0.45 : 1;
      pen.beginPath();
      pen.arc(this.spots[place][0], this.spots[place][1], radius, 0, 7);
      pen.fill();
    });
    pen.globalAlpha = 1;
  }

  // Another point is chosen or pinned: the cloud and the points below stay as they are.
  mark(chosen, pins) {
    if (!this.frame) return;
    Object.assign(this.shown, { chosen, pins });
    const point = this.shown.points[chosen];
    if (this.zoom && point && !this.inside(point.x, point.y)) {
      this.zoomTo(null);
      return;
    }
    this.overlay(this.shown, ...this.frame);
  }

  inside(px, py) {
    const [x, y, pad, width, height] = this.frame;
    return (
      x(px) >= pad.left - 1 &&
      x(px) <= width - pad.right + 1 &&
      y(py) >= pad.top - 1 &&
      y(py) <= height - pad.bottom + 1
    );
  }

  overlay(shown, x, y, pad, width, height) {
    const parts = [];
    const bottom = height - pad.bottom;
    for (const at of x.ticks()) {
      parts.push(s("text", { x: x(at), y: bottom + 16, "text-anchor": "middle" }, short(at)));
    }
    for (const at of y.ticks()) {
      parts.push(s("text", { x: pad.left - 8, y: y(at) + 4, "text-anchor": "end" }, short(at)));
    }
    // As much as fits: the name, the scale, the better direction.
    const title = (place, room) => {
      const wish = shown.betters ? `; ${shown.betters[place] === "higher" ? "more" : "less"} is better` : "";
      const scaled = shown.logs[place] ? ", logarithmic" : "";
      const words = [
        shown.names[place] + scaled + wish,
        shown.names[place] + scaled,
        shown.names[place],
        shown.names[place].replace(/ \(.*/, ""),
      ];
      return words.find((text) => text.length * 7 < room) || words[3].slice(0, Math.floor(room / 7));
    };
    parts.push(
      s(
        "text",
        { class: "axis", x: (pad.left + width - pad.right) / 2, y: height - 8, "text-anchor": "middle" },
        title(0, width - pad.left),
      ),
    );
    parts.push(
      s(
        "text",
        {
          class: "axis",
          x: 14,
          y: (pad.top + bottom) / 2,
          "text-anchor": "middle",
          transform: `rotate(-90 14 ${(pad.top + bottom) / 2})`,
        },
        title(1, bottom - pad.top),
      ),
    );
    this.control(shown, parts);
    this.marks(shown, parts);
    this.pins(shown, parts);
    const chosen = shown.points[shown.chosen];
    if (chosen && this.inside(chosen.x, chosen.y)) {
      const cx = x(chosen.x),
        cy = y(chosen.y);
      parts.push(
        s("line", { class: "cross", x1: pad.left, x2: cx, y1: cy, y2: cy }),
        s("line", { class: "cross", x1: cx, x2: cx, y1: cy, y2: bottom }),
      );
      parts.push(s("circle", { class: "chosen", cx, cy, r: 8 }));
    }
    replace(this.svg, parts);
    if (!this.quiet) {
      this.body.setAttribute("aria-valuemin", "0");
      this.body.setAttribute("aria-valuemax", String(shown.points.length - 1));
      this.body.setAttribute("aria-valuenow", String(shown.chosen ?? 0));
      this.body.setAttribute("aria-valuetext", chosen && shown.tell ? shown.tell(shown.chosen) : "none chosen");
    }
  }

  // What somebody gets who has the totals of every column and no release.
  control({ control, logs }, parts) {
    const [, y, pad, width, height] = this.frame;
    if ((control ?? null) === null || (logs[1] && !(control > 0))) return;
    const at = y(control);
    if (at < pad.top - 1 || at > height - pad.bottom + 1) return;
    parts.push(
      s("line", { class: "control", x1: pad.left, x2: width - pad.right, y1: at, y2: at }),
      s("text", { x: width - pad.right, y: at - 5, "text-anchor": "end" }, "the column totals alone"),
    );
  }

  // Labels stand right below their point, or above where the frame ends; never over each other, a point or the axis.
  marks(shown, parts) {
    const [x, y, pad, width, height] = this.frame;
    const marked = shown.marks
      .map((mark) => shown.points[mark.id])
      .filter((point) => point && point.x !== null && point.y !== null);
    const taken = marked.map((point) => [x(point.x) - 8, y(point.y) + 4, 16]); // the rings themselves
    for (const mark of shown.marks) {
      const point = shown.points[mark.id];
      if (!point || point.x === null || point.y === null || !this.inside(point.x, point.y)) continue;
      const cx = x(point.x),
        cy = y(point.y);
      parts.push(s("circle", { class: mark.kind ? `mark ${mark.kind}` : "mark", cx, cy, r: 7 }));
      const wide = mark.label.length * 6.6;
      const lx = cx + 9 + wide > width - pad.right ? cx - 9 - wide : cx + 9;
      const covers = (ly) =>
        this.spots.some(([sx, sy]) => sx > lx - 5 && sx < lx + wide + 5 && sy > ly - 14 && sy < ly + 6);
      const free = (ly) =>
        !taken.some(([a, b, w]) => lx < a + w + 4 && a < lx + wide + 4 && Math.abs(b - ly) < 13) && !covers(ly);
      const places = [18, -10, 31, -23, 44, -36, 57, -49].map((step) => cy + step);
      const ly =
        places.find((at) => at > pad.top + 8 && at < height - pad.bottom - 4 && free(at)) ??
        Math.max(pad.top + 10, Math.min(height - pad.bottom - 6, cy + 18));
      taken.push([lx, ly, wide]);
      parts.push(s("text", { class: mark.kind ? `label ${mark.kind}` : "label", x: lx, y: ly }, mark.label));
    }
  }

  pins(shown, parts) {
    const [x, y, pad] = this.frame;
    for (const pin of shown.pins || []) {
      const point = shown.points[pin.id];
      if (!point || !this.inside(point.x, point.y)) continue;
      const cx = x(point.x),
        cy = y(point.y);
      const up = cy - 34 > pad.top - 26 && cy > 36; // else it would be cut off at the top
      const path = up ? `M${cx} ${cy - 6}l-7 -12h14z` : `M${cx} ${cy + 6}l-7 12h14z`;
      parts.push(
        s("path", { class: "pin", d: path }),
        s("text", { class: "pin-name", x: cx, y: up ? cy - 20 : cy + 31, "text-anchor": "middle" }, pin.label),
      );
    }
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  nearest(event) {
    if (!this.spots) return -1;
    const [px, py] = this.at(event);
    let best = -1,
      least = 900;
    this.spots.forEach(([sx, sy], place) => {
      const point = this.shown.points[place];
      if (this.shown.hidden && this.shown.hidden.has(point.id)) return;
      const far = (sx - px) ** 2 + (sy - py) ** 2;
      if (far < least && this.inside(point.x, point.y)) {
        least = far;
        best = place;
      }
    });
    return best;
  }

  press(event) {
    if (event.pointerType === "mouse" && event.button === 0) this.from = this.at(event);
  }

  letGo() {
    this.from = null;
    this.band.hidden = true;
  }

  drag(event) {
    const [ax, ay] = this.from,
      [bx, by] = this.at(event);
    if (!event.buttons) {
      this.letGo();
      return;
    }
    this.dragged = Math.abs(ax - bx) > 6 && Math.abs(ay - by) > 6;
    this.band.hidden = !this.dragged;
    Object.assign(this.band.style, {
      left: `${Math.min(ax, bx)}px`,
      top: `${Math.min(ay, by)}px`,
      width: `${Math.abs(ax - bx)}px`,
      height: `${Math.abs(ay - by)}px`,
    });
  }

  release(event) {
    const { from } = this;
    this.letGo();
    if (!from || !this.dragged || !this.frame) return;
    const [bx, by] = this.at(event);
    const [x, y, pad, width, height] = this.frame;
    const keep = (value, low, high) => Math.max(low, Math.min(high, value));
    const xs = [from[0], bx].map((at) => keep(at, pad.left, width - pad.right)).sort((a, b) => a - b);
    const ys = [from[1], by].map((at) => keep(at, pad.top, height - pad.bottom)).sort((a, b) => b - a);
    if (xs[1] - xs[0] > 6 && ys[0] - ys[1] > 6)
      this.zoomTo([x.back(xs[0]), x.back(xs[1]), y.back(ys[0]), y.back(ys[1])]);
  }

  zoomTo(range) {
    this.zoom = range;
    if (this.shown) this.draw(this.shown);
    if (this.onzoom) this.onzoom(range);
  }

  // Nearer or farther around the chosen point.
  zoomBy(factor) {
    if (!this.frame) return;
    const [x, y, pad, width, height] = this.frame;
    const point = this.shown.points[this.shown.chosen] || this.shown.points[0];
    const cx = this.inside(point.x, point.y) ? x(point.x) : width / 2,
      cy = this.inside(point.x, point.y) ? y(point.y) : height / 2;
    const range = [
      x.back(cx + (pad.left - cx) / factor),
      x.back(cx + (width - pad.right - cx) / factor),
      y.back(cy + (height - pad.bottom - cy) / factor),
      y.back(cy + (pad.top - cy) / factor),
    ];
    const kept = this.zoom;
    this.zoom = null;
    const whole = this.ranges(this.shown);
    this.zoom = kept;
    this.zoomTo(factor < 1 && range[0] <= whole[0] && range[1] >= whole[1] ? null : range);
  }

  pick(event) {
    if (this.dragged) {
      this.dragged = false;
      return;
    }
    const place = this.nearest(event);
    if (place >= 0 && this.onpick) this.onpick(this.shown.points[place].id);
  }

  hover(event) {
    const place = this.nearest(event);
    this.body.classList.toggle("near", place >= 0);
    if (place < 0) {
      this.tip.hidden = true;
      return;
    }
    const point = this.shown.points[place];
    this.tip.hidden = false;
    this.tip.textContent = this.shown.tell ? this.shown.tell(point.id) : `${number(point.x)} · ${number(point.y)}`;
    const [sx, sy] = this.spots[place];
    this.tip.style.left = `${Math.max(0, Math.min(sx + 10, this.place.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(0, sy - 34)}px`;
  }

  walk(event) {
    const zooms = { "+": 1.6, "=": 1.6, "-": 1 / 1.6 };
    if (event.key in zooms) {
      event.preventDefault();
      this.zoomBy(zooms[event.key]);
      return;
    }
    if (event.key === "0") {
      event.preventDefault();
      this.zoomTo(null);
      return;
    }
    const to = stepAlong(event, this.order(), this.shown.chosen);
    if (to === null) return;
    event.preventDefault();
    this.onpick(to);
  }

  order() {
    const { points, hidden } = this.shown;
    return points
      .map((point) => point.id)
      .filter((id) => !hidden || !hidden.has(id))
      .sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
  }
}

function paintGrid(pen, [x, y, pad, width, height]) {
  pen.strokeStyle = inkOf()("--line");
  pen.globalAlpha = 0.7;
  pen.lineWidth = 0.6;
  pen.beginPath();
  for (const at of x.ticks()) {
    pen.moveTo(x(at), pad.top);
    pen.lineTo(x(at), height - pad.bottom);
  }
  for (const at of y.ticks()) {
    pen.moveTo(pad.left, y(at));
    pen.lineTo(width - pad.right, y(at));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function paintCurve(pen, curve, x, y, colour) {
  const ink = colour(CURVE_COLOURS[curve.name]);
  const bounded = curve.points.filter((point) => point.most !== null);
  if (!curve.proven && bounded.length > 1) {
    pen.fillStyle = ink;
    pen.globalAlpha = 0.1;
    pen.beginPath();
    bounded.forEach((point, place) =>
      place ? pen.lineTo(x(point.x), y(point.most)) : pen.moveTo(x(point.x), y(point.most)),
    );
    for (const point of [...bounded].reverse()) pen.lineTo(x(point.x), y(point.y));
    pen.fill();
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = 2;
  pen.setLineDash(DASHES[curve.name] || []);
  pen.beginPath();
  curve.points.forEach((point, place) =>
    place ? pen.lineTo(x(point.x), y(point.y)) : pen.moveTo(x(point.x), y(point.y)),
  );
  pen.stroke();
  pen.setLineDash([]);
  for (const point of curve.points) pen.fillRect(x(point.x) - 3, y(point.y) - 3, 6, 6);
}

// Where a key leads along an order of points; null where it leads nowhere.
export function stepAlong(event, order, chosen) {
  if (!order.length) return null;
  if (event.key === "Home") return order[0];
  if (event.key === "End") return order[order.length - 1];
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
  if (!step) return null;
  const now = order.indexOf(chosen);
  return order[Math.max(0, Math.min(order.length - 1, now < 0 ? 0 : now + step))];
}

// The picture as a PNG: the SVG over the canvas, drawn as an image that holds its own colours.
export async function savePicture(plot, name) {
  const canvas = plot.querySelector("canvas"),
    svg = plot.querySelector("svg");
  const width = canvas.clientWidth,
    height = canvas.clientHeight,
    ratio = 2;
  const copy = svg.cloneNode(true);
  const properties = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
    "opacity",
    "font-size",
    "font-weight",
    "font-family",
    "paint-order",
  ];
  const from = [...svg.querySelectorAll("*")],
    to = [...copy.querySelectorAll("*")];
  from.forEach((element, place) => {
    const style = getComputedStyle(element);
    for (const word of properties) to[place].setAttribute(word, style.getPropertyValue(word));
  });
  copy.removeAttribute("style");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const sheet = document.createElement("canvas");
  sheet.width = width * ratio;
  sheet.height = height * ratio;
  const pen = sheet.getContext("2d");
  pen.fillStyle = inkOf()("--card");
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.drawImage(canvas, 0, 0, sheet.width, sheet.height);
  pen.drawImage(image, 0, 0, sheet.width, sheet.height);
  const blob = await new Promise((done) => sheet.toBlob(done, "image/png"));
  saveFile(name, blob, "image/png");
}
