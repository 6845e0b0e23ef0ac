// How full the window is, by source, and how it came to be so.

import { chart, cacheChart } from "./chart.js";
import { fill, make } from "./dom.js";
import { many, percent, tokens, value } from "./words.js";

export const NAMES = {
  system: "System prompt", tools: "Tools", skills: "Skills", knowledge: "Knowledge", cross_thread: "Other threads", facts: "Facts",
  summary: "Summary or digest", history: "History", carried: "Carried turns", recalled: "Recalled turns", input: "Input", reserve: "Reserve for the answer",
};

export const colour = (source) => ({ "--of": `var(--${source}, var(--system))` });

export function windowPane(pane, { context, explained }) {
  const rows = context.sources.filter((row) => row.source !== "reserve" && value(row.tokens) > 0);
  const reserve = context.reserve ?? 0;
  const share = (count) => `${(100 * value(count)) / context.window}%`;
  fill(pane,
    make("div.big.num", {}, tokens(context.tokens), make("small", {}, ` of ${tokens(context.window)} tokens · ${percent(context.pressure.share)}`)),
    make("div.bar", { role: "img", "aria-label": "Tokens by source" },
      rows.map((row) => make("span", { style: { ...colour(row.source), width: share(row.tokens) }, hint: `${NAMES[row.source] ?? row.source}: ${tokens(row.tokens)}` })),
      make("span.gap", { hint: `free: ${tokens(context.window - reserve - value(context.tokens))}` }),
      make("span.reserve", { style: { width: share(reserve) }, hint: `reserve for the answer: ${tokens(reserve)}` })),
    marks(explained),
    make("table", {},
      make("thead", {}, make("tr", {}, make("th", {}, "source"), make("th.num", {}, "tokens"), make("th.num", {}, "share"), make("th.num", {}, "may take"))),
      make("tbody", {}, context.sources.filter((row) => value(row.tokens) > 0 || row.given > 0).map((row) =>
        make("tr", { hint: row.change ? `To change it: ${row.change}` : null },
          make("td.key", { style: colour(row.source) }, NAMES[row.source] ?? row.source),
          make("td.num", {}, row.source === "reserve" ? "–" : tokens(row.tokens)),
          make("td.num", {}, row.source === "reserve" ? percent(reserve / context.window) : percent(value(row.tokens) / context.window)),
          make("td.num", {}, tokens(row.given)))),
        context.around ? make("tr", { hint: "what a provider needs beside what was said" },
          make("td", {}, "Repairs, framing"), make("td.num", {}, tokens(context.around)), make("td.num", {}, ""), make("td.num", {}, "")) : null)),
    context.unsent ? make("p.faint", {}, `${tokens(context.unsent)} that history counts is not sent: a provider would not take it, or there is no place for it.`) : null,
    make("h2", {}, "Live tokens over time"),
    chart(context.timeline ?? [], explained),
    make("p.soft", {}, slides(explained)),
    context.timeline?.length > 1 && context.timeline.some((point) => point.cached !== undefined)
      ? [make("h2", {}, "Read from the cache"), cacheChart(context.timeline), make("p.faint", {}, "Each bar is a request: below what the provider had read before, above what was new.")] : null,
    cacheLine(context));
}

/** How far history is from its next slide: the model's window may be far larger than what history may take. */
function marks(explained) {
  const share = (count) => `${Math.min(100, (100 * value(count)) / explained.high)}%`;
  return make("div.marks", { hint: `history slides above ${tokens(explained.high)}, down to ${tokens(explained.low)}` },
    make("div.meter.tall", { role: "img", "aria-label": `history ${tokens(explained.tokens)} of ${tokens(explained.high)}` },
      make("i", { style: { width: share(explained.tokens) } }), make("b.low", { style: { left: share(explained.low) } })),
    make("p.faint", {}, `history ${tokens(explained.tokens)} of ${tokens(explained.high)}: ${explained.suspended ? "it slides only when the window is full, since an undo" : "the next slide goes down to the tick"}`));
}

function slides(explained) {
  const newest = explained.frames.at(-1);
  if (!newest?.number) return "The window has not slid yet: every request begins with all of the one before it.";
  const made = explained.frames.filter((frame) => frame.slid);
  const last = made.at(-1);
  const told = last ? `${many(made.length, "slide")}. The last: ${last.reason}; it freed ${tokens(last.freed)} tokens.` : "The window has not slid yet.";
  return newest === last ? told : `${told} Since then: ${newest.reason}.`;
}

function cacheLine(context) {
  if (!context.cachedShare) return null;
  return make("p", {}, `${percent(context.cachedShare)} of all input so far could be read from the provider's cache.`);
}
