// Small helpers to make elements; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && (name === "value" || name === "checked" || name === "disabled" || name === "selected"))
      element[name] = value;
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

// What stands in every view, each by what it is for.
const of =
  (tag, attributes) =>
  (...inside) =>
    h(tag, attributes, ...inside);

export const quiet = of("p", { class: "quiet" });
export const bad = of("p", { class: "bad" });
export const inRow = of("div", { class: "row" });
export const formula = of("span", { class: "formula" }); // the name of a measure in formulas
export const why = of("span", { class: "why" });
export const tr = of("tr", {});
export const td = of("td", {});
export const num = of("td", { class: "num" });
export const rowName = of("th", { scope: "row" });
export const colName = of("th", { scope: "col" });
export const numName = of("th", { scope: "col", class: "num" }); // above numbers

export const list = (items) =>
  h(
    "ul",
    {},
    items.map((item) => h("li", {}, item)),
  );
export const makeButton = (text, attributes, onclick) => h("button", { type: "button", ...attributes, onclick }, text);
export const labelled = (text, control, kind = "field") => h("label", { class: kind }, h("span", {}, text), control);
export const numberField = (label, attributes, onchange, kind = "field narrow") =>
  labelled(
    label,
    h("input", { type: "number", ...attributes, onchange: (event) => onchange(event.target.value) }),
    kind,
  );
// A card with a title, by which it is called.
export const titled = (id, title, ...inside) =>
  h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), ...inside);
// A part that scrolls by itself, for the keyboard too.
export const scroll = (label, inside, kind = "scroll") =>
  h("div", { class: kind, tabindex: "0", role: "region", "aria-label": label }, inside);
export const tableOf = (attributes, head, rows, caption = null) =>
  h(
    "table",
    attributes,
    caption === null ? null : h("caption", {}, caption),
    head === null ? null : h("thead", {}, tr(head)),
    h("tbody", {}, rows),
  );
// A table as the server has it, the columns of numbers to the right.
export function plainTable({ caption, head, rows, right }, label = caption, kind = "scroll") {
  const side = (column) => (right.includes(column) ? "num" : "");
  return scroll(
    label,
    tableOf(
      {},
      head.map((word, column) => h(word ? "th" : "td", { scope: word ? "col" : null, class: side(column) }, word)),
      rows.map((row) =>
        tr(
          row.map((cell, column) =>
            h(column ? "td" : "th", { scope: column ? null : "row", class: side(column) }, String(cell)),
          ),
        ),
      ),
      caption,
    ),
    kind,
  );
}
// A box with words beside it.
export const ticked = (words, attributes, onchange) =>
  h(
    "label",
    { class: "tick" },
    h("input", { type: "checkbox", ...attributes, onchange: (event) => onchange(event.target.checked) }),
    words,
  );
export const drawing = (kind, width, height, label, more = {}) =>
  s("svg", { class: kind, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, ...more });
// A stretch as wide as a share of what holds it.
export function stretch(share, attributes = {}) {
  const part = h("span", attributes);
  part.style.width = `${100 * share}%`;
  return part;
}
// A file that somebody chooses; choosing the same one again counts too.
export const fileChoice = (id, accept, take) =>
  h("input", {
    type: "file",
    id,
    class: "unseen",
    accept,
    onchange: (event) => {
      const file = event.target.files[0];
      event.target.value = "";
      take(file);
    },
  });

// What was focused, so that it can be found again in what takes its place.
const wordsOf = (field) =>
  [field.getAttribute("aria-label") || "", field.closest("label") ? field.closest("label").textContent : ""].join();

function describe(active, root) {
  const same = [...root.querySelectorAll(active.tagName)].filter((each) => each.type === active.type);
  const text = active.matches("button, a, summary") ? active.textContent : null;
  return {
    id: active.id,
    key: active.dataset.key,
    label: active.getAttribute("aria-label"),
    words: wordsOf(active),
    tag: active.tagName,
    text,
    place: same.indexOf(active),
    type: active.type,
  };
}

function findAgain(root, was) {
  if (was.id) return root.querySelector(`#${CSS.escape(was.id)}`);
  if (was.key) return root.querySelector(`[data-key="${CSS.escape(was.key)}"]`);
  const same = [...root.querySelectorAll(was.tag)].filter((each) => each.type === was.type);
  if (was.label) return same.find((field) => field.getAttribute("aria-label") === was.label);
  if (was.text !== null) return same.find((field) => field.textContent === was.text);
  if (["INPUT", "TEXTAREA", "SELECT"].includes(was.tag)) return same.find((field) => wordsOf(field) === was.words); // never another field
  return same[was.place];
}

