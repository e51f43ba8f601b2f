// The server's answers; an error is its one sentence.

let session = null;

export function setSession(id) {
  session = id;
}

async function ask(method, path, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(path, { method, body, headers, credentials: "same-origin" });
  } catch {
    throw new Error("The server does not answer. Is kpareto serve still running in its terminal?");
  }
  let found = null;
  try { found = await answer.json(); } catch { /* an answer without JSON is told by its status */ }
  if (!answer.ok) {
    const error = new Error((found && found.error) || `The server answered ${answer.status}.`);
    error.status = answer.status;
    throw error;
  }
  return found;
}

const json = { "content-type": "application/json" };
const own = (path) => `/api/sessions/${encodeURIComponent(session)}${path}`;

export const about = () => ask("GET", "/api/about");
export const newSession = () => ask("POST", "/api/sessions");
export const oldSession = (id) => ask("GET", `/api/sessions/${encodeURIComponent(id)}`);
export const get = (path) => ask("GET", own(path));
export const post = (path, body = {}) => ask("POST", own(path), JSON.stringify(body), json);
export const put = (path, body) => ask("PUT", own(path), JSON.stringify(body), json);
export const remove = (path) => ask("DELETE", own(path));
export const upload = (kind, file, encoding = "utf-8") => ask("PUT", own(`/upload/${kind}`), file, { "x-name": encodeURIComponent(file.name), "x-encoding": encoding });
export const link = (path) => own(path);

export function watch(onstatus) {
  const source = new EventSource(own("/events"));
  source.addEventListener("status", (event) => {
    const status = JSON.parse(event.data);
    if (!status || !["reading", "searching", "waiting"].includes(status.phase)) source.close();
    onstatus(status);
  });
  return source;
}
