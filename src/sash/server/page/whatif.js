// What another cap, low mark or model would do. Nothing is committed.

import * as api from "./api.js";
import { attempt } from "./app.js";
import { fill, make } from "./dom.js";
import { many, percent, tokens, value } from "./words.js";

export function whatIfPane(pane, known) {
  const now = known.context;
  const chosen = { historyTokens: now.historyTokens ?? known.explained.high, keepShare: now.keepShare ?? 0.6, model: known.thread.model ?? "" };
  const start = { ...chosen };
  const changed = () => Object.fromEntries(Object.entries(chosen).filter(([name, one]) => one !== start[name] && one !== ""));
  const least = Math.max(50, Math.min(500, chosen.historyTokens / 4));
  const most = Math.max(now.window, chosen.historyTokens);
  const outcome = make("div");
  let asked = 0;

  // Small and large caps alike: the slider goes by ratios.
  const toPlace = (count) => (1000 * Math.log(count / least)) / Math.log(most / least);
  const fromPlace = (place) => Math.round((least * (most / least) ** (place / 1000)) / 10) * 10;

  const slider = (label, given, say) => {
    const told = make("b.num", {}, say());
    const input = make("input", { type: "range", ...given.range, value: given.at(), oninput: () => { given.set(Number(input.value)); fill(told, say()); ask(); } });
    return make("label.slider", {}, make("span", {}, label), told, input);
  };
  const use = make("button", { onclick: () => adopt(known, changed()), hint: "Configure the thread so; it slides now if it has to" }, "Use these");
  const model = make("input", { type: "text", value: chosen.model, placeholder: "model", oninput: () => { chosen.model = model.value.trim(); ask(); } });

  async function ask() {
    const mine = ++asked;
    use.disabled = !Object.keys(changed()).length;
    await new Promise((done) => setTimeout(done, 120));
    if (mine !== asked) return;
    const answer = await attempt(() => api.whatIf(known.id, { ...chosen, model: chosen.model !== (known.thread.model ?? "") ? chosen.model : undefined }));
    if (!answer || mine !== asked) return;
    known.whatIf(answer.explanation);
    fill(outcome, compare(answer));
  }

  function compare({ now: was, then }) {
    const row = (name, before, after, say, lower = true) => {
      const better = lower ? after < before : after > before;
      const kind = after === before ? "" : better ? ".better" : ".worse";
      return make("tr", {}, make("td", {}, name), make("td.num", {}, say(before)), make(`td.num${kind}`, {}, say(after)));
    };
    return [
      make("table", {},
        make("thead", {}, make("tr", {}, make("th", {}, ""), make("th.num", {}, "now"), make("th.num", {}, "then"))),
        make("tbody", {},
          row("first live turn", was.boundary, then.boundary, (turn) => `${turn}`),
          row("live tokens", value(was.tokens), value(then.tokens), tokens),
          row("slides so far", was.slides, then.slides, (count) => `${count}`),
          row("average request", was.average, then.average, tokens),
          row("read from the cache", was.cachedShare, then.cachedShare, percent, false),
          row("input paid, in list-price tokens", was.cost, then.cost, tokens))),
      make("p.soft", {}, then.boundary > was.boundary
        ? `${many(then.boundary - was.boundary, "more turn")} would have left the window.`
        : then.boundary < was.boundary ? `${many(was.boundary - then.boundary, "more turn")} would still be in the window.` : "The divider would stand where it stands."),
    ];
  }

  fill(pane,
    make("p.soft", {}, "Replays the whole log under another policy. The dashed frame above shows where the window would be; nothing is changed."),
    slider("History cap", { range: { min: 0, max: 1000 }, at: () => toPlace(chosen.historyTokens), set: (place) => (chosen.historyTokens = fromPlace(place)) }, () => tokens(chosen.historyTokens)),
    slider("Low mark", { range: { min: 20, max: 100 }, at: () => chosen.keepShare * 100, set: (share) => (chosen.keepShare = share / 100) }, () => percent(chosen.keepShare)),
    make("label.slider", {}, make("span", {}, "Model"), make("span"), model),
    outcome,
    make("div.row", {}, use));
  ask();
}

async function adopt(known, changed) {
  await attempt(async () => {
    await api.change(known.id, changed);
    await known.refresh();
  });
}
