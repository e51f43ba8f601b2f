// The server's answers; an error is its one sentence. Work that takes long is listed while it is under way, and can be stopped.

import { sameTable } from "/static/changes.js";

const KEY = "kpareto-key"; // belongs to this origin alone, unlike a cookie, which every port of this machine is sent

let session = null;
let known = null; // the job as the server last had it
let waiting = 0; // changes that are on their way
const missed = { asked: false, dropped: false }; // what got no answer
const heard = { state: () => {}, work: () => {} };
const works = new Map(); // id -> what is under way

// What a person may have to wait for, in words.
const LONG = [
  [/\/upload\//, "Sending the file"],
  [/\/(open|table\/look)$/, "Looking at the table"],
  [/\/hierarchy/, "Reading the rows for the hierarchy"],
  [/\/front$/, "Reading the rows of the front"],
  [/\/front\/axes$/, "Measuring every point"],
  [/\/prefer\/search$/, "Searching for the wish"],
  [/\/points\/\d+$/, "Counting the point"],
  [/\/table\/measure$/, "Measuring how anonymous the table is"],
  [/\/points\/\d+\/tree$/, "Growing decision trees"],
  [/\/(points\/\d+|models)\/use$/, "Measuring what an analyst gets", "behind"], // its own place says so
  [/\/marks$/, "Measuring the marked points", "behind"], // likewise
  [/\/points\/\d+\/attack$/, "Trying attacks on people"],
  [/\/points\/\d+\/check$/, "Recoding the rows for a trial"],
  [/\/points\/\d+\/report$/, "Writing the report"],
  [/\/compare\?/, "Comparing two points"],
  [/\/research\/compare$/, "Comparing searches", "behind"], // its own place says so
  [/\/(distribution|contingency|at-risk)\?/, "Counting the rows"],
  [/\/release$/, "Writing, counting again, certifying"],
  [/\/verify$/, "Verifying the release"],
];

export function setSession(id) {
  session = id;
}

export const setKnown = (job) => {
  known = job ? structuredClone(job) : null;
};
export const knownJob = () => known;
export const onState = (work) => {
  heard.state = work;
};
export const onWork = (work) => {
  heard.work = work;
};
export const underWay = () => [...works.values()];
export const stopWork = (pattern) => underWay().forEach((work) => pattern.test(work.path) && work.stop());
export const idle = () => waiting === 0;

// Whether a view asked something in vain, and whether a change of the job did not arrive, since this was last asked.
export function takeMissed() {
  const was = [missed.asked, missed.dropped];
  Object.assign(missed, { asked: false, dropped: false });
  return was;
}

// The link that opened the page ends in #key=…; what stands after # is never sent to a server. Tells whether it is new.
export function takeKey() {
  const words = new URLSearchParams(location.hash.slice(1));
  const key = words.get("key");
  if (!key) return false;
  const fresh = key !== localStorage.getItem(KEY);
  localStorage.setItem(KEY, key);
  history.replaceState(null, "", location.pathname + location.search);
  return fresh;
}

const keyed = (headers = {}) => ({ ...headers, "x-kpareto-key": localStorage.getItem(KEY) || "" });

const broken = (words, about) => Object.assign(new Error(words), about);
const lost = () =>
  broken("The server does not answer. Is kpareto serve still running in its terminal?", { lost: true });
const stopped = () => broken("Stopped.", { stopped: true });

function failed(status, content) {
  const { error: words, closed, late, remedy } = content || {};
  return broken(words || `The server answered ${status}.`, {
    status,
    closed: Boolean(closed),
    late: Boolean(late),
    remedy,
  });
}

function begin(path) {
  const line = LONG.find(([pattern]) => pattern.test(path));
  if (!line) return null;
  const controller = new AbortController();
  const work = {
    id: crypto.getRandomValues(new Uint32Array(2)).join("-"),
    words: line[1],
    behind: line[2] === "behind",
    path,
    began: performance.now(),
    done: 0,
    total: 0,
    share: null,
    steps: 1,
    controller,
  };
  work.stop = () => {
    controller.abort();
    fetch(ofSession(`/works/${work.id}`), { method: "DELETE", headers: keyed(), credentials: "same-origin" }).catch(
      () => {},
    );
  };
  works.set(work.id, work);
  heard.work();
  return work;
}

// What the server tells of a piece of work; while a file is being sent, the page itself knows better.
function follow(work, far) {
  if (work.sending) return;
  Object.assign(work, { done: far.done, total: far.total, share: far.share, step: far.step, steps: far.steps });
  if (far.words) work.words = far.words;
}

function end(work) {
  if (!work) return;
  works.delete(work.id);
  heard.work();
}

async function ask(method, path, body, headers = {}, answered = () => {}, hear = true) {
  const work = begin(path);
  const changes = method !== "GET";
  waiting += changes ? 1 : 0;
  try {
    let answer;
    try {
      answer = await fetch(path, {
        method,
        body,
        headers: keyed(work ? { ...headers, "x-work": work.id } : headers),
        credentials: "same-origin",
        signal: work ? work.controller.signal : undefined,
      });
    } catch {
      if (work && work.controller.signal.aborted) throw stopped();
      if (method === "GET" || /\/(check|report)$/.test(path)) missed.asked = true;
      throw lost();
    }
    let content = null;
    try {
      content = await answer.json();
    } catch {
      // Stopped, or broken off, in the midst of the answer; a refusal without JSON is told by its status.
      if (work && work.controller.signal.aborted) throw stopped();
      if (answer.ok) throw lost();
    }
    if (!answer.ok) throw failed(answer.status, content);
    answered();
    if (hear && content && content.draft !== undefined) heard.state(content);
    return content;
  } finally {
    waiting -= changes ? 1 : 0;
    end(work);
  }
}

// A file is sent by the older kind of request, which tells how much of it has gone.
function send(path, file, headers) {
  const work = begin(path);
  waiting += 1;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    for (const [name, value] of Object.entries(keyed({ ...headers, "x-work": work.id })))
      request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => {
      Object.assign(work, {
        sending: true,
        done: event.loaded,
        total: event.total,
        share: event.total ? event.loaded / event.total : null,
        words: `Sending ${file.name}`,
      });
      heard.work();
    };
    request.upload.onload = () => {
      Object.assign(work, { sending: false, done: 0, total: 0, share: null, words: `Looking at ${file.name}` });
      heard.work();
    };
    request.onerror = () => reject(lost());
    request.onabort = () => reject(stopped());
    request.onload = () => {
      let content = null;
      try {
        content = JSON.parse(request.responseText);
      } catch {
        /* told by its status */
      }
      if (request.status >= 400 || !content) {
        reject(failed(request.status, content));
        return;
      }
      if (content.draft !== undefined) heard.state(content);
      resolve(content);
    };
    work.controller.signal.addEventListener("abort", () => request.abort());
    request.send(file);
  }).finally(() => {
    waiting -= 1;
    end(work);
  });
}

