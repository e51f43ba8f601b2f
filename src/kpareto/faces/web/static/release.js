// Release: limits and warnings of the chosen point, the report, the files; and verifying a release.

import * as api from "/static/api.js";
import {
  bad,
  colName,
  formula,
  h,
  inRow,
  labelled,
  list,
  makeButton,
  num,
  number,
  numName,
  percent,
  quiet,
  replace,
  rowName,
  say,
  select,
  several,
  tableOf,
  td,
  ticked,
  titled,
  tr,
} from "/static/dom.js";
import { formulaOf, labelOf, sentence, warningItem, wordsOf } from "/static/plain.js";

const FILES = {
  release: ["The release", "what leaves the house"],
  certificate: ["Certificate", "confidential: keep it"],
  public: ["Public certificate", "may go with the release"],
  recoding: ["Recoding", "to recode new rows: kpareto apply"],
  report: ["Report", "for the public"],
  "report.confidential": ["Report, confidential", "for the file"],
};

const FORMULAS = [
  ["report", "leave as they are, and are counted"],
  ["neutralise", "are written behind an apostrophe, so that no spreadsheet runs them"],
];

export async function releaseView(page) {
  const front = await page.loadFront();
  const id =
    Number.isInteger(page.view.chosen) && page.view.chosen < front.values.length ? page.view.chosen : front.recommended;
  const values = sentence(front, id);
  const checks = titled(
    "checks",
    "Limits and warnings",
    h("p", { class: "quiet", role: "status" }, "Recoding the rows for a trial …"),
  );
  const target = h("input", {
    type: "text",
    id: "target",
    value: page.draft.release.target || "release.csv",
    spellcheck: "false",
  });
  const done = h("div", { id: "released", role: "status", "data-point": id });
  const button = h(
    "button",
    {
      type: "button",
      id: "release-now",
      hidden: true, // until its checks are in
      onclick: async () => {
        button.disabled = true;
        const released = await page.attempt(
          () =>
            api.post("/release", {
              point: id,
              target: target.value,
              formulas: formulas.querySelector("select").value,
              counts: counts.checked,
              accept: acceptedIn(checks),
            }),
          "Writing the release …",
        );
        button.disabled = false;
        if (released) {
          page.released = released;
          // The view may have been drawn anew while the rows were written.
          show(released, document.querySelector(`#released[data-point="${id}"]`) || done);
        }
      },
    },
    "Release",
  );
  // A choice for the file that leaves, kept in the job; the search does not go by it.
  const formulas = select(
    "Cells that begin like a formula (= + - @)",
    FORMULAS,
    page.draft.release.formulas || "report",
    { id: "formulas" },
    async (value) => {
      await page.change({ ...page.draft, release: { ...page.draft.release, formulas: value } });
    },
  );
  const counts = h("input", {
    type: "checkbox",
    id: "counts",
    checked: page.draft.release.counts === true,
    onchange: async () => {
      await page.change({ ...page.draft, release: { ...page.draft.release, counts: counts.checked } });
    },
  });
  const show = (released, place) => {
    replace(
      place,
      h(
        "p",
        { class: "good" },
        `Released ${several(released.rows, "row")}; the written file was read again and verified. ${several(released.suppressed, "row")} ${released.suppressed === 1 ? "was" : "were"} suppressed.`,
      ),
      countedAgain(page, released.verified, released.unlimited),
      released.remarks.map((remark) => quiet(remark)),
      h(
        "ul",
        { class: "downloads" },
        Object.entries(released.files).map(([kind, name]) =>
          h(
            "li",
            {},
            h(
              "a",
              {
                class: kind === "release" ? "button" : "button second",
                href: api.link(`/files/${encodeURIComponent(name)}`),
                download: name,
                "data-file": kind,
              },
              (FILES[kind] || [kind])[0],
            ),
            h("span", { class: "quiet" }, ` ${name}, ${(FILES[kind] || ["", ""])[1]}`),
          ),
        ),
      ),
    );
    say("Released and verified.");
  };
  if (page.released && page.released.point.id === id) show(page.released, done);
  const secret = h("input", { type: "checkbox", id: "secret", onchange: () => preview() });
  const frame = h("iframe", { title: "Preview of the report", sandbox: "" });
  const written = h("p", { class: "quiet", role: "status" });
  // The report is written first, with progress and a way to stop; the frame then gets a link that is good once.
  let asked = 0; // of two reports, the one that was asked for later is shown
  const preview = async () => {
    const mine = ++asked;
    const path = `/points/${id}/report`;
    replace(written, "Writing the report …");
    try {
      await api.post(path, { confidential: secret.checked });
      const link = await api.once(api.link(`${path}${secret.checked ? "?confidential=1" : ""}`));
      if (mine !== asked) return;
      if (frame.contentWindow) frame.contentWindow.location.replace(link); // leaves no step behind to go back to
      replace(written, "");
    } catch (error) {
      if (mine === asked)
        replace(
          written,
          error.stopped ? "Stopped. " : `${error.message} `,
          makeButton("Write the report", { class: "second small" }, preview),
        );
    }
  };
  requestAnimationFrame(preview);
  runChecks(page, id, checks, button);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "title" },
      h("h1", {}, `Release point ${id}`),
      h("a", { class: "button second", href: "#explore" }, "Choose another"),
    ),
    h(
      "p",
      { class: "lead" },
      values,
      ` · ${several(front.suppressed[id], "row")} suppressed (${percent(front.suppressed[id] / front.rows)})`,
    ),
    page.staleNote(),
    h(
      "div",
      { class: "split even" },
      checks,
      h(
        "div",
        {},
        titled(
          "go",
          "Release",
          quiet(
            "The rows are written, read again by a program that shares no code with the search, and certified; nothing is handed out that misses a limit.",
          ),
          inRow(labelled("File name (.csv, .xlsx, .parquet, .dta or .sav)", target), formulas, button),
          h(
            "label",
            { class: "tick" },
            counts,
            "Say in the public part how many rows have each value of each column, none below k, so that analysts know more of what labels hide.",
          ),
          done,
        ),
        verifyCard(page),
      ),
    ),
    titled(
      "preview",
      "Report",
      h("label", { class: "tick" }, secret, "confidential: with original rows and small counts"),
      written,
      frame,
    ),
  );
}

