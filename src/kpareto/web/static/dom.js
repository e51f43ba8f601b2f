// Small helpers to make elements; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && (name === "value" || name === "checked" || name === "disabled" || name === "selected")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function replace(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export const percent = (share, digits = 1) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(share > 0 && share < 0.001 ? 3 : digits)} %`;

export function clock(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "";
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function say(text) {
  document.getElementById("say").textContent = text;
}

export function wrong(text) {
  const place = document.getElementById("wrong");
  if (!text) { place.replaceChildren(); return; }
  replace(place, h("p", {}, text), h("button", { type: "button", class: "plain", onclick: () => wrong("") }, "Close"));
}

export function select(label, options, chosen, onchange, attributes = {}) {
  const box = h("select", { onchange: (event) => onchange(event.target.value), ...attributes },
    options.map((each) => {
      const [value, text] = Array.isArray(each) ? each : [each, each];
      return h("option", { value, selected: value === chosen }, text);
    }));
  return label === null ? box : h("label", { class: "field" }, h("span", {}, label), box);
}

export function meter(share, label) {
  const bar = h("span", { class: "meter", role: "img", "aria-label": label });
  const inner = h("span", {});
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  bar.append(inner);
  return bar;
}