const json = { "content-type": "application/json" };
const ofSession = (path) => `/api/sessions/${encodeURIComponent(session)}${path}`;
const changesJob = (path) => path.startsWith("/hierarchy") && path !== "/hierarchy/preview";

export const about = () => ask("GET", "/api/about");
export const newSession = (empty) => ask("POST", "/api/sessions", JSON.stringify({ empty }), json);
export const tables = (ids) => ask("POST", "/api/tables", JSON.stringify({ ids }), json);
export const closeTable = (id) => ask("DELETE", `/api/sessions/${encodeURIComponent(id)}`);
// Everything of a session; whoever asks decides what becomes of the job in it.
export const oldSession = (id) => ask("GET", `/api/sessions/${encodeURIComponent(id)}`, undefined, {}, () => {}, false);
export const get = (path) => ask("GET", ofSession(path));
// Whatever is asked of the server comes after the changes that are on their way: a job that is saved has them.
export async function post(path, body = {}) {
  if (!changesJob(path)) {
    if (changesWait()) await line;
    return ask("POST", ofSession(path), JSON.stringify(body), json);
  }
  const before = known;
  queued = null; // what is changed from now on comes after this
  return inLine((answered) =>
    ask(
      "POST",
      ofSession(path),
      JSON.stringify(before ? { revision: meant(path, body, before), ...body } : body),
      json,
      answered,
    ),
  );
}