// New content for an element; the keyboard focus goes to the same control in it, or stays on the element itself.
export function replace(element, ...children) {
  const active = document.activeElement;
  const was = active && active !== element && element.contains(active) ? describe(active, element) : null;
  element.replaceChildren();
  add(element, children);
  if (was) {
    const again = findAgain(element, was);
    if (again && !again.disabled) again.focus({ preventScroll: true });
    if (document.activeElement !== again || !again) {
      const place = element.closest("[tabindex]") || document.getElementById("main");
      place.focus({ preventScroll: true });
    }
  }
  return element;
}

// What work brings takes its place, and an error is told there; of two that were asked for, the later one is shown. It
// moves what stands below, so it waits until the hand lets go: a button that moves away under it hears no click.
const turns = new WeakMap();

export async function fillFrom(place, work, tell = (error) => bad(error.message)) {
  const mine = (turns.get(place) || 0) + 1;
  turns.set(place, mine);
  const content = await work().catch(tell);
  await handsOff();
  if (turns.get(place) === mine) replace(place, content);
}

// Whether somebody is in the middle of typing, or on the way to a choice: a view that was drawn anew under such hands
// would take what is half typed away, or for meant.
const typed = new WeakSet();
let rested = null;
const TEXTS = "textarea, input:not([type=range], [type=checkbox], [type=radio], [type=file])";
document.addEventListener(
  "input",
  (event) => {
    if (event.target.matches(TEXTS)) typed.add(event.target);
  },
  true,
);
for (const end of ["change", "focusout"])
  document.addEventListener(end, (event) => {
    typed.delete(event.target);
    setTimeout(rest);
  });

export const isTyping = () => document.activeElement !== null && typed.has(document.activeElement);
export const whenRested = (work) => {
  rested = work;
};

// Draw when the hand has let go: a control that is replaced under a pressed button hears no click, and one that is
// replaced while the focus moves loses it.
let pressed = false;
const waiting = [];
const letGo = () => {
  pressed = false;
  for (const work of waiting.splice(0)) setTimeout(work);
};
document.addEventListener(
  "pointerdown",
  (event) => {
    pressed = event.button === 0;
  },
  true,
);
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, letGo, true);
// An open list, or what lies outside the window, may have kept the end of a press to itself.
document.addEventListener(
  "change",
  (event) => {
    if (event.target.matches("select")) letGo();
  },
  true,
);
document.addEventListener(
  "pointermove",
  (event) => {
    if (pressed && !event.buttons) letGo();
  },
  true,
);
export const afterHands = (work) => (pressed ? waiting.push(work) : setTimeout(work));
export const handsOff = () => (pressed ? new Promise(afterHands) : Promise.resolve());

function rest() {
  const work = rested;
  if (!work || isTyping()) return;
  rested = null;
  work();
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1e15) return `about 10^${Math.floor(Math.log10(Math.abs(value)))}`;
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export const several = (count, word, words = `${word}s`) => `${number(count)} ${count === 1 ? word : words}`;

// Halves go to the even digit, as in the sentences of the server: 5 of 2,000 rows are 0.2 % everywhere.
const written = [0, 1, 2, 3].map(
  (digits) =>
    new Intl.NumberFormat("en", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      roundingMode: "halfEven",
      useGrouping: false,
    }),
);

export const percent = (share, digits = 1) =>
  share === null || share === undefined
    ? "–"
    : `${written[share > 0 && share < 0.001 ? 3 : digits].format(100 * share)} %`;

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
  if (!text) {
    place.replaceChildren();
    return;
  }
  replace(place, h("p", {}, text), h("button", { type: "button", class: "plain", onclick: () => wrong("") }, "Close"));
}

// A list by keyboard says "changed" with every letter and every arrow: what is on the way to the choice does not count,
// and a list that is drawn anew under the hand forgets the letters before. So it counts after a pause, or when left.
const PAUSE = 1000; // milliseconds, after which browsers begin a word anew

export function select(label, options, chosen, attributes, onchange) {
  let later = null;
  let keyed = -PAUSE;
  const tell = () => {
    clearTimeout(later);
    later = null;
    typed.delete(box);
    onchange(box.value);
    setTimeout(rest);
  };
  const wait = () => {
    clearTimeout(later);
    later = setTimeout(tell, PAUSE);
    setTimeout(() => {
      if (later) typed.add(box);
    });
  };
  const box = h(
    "select",
    {
      onkeydown: (event) => {
        keyed = event.key === "Enter" ? -PAUSE : performance.now();
        if (later && event.key === "Enter") tell();
        else if (later) wait();
      },
      onchange: () => (performance.now() - keyed < PAUSE ? wait() : tell()),
      onblur: () => {
        if (later) tell();
      },
      ...attributes,
    },
    options.map((option) => {
      const [value, text] = Array.isArray(option) ? option : [option, option];
      return h("option", { value, selected: value === chosen }, text);
    }),
  );
  return label === null ? box : h("label", { class: "field" }, h("span", {}, label), box);
}

export const meter = (share, label) =>
  h("span", { class: "meter", role: "img", "aria-label": label }, stretch(Math.max(0, Math.min(1, share))));
