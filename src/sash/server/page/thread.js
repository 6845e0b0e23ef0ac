// One thread: the strip, its turns with the divider, the chat box.

import * as api from "./api.js";
import { attempt, go, note, open, tell } from "./app.js";
import { chatBox } from "./ask.js";
import { fill, make, plain } from "./dom.js";
import { strip } from "./strip.js";
import { turnList } from "./turns.js";
import { percent, tokens } from "./words.js";

const PAGE = 60;
const MOST_AT_ONCE = 500;

export function threadView(main, id, panes, { changed, fresh }) {
  const known = { thread: null, explained: null, context: null, history: null };
  const stop = new AbortController();
  const title = make("h1", { tabindex: 0, dir: "auto" });
  const chips = make("span.row");
  const rail = strip((number) => reveal(number));
  const turns = turnList({ act, expand: (handle) => attempt(() => api.expand(id, handle)) });
  const box = chatBox({ send, cancel });
  const running = { turn: null, unwanted: false };
  const shown = { turns: 0 };
  let making = null;
  turns.wait();

  fill(main,
    make("header.head", {},
      make("button.only-small", { onclick: () => open("side"), "aria-label": "Threads" }, "☰"),
      title, chips,
      make("button", { onclick: () => act("compact"), hint: "Slide now (c)" }, "Compact"),
      make("button", { onclick: () => act("undo"), hint: "Take back the last change of the window (u)" }, "Undo"),
      make("button", { onclick: () => act("mark"), hint: "Set a mark to rewind to (m)" }, "Mark"),
      make("button.only-small", { onclick: () => open("inspector") }, "Window")),
    rail.element, turns.element, box.element);

  /** One that is new is made first; where that failed, when it is needed next. */
  function made() {
    if (fresh) making ??= api.create({ threadId: id }).catch((error) => { making = null; throw error; });
    return making;
  }

  /** Reads everything anew and draws it; what did not change keeps its place. */
  async function refresh() {
    await made();
    const [thread, explained, context, history, marks] = await Promise.all([
      api.thread(id), api.explain(id), api.context(id), api.history(id, { limit: Math.min(MOST_AT_ONCE, Math.max(PAGE, shown.turns)) }), api.marks(id),
    ]);
    if (stop.signal.aborted) return;
    Object.assign(known, { thread, explained, context, history, marks: marks.marks });
    drawHead();
    rail.show(explained, context);
    drawTurns();
    await panes.show({ id, ...known, refresh, whatIf, reveal });
  }

  function drawTurns() {
    const { history, explained, marks } = known;
    shown.turns = history.turns.length;
    turns.show(history.turns, explained, marks, history.next ? earlier : null);
  }

  /** The turns before those that are shown, as far back as one that somebody wants to see. */
  async function earlier(until = null) {
    const { history } = known;
    const limit = until === null ? PAGE : Math.min(MOST_AT_ONCE, Math.max(PAGE, history.next - until + 5));
    const more = await attempt(() => api.history(id, { before: history.next, limit }));
    if (!more || known.history !== history) return;
    known.history = { turns: [...more.turns, ...history.turns], next: more.next };
    drawTurns();
  }

  async function reveal(number) {
    while (known.history?.next && number < known.history.next) {
      const before = known.history.next;
      await earlier(number);
      if (known.history.next === before) break;
    }
    turns.reveal(number);
  }

  function drawHead() {
    const { thread, context } = known;
    fill(title, plain(thread.title || thread.threadId));
    title.hint = plain(thread.title || thread.threadId);
    const pressure = context.pressure;
    const kind = ["notice", "warning"].includes(pressure.level) ? `.${pressure.level}` : "";
    fill(chips,
      make("span.chip.model", { hint: `model ${thread.model || "unknown"}, policy ${thread.policy}` }, plain(thread.model || "no model")),
      make(`span.chip.num${kind}`, { hint: `${tokens(pressure.used)} of ${tokens(pressure.window)} tokens\n${pressure.bar ?? ""}` },
        `${percent(pressure.share)} full`));
    document.title = `${thread.title || thread.threadId} · sash`;
  }

  /** The picture of a window that is not: another policy or model, nothing committed. */
  function whatIf(explained) {
    rail.maybe(explained);
    turns.maybe(explained);
  }

  async function act(what, ...given) {
    const acts = {
      compact: async () => { const done = await api.compact(id); await refresh(); note(compacted(done)); },
      undo: async () => { const { because } = await api.undo(id); await refresh(); note(`Taken back: ${because}.`); },
      mark: async () => {
        const label = prompt("Name of the mark (may be empty)");
        if (label === null) return;
        await api.mark(id, label || undefined);
        await refresh();
      },
      rewind: async (label) => { await api.rewind(id, label); await refresh(); note("Rewound; undo brings it back."); },
      pin: async (turn) => { await api.pin(id, turn); await refresh(); },
      unpin: async (turn) => { await api.unpin(id, turn); await refresh(); },
      fork: async (turn) => { const made = await api.fork(id, turn); go(made.threadId); },
    };
    await attempt(async () => { await made(); await acts[what](...given); });
    changed();
  }

  function compacted({ frame, boundary, freedTokens }) {
    if (frame === null) return "Compacted: no turn had to leave.";
    const begins = boundary > 1 ? `; the window begins at turn ${boundary} now` : "";
    return freedTokens > 0 ? `Compacted: ${tokens(freedTokens)} tokens freed${begins}.` : `Compacted: what stands for earlier turns is new${begins}.`;
  }

  /** A turn that has no name yet ends as soon as it has one. */
  function cancel() {
    running.unwanted = true;
    if (running.turn) attempt(() => api.cancel(running.turn));
  }

  /** Whether the server took it. */
  async function send(input) {
    const live = turns.begin(input);
    let failed = null;
    Object.assign(running, { turn: null, unwanted: false });
    try {
      await made();
      await api.run(id, input, (name, event) => {
        if (name === "turn_started") {
          running.turn = event.turnId;
          if (running.unwanted) cancel();
        } else if (name === "message_delta") live.say(event.text ?? event.delta ?? "");
        else if (name === "tool_call") live.called(event);
        else if (name === "error") failed = event.error?.message ?? event.message;
      }, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return true;
      if (!running.turn) return untaken(error, live);
      failed = error instanceof api.Unreachable ? "The connection broke off before the answer was whole." : error.message;
    }
    live.end();
    running.turn = null;
    if (failed) note(failed, "error");
    if (stop.signal.aborted) return true;
    await attempt(refresh);
    changed();
    return true;
  }

  async function untaken(error, live) {
    live.forget();
    if (error instanceof api.Unreachable) {
      note("The server cannot be reached; what you typed is still in the box.", "error");
    } else {
      tell(error);
      await attempt(refresh);
    }
    return false;
  }

  const keys = {
    j: () => turns.step(1), k: () => turns.step(-1), c: () => act("compact"), u: () => act("undo"), m: () => act("mark"),
    i: box.focus, 1: () => panes.choose(0), 2: () => panes.choose(1), 3: () => panes.choose(2), 4: () => panes.choose(3),
    p: () => { const at = turns.current(); if (at) act(at.pinned ? "unpin" : "pin", at.number); },
  };

  return { refresh, reveal, keys, write: box.focus, close: () => stop.abort() };
}
