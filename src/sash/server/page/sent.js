// Exactly what is sent, each part in the colour of where it comes from.

import * as api from "./api.js";
import { attempt } from "./app.js";
import { fill, make, plain } from "./dom.js";
import { tokens } from "./words.js";
import { colour, NAMES } from "./window.js";

const WIRES = ["openai-chat", "openai-responses", "anthropic", "flat"];
let wire = WIRES[0];

/** The next request, or why there is none: what may not leave can be too large, and not every wire takes everything. */
async function asked(id) {
  try {
    return { sent: await api.request(id, wire) };
  } catch (error) {
    if (![400, 413].includes(error.status)) throw error;
    return { refused: error.message };
  }
}

export async function sentPane(pane, known) {
  const choose = make("select", { "aria-label": "Wire", onchange: () => { wire = choose.value; sentPane(pane, known); } },
    WIRES.map((name) => make("option", { value: name, selected: name === wire }, name)));
  const { sent, refused } = (await attempt(() => asked(known.id))) ?? {};
  if (refused) fill(pane, make("div.row", {}, choose), make("p.soft", {}, "There is no next request:"), make("p.trouble", {}, plain(refused)));
  if (!sent) return;
  const whole = JSON.stringify(sent.request, null, 2);
  fill(pane,
    make("div.row", {}, choose, make("span.grow"),
      make("button", { onclick: () => navigator.clipboard?.writeText(whole), hint: "Copy the request as JSON" }, "Copy")),
    make("p.soft", {}, "The next request, byte for byte what a provider would get, part by part."),
    sent.parts.map((part) =>
      make("section.piece", { style: colour(part.origin) },
        make("header", {}, make("b", {}, NAMES[part.origin] ?? part.origin), part.turn ? make("span", {}, `turn ${part.turn}`) : null,
          make("span", {}, part.role ?? ""), make("span.grow"), make("span.num", {}, tokens(part.tokens))),
        make("pre", { dir: "auto" }, plain(part.text)))));
}
