// Numbers as people read them: detail kept and shares in percent, counts as counts; the formula's name stays beside it.

import { h, number, percent } from "/static/dom.js";

export const isKept = (objective) => objective.reading === "kept" && objective.most > 0;
const isShare = (objective) => objective.reading === "share";

// The number that is drawn: percent where people read percent.
export function drawn(objective, value) {
  if (value === null || value === undefined) return null;
  if (isKept(objective)) return 100 * (1 - value / objective.most);
  return isShare(objective) ? 100 * value : value;
}

export function undrawn(objective, shown) {
  if (isKept(objective)) return (1 - shown / 100) * objective.most;
  return isShare(objective) ? shown / 100 : shown;
}

export const better = (objective) => (isKept(objective) ? "higher" : objective.better);
export const unit = (objective) => (isKept(objective) || isShare(objective) ? " %" : "");
export const mayLog = (objective) => objective.logs && !isKept(objective);

export function spell(objective, value) {
  if (value === null || value === undefined) return "–";
  if (isKept(objective)) return percent(1 - value / objective.most);
  if (isShare(objective)) return percent(value, value < 0.1 ? 2 : 1);
  return number(value);
}

// A measure of a job: by its plain name, and by its formula's name with the column that it is about.
const plainOf = (page, measure) =>
  page.about.measures.find((each) => each.name === measure.replace(/\(.*$/, "")) || { label: measure };
export const labelOf = (page, measure) => plainOf(page, measure).label;
export const formulaOf = (measure) => measure.replace(/\(column=(.+)\)$/, " of $1");
export const wordsOf = (page, measure) => `${labelOf(page, measure)} (${formulaOf(measure)})`;
// Where a loss is drawn as it was counted, it is not called by the detail that it leaves.
export function countedOf(page, measure) {
  const { label, words, reading } = plainOf(page, measure);
  return `${reading === "kept" ? words : label} (${formulaOf(measure)})`;
}

export const axisName = (objective) => `${objective.label}${unit(objective) ? ", percent" : ""} (${objective.name})`;
export const sentence = (front, id) =>
  front.objectives
    .map((objective, column) => `${objective.label} ${spell(objective, front.values[id][column])}`)
    .join("; ");

// A file made in the browser: nothing is asked of the server, nothing leaves the machine.
export function saveFile(name, content, kind) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A warning with its weight for screen readers, and the way to where it is dealt with, if that is on the page.
export const warningItem = ({ id, severity, text, step }, more = null) =>
  h(
    "li",
    { class: severity },
    h("strong", {}, id),
    " ",
    h("span", { class: "unseen" }, severity),
    text,
    step ? [" ", h("a", { href: `#${step.toLowerCase()}` }, `To the ${step} step`)] : null,
    more,
  );