// The numbers of a verified release; what classes tell of a column without a limit is no promise, and is not among them.
const countedAgain = (page, numbers, unlimited) => [
  h(
    "p",
    { class: "good" },
    `Counted again: ${Object.entries(numbers)
      .filter(([name]) => !unlimited.some((column) => name.includes(`column=${column}`)))
      .map(([name, value]) => `${wordsOf(page, name)}: ${number(value)}`)
      .join("; ")}.`,
  ),
  unlimited.length ? bad(`No limit protects the values of ${unlimited.join(", ")}.`) : null,
];

// The dangers that somebody has accepted, box by box.
const acceptedIn = (place) =>
  [...place.querySelectorAll("input[data-accept]:checked")].map((box) => box.dataset.accept);

async function runChecks(page, id, place, button) {
  const known = page.draft.release.accept || [];
  const ready = () => {
    button.disabled = place.querySelector("input[data-accept]:not(:checked)") !== null;
  };
  const accept = (warning) =>
    ticked(
      `Release in spite of ${warning.id}`,
      { "data-accept": warning.id, checked: known.includes(warning.id) },
      ready,
    );
  try {
    const trial = await api.post(`/points/${id}/check`);
    const order = { danger: 0, caution: 1, note: 2 };
    const warned = [...trial.warnings].sort((a, b) => order[a.severity] - order[b.severity]);
    const count = (kind) => warned.filter((warning) => warning.severity === kind).length;
    replace(
      place,
      h("h2", { id: "checks" }, "Limits and warnings"),
      tableOf(
        {},
        [colName("Limit"), ["asked", "has"].map((each) => numName(each)), td()],
        trial.limits.map((limit) =>
          tr(
            rowName(labelOf(page, limit.name), " ", formula(formulaOf(limit.name))),
            num(`${limit.better === "higher" ? "≥" : "≤"} ${number(limit.limit)}`),
            num(number(limit.value)),
            td(limit.met ? h("span", { class: "tag good-tag" }, "met") : h("span", { class: "tag bad-tag" }, "missed")),
          ),
        ),
      ),
      h(
        "p",
        { class: "quiet", id: "warn-count" },
        `${several(warned.length, "warning")}: ${count("danger")} serious, ${count("caution")} to look at, ${count("note")} to know.`,
      ),
      h(
        "ul",
        { class: "warnings" },
        warned.map((warning) => warningItem(warning, warning.severity === "danger" ? accept(warning) : null)),
      ),
    );
    const serious = count("danger");
    if (serious)
      button.textContent = `Release in spite of ${serious} serious ${serious === 1 ? "warning" : "warnings"}`;
    button.hidden = false;
    ready();
  } catch (error) {
    const again = () => runChecks(page, id, place, button);
    replace(
      place,
      h("h2", { id: "checks" }, "Limits and warnings"),
      bad(error.message),
      makeButton("Check again", { class: "second small" }, again),
    );
  }
}

function verifyCard(page) {
  const answer = h("div", { id: "verdict", role: "status" });
  const chosen = { release: null, certificate: null };
  const field = (kind, text) =>
    labelled(
      text,
      h("input", {
        type: "file",
        id: `verify-${kind}`,
        onchange: (event) => {
          chosen[kind] = event.target.files[0] || null;
        },
      }),
    );
  const go = async () => {
    replace(answer, "");
    if (!chosen.release || !chosen.certificate) {
      replace(answer, bad("Choose the release and its certificate first."));
      return;
    }
    const verdict = await page.attempt(async () => {
      await api.upload("release", chosen.release);
      await api.upload("certificate", chosen.certificate);
      return api.post("/verify");
    }, "Verifying …");
    if (!verdict) return;
    const statements = [...(verdict.unchecked || []), ...(verdict.said || [])];
    replace(
      answer,
      h("p", { class: verdict.holds ? "good" : "bad" }, verdict.sentence),
      verdict.holds ? countedAgain(page, verdict.numbers, verdict.unlimited) : null,
      statements.length
        ? h(
            "details",
            {},
            h("summary", {}, `${several(statements.length, "statement")} that the file alone cannot confirm`),
            list(statements),
          )
        : null,
    );
  };
  return titled(
    "verify-title",
    "Verify a release",
    inRow(
      field("release", "Released file"),
      field("certificate", "Certificate"),
      makeButton("Verify", { class: "second", id: "verify-now" }, go),
    ),
    answer,
  );
}