// The job that a change of a hierarchy is meant for: what was changed here meanwhile does no harm, unless it is another
// table, or the very groups that an edit names by their places.
function meant(path, { column }, before) {
  const fits =
    sameTable(before, known) &&
    (path !== "/hierarchy" || JSON.stringify(before.columns[column]) === JSON.stringify(known.columns[column]));
  return fits ? known.revision : before.revision;
}

export const remove = (path) => ask("DELETE", ofSession(path));
export const upload = (kind, file, encoding = "utf-8") =>
  send(ofSession(`/upload/${kind}`), file, { "x-name": encodeURIComponent(file.name), "x-encoding": encoding });
export const link = (path) => ofSession(path);

let line = Promise.resolve(); // changes of the job go one after the other
let unanswered = 0;
let queued = null; // the job that waits for its turn

export const changesWait = () => unanswered > 0;

function inLine(send) {
  let open = true;
  const answered = () => {
    unanswered -= open ? 1 : 0;
    open = false;
  };
  unanswered += 1;
  waiting += 1;
  const answer = line
    .then(() => send(answered))
    .finally(() => {
      answered();
      waiting -= 1;
    });
  line = answer.catch(() => {});
  return answer;
}

export const put = (path, body) => ask("PUT", ofSession(path), JSON.stringify(body), json);

// The job as the page has it when its turn comes: what was changed meanwhile goes along, so that a change waits for one
// request at most. It is late where somebody else has changed what the server last told. An error has what was sent.
export function putJob(read) {
  queued ??= inLine(async (answered) => {
    queued = null;
    const sent = { ...structuredClone(read()), revision: known.revision };
    try {
      return await ask("PUT", ofSession("/job"), JSON.stringify(sent), json, () => {
        setKnown(sent);
        answered();
      });
    } catch (error) {
      if (error.lost) missed.dropped = true;
      throw Object.assign(error, { sent });
    }
  });
  return queued;
}

// A link for a download or a frame, which cannot send the key: good once, for one address.
export async function once(path) {
  if (changesWait()) await line;
  const { ticket } = await ask("POST", "/api/tickets", JSON.stringify({ path }), json);
  return `${path}${path.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

export async function pulse() {
  let answer;
  try {
    answer = await fetch(ofSession("/pulse"), {
      headers: keyed(),
      credentials: "same-origin",
      signal: AbortSignal.timeout(5000),
    });
  } catch {
    throw lost();
  }
  if (!answer.ok) throw failed(answer.status, await answer.json().catch(() => null));
  const content = await answer.json();
  for (const [id, far] of Object.entries(content.works)) if (works.has(id)) follow(works.get(id), far);
  return content;
}

// The search as it goes; onend is told whether the connection broke before the search was over.
export function watch(onstatus, onend = () => {}) {
  const controller = new AbortController();
  const listen = async () => {
    const answer = await fetch(ofSession("/events"), {
      headers: keyed(),
      credentials: "same-origin",
      signal: controller.signal,
    });
    if (!answer.ok) throw failed(answer.status, null);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let over = false;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const status = JSON.parse(part.slice(part.indexOf("data: ") + 6));
        over = !status || !["waiting", "reading", "looking", "preparing", "searching"].includes(status.phase);
        onstatus(status);
      }
    }
    onend(!over);
  };
  listen().catch(() => {
    if (!controller.signal.aborted) onend(true);
  });
  return { close: () => controller.abort() };
}
