// The public API and nothing else: whatever this page can do, any client can.

const KEY = "sash-key";

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = error?.code ?? "INTERNAL";
    this.details = error?.details;
  }
}

/** Nobody answered, or not to the end. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
  }
}

/** For this tab only: a key is not left lying in the browser. */
export const remember = (key) => sessionStorage.setItem(KEY, key);

function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return { ...(key ? { authorization: `Bearer ${key}` } : {}), ...more };
}

/** Whatever a browser says of a connection that failed, it says in its own words. */
async function reaching(what) {
  try {
    return await what();
  } catch (error) {
    throw error.name === "TypeError" ? new Unreachable() : error;
  }
}

async function call(method, path, body, more) {
  const sent = { method, headers: headers({ ...(body === undefined ? {} : { "content-type": "application/json" }), ...more }) };
  if (body !== undefined) sent.body = JSON.stringify(body);
  const answer = await reaching(() => fetch(path, sent));
  if (answer.ok) return answer.status === 204 ? null : reaching(() => answer.json());
  throw await refused(answer);
}

async function refused(answer) {
  const said = await answer.json().catch(() => null);
  return new Refused(answer.status, said?.error);
}

const query = (given) => {
  const named = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return named.length ? `?${new URLSearchParams(named)}` : "";
};

const at = (thread, ...rest) => ["/v1/threads", encodeURIComponent(thread), ...rest].join("/");

export const threads = (given = {}) => call("GET", `/v1/threads${query(given)}`);
/** Asked again for the same thread, the server makes it once. */
export const create = (given) => call("POST", "/v1/threads", given, { "idempotency-key": given.threadId });
/** An id as the server gives them, so that a thread has its address before it is made. */
export const newId = () => `thr_${[...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
export const thread = (id) => call("GET", at(id));
export const change = (id, given) => call("PATCH", at(id), given);
export const history = (id, given = {}) => call("GET", `${at(id, "history")}${query(given)}`);
export const explain = (id, given = {}) => call("GET", `${at(id, "explain")}${query(given)}`);
export const context = (id, given = {}) => call("GET", `${at(id, "context")}${query(given)}`);
export const frames = (id) => call("GET", at(id, "frames"));
export const request = (id, wire) => call("GET", `${at(id, "request")}${query({ wire, origins: true })}`);
export const compact = (id, dryRun = false) => call("POST", at(id, "compact"), { dryRun });
export const undo = (id) => call("POST", at(id, "undo"), {});
export const pin = (id, turn) => call("POST", at(id, "pins"), { turn });
export const unpin = (id, turn) => call("DELETE", at(id, "pins", turn));
export const mark = (id, label) => call("POST", at(id, "marks"), { label });
export const marks = (id) => call("GET", at(id, "marks"));
export const rewind = (id, label) => call("POST", at(id, "rewind"), label ? { label } : {});
export const fork = (id, turn) => call("POST", at(id, "fork"), { turn });
export const facts = (id) => call("GET", at(id, "facts"));
export const unlearn = (id, text) => call("POST", at(id, "forget"), { text });
export const learn = (id, text) => call("POST", at(id, "facts"), { text });
export const expand = (id, handle) => call("GET", `${at(id, "expand")}${query({ handle })}`);
export const search = (text, id) => call("GET", `${id ? at(id, "search") : "/v1/search"}${query({ text })}`);
export const summaries = (id) => call("GET", at(id, "summaries"));
export const editSummary = (id, text) => call("PUT", at(id, "summary"), { text });
export const revertSummary = (id, revision) => call("POST", at(id, "summary", "revert"), { revision });
export const rebuildSummary = (id) => call("POST", at(id, "summary", "rebuild"), {});
export const whatIf = (id, given) => call("POST", at(id, "whatif"), given);
export const cancel = (turn) => call("POST", `/v1/turns/${encodeURIComponent(turn)}/cancel`, {});
export const about = () => call("GET", "/v1/about");

/** Runs a turn; tells of each event as it comes. */
export async function run(id, input, onEvent, signal) {
  const answer = await reaching(() => fetch(at(id, "turns"), {
    method: "POST",
    signal,
    headers: headers({
      "content-type": "application/json",
      accept: "text/event-stream",
      "idempotency-key": crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
    }),
    body: JSON.stringify({ input, stream: true }),
  }));
  if (!answer.ok) throw await refused(answer);
  await follow(answer, onEvent);
}

async function follow(answer, onEvent) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reaching(() => reader.read());
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
      if (!data.length) continue;
      const name = lines.find((line) => line.startsWith("event:"))?.slice(6).trim();
      const event = JSON.parse(data.join("\n"));
      onEvent(name ?? event.type, event);
    }
  }
}
