// What stands for the turns that left: summary or digest, and facts, each with the turns it rests on.

import * as api from "./api.js";
import { attempt, note } from "./app.js";
import { fill, make, plain } from "./dom.js";
import { age, many, tokens } from "./words.js";

let reveal = () => {};

export async function memoryPane(pane, { id, thread, refresh, reveal: show }) {
  reveal = show;
  const [facts, summaries] = await Promise.all([
    attempt(() => api.facts(id)), attempt(() => api.summaries(id)),
  ]);
  if (!facts || !summaries) return;
  const add = make("input", { dir: "auto", placeholder: "Remember that …", "aria-label": "A fact to remember" });
  const remember = async (event) => {
    event.preventDefault();
    if (!add.value.trim()) return;
    await attempt(async () => { await api.learn(id, add.value.trim()); await refresh(); });
  };
  const forget = async (text) => {
    await attempt(async () => { await api.unlearn(id, text); await refresh(); });
  };
  fill(pane,
    make("h2", {}, "Facts"),
    facts.facts.length ? facts.facts.map((one) => fact(one, forget)) : make("p.faint", {}, "None yet."),
    make("form.row", { onsubmit: remember }, add, make("button", {}, "Remember")),
    make("h2", {}, "Standing for what left"),
    make("div.prose", { dir: "auto" }, summaries.standing ? cited(summaries.standing) : "Nothing has left the window yet."),
    make("p.faint", {}, summaries.writtenBy ? `Written by ${plain(summaries.writtenBy)}.` : null),
    make("h2", {}, "Summaries by a model"),
    revisions(summaries, { id, thread, refresh }));
}

const fact = (one, forget) =>
  make(`div.fact${one.supersededBy ? ".old" : ""}`, { hint: one.supersededBy ? "superseded" : `${one.foundBy ?? "given"}${one.at ? `, ${age(one.at)} ago` : ""}` },
    make("span.grow", { dir: "auto" }, plain(one.text)), one.turn > 0 ? reference(one.turn) : null,
    make("button.plain", { onclick: () => forget(one.text), hint: "Tell the model of it no more; the log keeps it" }, "forget"));

const reference = (turn) => make("a.ref", { href: `#turn-${turn}`, onclick: (event) => {
  event.preventDefault();
  reveal(turn);
} }, `t${turn}`);

/** Text with its [t12] made into links. */
function cited(text) {
  return plain(text).split(/(\[t\d+(?:[,\s-]+t?\d+)*\])/).map((part) => {
    const turns = part.startsWith("[t") ? part.match(/\d+/g) : null;
    return turns ? turns.map((turn) => reference(Number(turn))) : part;
  });
}

function revisions(summaries, { id, refresh }) {
  const newest = summaries.revisions.at(-1);
  const text = make("textarea.prose", { dir: "auto", value: newest?.text ?? "", "aria-label": "Summary" });
  const save = async () => {
    await attempt(async () => { await api.editSummary(id, text.value); await refresh(); note("The summary is yours now; it stands from this frame on."); });
  };
  const rebuild = async () => {
    await attempt(async () => { await api.rebuildSummary(id); await refresh(); });
  };
  const revert = async (revision) => {
    await attempt(async () => { await api.revertSummary(id, revision); await refresh(); });
  };
  return [
    newest ? text : make("p.faint", {}, "No summary by a model. The digest above is written by code and costs nothing."),
    make("div.row", {},
      newest ? make("button", { onclick: save, hint: "Your words replace the model's from the next frame on" }, "Save") : null,
      make("button", { onclick: rebuild, hint: "Write it anew from the turns themselves" }, newest ? "Rebuild" : "Write one")),
    summaries.trouble ? make("p.trouble", {}, plain(summaries.trouble)) : null,
    summaries.revisions.length ? make("details", {},
      make("summary.small", {}, many(summaries.revisions.length, "revision")),
      summaries.revisions.slice().reverse().map((one) => make("div", {},
        make("p.faint", {}, `turns ${one.first} to ${one.until - 1} · by ${one.by} · ${tokens(one.tokens)} tokens${one.removed ? ` · ${many(one.removed, "line")} without support removed` : ""}`),
        make("button", { onclick: () => revert(one.revision), hint: "In force again from now on" }, "Use this one"),
        make("div.prose", { dir: "auto" }, cited(one.text))))) : null,
  ];
}
