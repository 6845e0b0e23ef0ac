// The turns of a thread, the divider between what left the window and what is live.

import { fill, make, plain } from "./dom.js";
import { following } from "./follow.js";
import { age, many, remedies, tokens } from "./words.js";

/** What is shown of a long text at first. */
const LETTERS = 2400;
const LINES = 30;
/** Code between fences; the last one may be open still. */
const FENCED = /^```[^\n`]*\n([^]*?)(?:^```[ \t]*$\n?|(?![^]))/gm;

export function turnList({ act, expand }) {
  const element = make("section", { id: "turns", tabindex: -1, "aria-label": "Turns" });
  const cards = new Map();
  const end = following(element);
  let boundary = null;
  let chosen = null;
  let explainedBy = new Map();
  let speaking = null;

  /** Until there is something to show: the shape of what is coming. */
  const wait = () => fill(element, make("div.waiting", { role: "status", "aria-label": "Reading the log" }, [1, 2, 3].map(() => make("i"))));

  function show(history, explained, marks = [], earlier = null) {
    const moved = boundary !== null && boundary !== explained.boundary;
    boundary = explained.boundary;
    explainedBy = new Map(explained.turns.map((turn) => [turn.number, turn]));
    const results = new Map(explained.results.map((result) => [result.handle, result]));
    const marked = new Map();
    for (const mark of marks) marked.set(mark.turn, [...(marked.get(mark.turn) ?? []), mark]);
    cards.clear();
    // The turn that is being said has more of it than the log.
    const said = history.filter((turn) => !(speaking && turn.status === "running"));
    const parts = [];
    if (earlier) {
      const before = many(said.length ? said[0].number - 1 : 0, "earlier turn");
      parts.push(make("p.earlier", {}, make("button", { onclick: (event) => { event.target.disabled = true; earlier(); } }, `Show ${before === "1 earlier turn" ? "the turn before" : "turns before"}`), make("span.faint", {}, `${before} in the log`)));
    }
    let divided = false;
    for (const turn of said) {
      const why = explainedBy.get(turn.number);
      if (!divided && turn.number >= boundary && (said[0].number < boundary || (earlier && turn === said[0]))) {
        parts.push(divider(explained, moved));
        divided = true;
      }
      const drawn = card(turn, why, results);
      cards.set(turn.number, drawn);
      parts.push(drawn, (marked.get(turn.number) ?? []).map(markLine));
    }
    parts.push(...compactions(explained));
    if (speaking) parts.push(speaking);
    end.around(() => fill(element, parts.length ? parts : make("div.empty.soft", {}, "Say something below. Every turn stays in the log; the divider shows how much of it the model sees.")));
  }

  const divider = (explained, moved) =>
    make(`div.divider${moved ? ".moved" : ""}`, {
      role: "separator", tabindex: 0,
      hint: `Above: left the window, still in the log.\nBelow: what the model sees, ${tokens(explained.tokens)} tokens.\nFrame ${explained.frame}${explained.frames.length ? `: ${explained.frames.at(-1).reason}` : ""}`,
    }, "context");

  const markLine = (mark) =>
    make("p.marker", {}, "⚑ ", make("bdi", {}, plain(mark.label || "mark")), " ",
      make("button.plain", { onclick: () => act("rewind", mark.label || undefined), hint: "Go on from here; what came later leaves the view, and undo brings it back" }, "rewind to here"));

  /** What somebody's compacting came to; one that changed nothing is not told of. */
  function compactions({ frames, summaries }) {
    const made = frames.filter((frame) => frame.rule === "compact");
    if (!made.length) return [];
    const left = new Set(made.flatMap((frame) => frame.evicted)).size;
    const summary = summaries.find((one) => one.inForce && one.by === "model");
    return [make("p.marker", {}, `${many(made.length, "compaction")}: ${left ? many(left, "turn") : "no turn"} left the window`,
      summary ? `; the summary was written by ${plain(summary.model || "a model")}` : null)];
  }

  function card(turn, why, results) {
    const state = why?.state ?? turn.state ?? "live";
    const pinned = Boolean(why?.pinned);
    const tools = (turn.tools ?? []).map((tool) => toolResult(tool, results.get(tool.handle)));
    return make(`article.turn.${state}`, { id: `turn-${turn.number}`, tabindex: 0 },
      make("header", { hint: () => hintOf(turn, why) },
        make("b.num", {}, `turn ${turn.number}`),
        make(`span.state.${state}`, {}, state),
        why ? make("span.num", {}, `${tokens(why.tokens)}${why.tokens.value < why.whole.value ? ` of ${tokens(why.whole)}` : ""}`) : null,
        make("span", {}, age(turn.createdAt)),
        turn.status === "open" ? make("span.chip", { hint: "Nobody has answered it yet" }, "not answered")
          : turn.status && turn.status !== "completed" ? make("span.chip.warning", {}, turn.status) : null,
        make("span.grow"),
        make("button.plain", { "aria-pressed": pinned, onclick: () => act(pinned ? "unpin" : "pin", turn.number), hint: pinned ? "Let it leave when its time comes" : "Keep it in the window whatever happens" }, pinned ? "unpin" : "pin"),
        make("button.plain", { onclick: () => act("fork", turn.number), hint: "A new thread that goes on from this turn" }, "fork")),
      make("div.said.user", { dir: "auto" }, folded(turn.requestText)),
      tools,
      turn.responseText ? make("div.said", { dir: "auto" }, make("span.who", { dir: "ltr" }, "assistant"), folded(turn.responseText)) : null,
      turn.errorMessage ? make("p.trouble", {}, plain(turn.errorMessage)) : null);
  }

  /** A text; of a long one its beginning, until somebody wants all of it. */
  function folded(text) {
    const lines = text.split("\n", LINES + 1);
    if (text.length <= LETTERS && lines.length <= LINES) return written(text);
    const short = lines.slice(0, LINES).join("\n").slice(0, LETTERS);
    const part = make("span", {}, written(short), "… ");
    part.append(make("button.plain", { onclick: () => fill(part, written(text)) }, `show all (${many(text.length, "character")})`));
    return part;
  }

  /** A text with the code in it set as code. */
  function written(text) {
    const parts = [];
    let from = 0;
    for (const found of text.matchAll(FENCED)) {
      parts.push(plain(text.slice(from, found.index)), make("pre", { tabindex: 0, dir: "ltr", "aria-label": "code" }, plain(found[1].replace(/\n$/, ""))));
      from = found.index + found[0].length;
    }
    return [...parts, plain(text.slice(from))];
  }

  function hintOf(turn, why) {
    if (!why) return `Turn ${turn.number}`;
    const lines = [`${why.state}: ${why.reason}`];
    if (why.since) lines.push(`since frame ${why.since}`);
    if (why.digestedSteps) lines.push(`${many(why.digestedSteps, "step")} told as a digest`);
    if (why.priority) lines.push(`priority ${why.priority.value}: ${(why.priority.reasons ?? []).join(", ")}`);
    if (why.back?.length) lines.push(`back with: ${remedies(why.back.join(" or "))}`);
    return lines.join("\n");
  }

  function toolResult(tool, why) {
    const inside = make("pre", { dir: "auto" }, plain(tool.text ?? ""));
    const whole = tool.handle
      ? make("button.plain", { onclick: async (event) => {
          event.preventDefault();
          event.target.closest("details").open = true;
          const got = await expand(tool.handle);
          if (got) fill(inside, plain(got.text));
        }, hint: "All of it, from the log" }, "whole") : null;
    return make("details.tool", {},
      make("summary", { hint: why ? `${why.state}: ${why.reason}\n${tokens(why.shown)} shown of ${tokens(why.whole)}` : null },
        make("code", {}, plain(tool.name)), make("span.called.faint", {}, plain(called(tool.arguments))), make("span.faint.tiny", {}, tool.handle ?? ""),
        tool.error ? make("span.chip.warning", {}, "error") : null,
        why && why.state !== "whole" ? make("span.chip", {}, why.state) : null, whole),
      inside);
  }

  /** The values of a call's arguments, in a line. */
  function called(given) {
    try {
      const read = JSON.parse(given || "{}");
      return Object.values(read).map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(" ").replace(/\s+/g, " ").slice(0, 160);
    } catch {
      return String(given).slice(0, 160);
    }
  }

  /** A turn that is being said right now. */
  function begin(input) {
    const answer = make("div.said.wait", { dir: "auto" }, make("span.who", { dir: "ltr" }, "assistant"));
    const tools = make("div");
    const drawn = make("article.turn.live", {},
      make("header", {}, make("b", {}, "now")), make("div.said.user", { dir: "auto" }, plain(input)), tools, answer);
    speaking = drawn;
    const empty = element.querySelector(".empty");
    empty?.remove();
    element.append(drawn);
    end.toEnd();
    return {
      say: (text) => end.around(() => answer.append(plain(text))),
      end: () => { speaking = null; answer.classList.remove("wait"); },
      forget: () => { speaking = null; empty ? drawn.replaceWith(empty) : drawn.remove(); },
      called: (call) => end.around(() => tools.append(toolResult({ name: call.name, text: call.arguments }))),
    };
  }

  function choose(drawn) {
    chosen?.classList.remove("shown");
    chosen = drawn;
    chosen?.classList.add("shown");
    chosen?.focus({ preventScroll: true });
    end.leave();
    chosen?.scrollIntoView({ block: "center" });
  }

  return {
    element, show, begin, wait,
    reveal: (number) => choose(cards.get(number)),
    step: (by) => {
      const all = [...cards.values()];
      const at = all.indexOf(chosen);
      choose(all[Math.max(0, Math.min(all.length - 1, at < 0 ? all.length - 1 : at + by))]);
    },
    current: () => {
      const number = [...cards].find(([, drawn]) => drawn === chosen)?.[0];
      return number === undefined ? null : { number, pinned: Boolean(explainedBy.get(number)?.pinned) };
    },
    maybe: (explained) => {
      element.querySelector(".divider.maybe")?.remove();
      if (!explained || explained.boundary === boundary) return;
      cards.get(explained.boundary)?.before(make("div.divider.maybe", {}, "context, if"));
    },
  };
}
