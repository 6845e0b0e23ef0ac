// The log as a strip, a cell a turn, as wide as its tokens; the window is the frame that slides over it.

import { fill, make, plain } from "./dom.js";
import { many, tokens, value } from "./words.js";

export function strip(choose) {
  const cells = new Map();
  const frame = make("div.sash");
  const other = make("div.sash.maybe", { hidden: true });
  const rail = make("div.rail");
  const legend = make("div.legend");
  const element = make("section.strip", { "aria-label": "The log, and the window over it" }, rail, legend);
  let last = null;

  function show(explained) {
    last = explained;
    other.hidden = true;
    const present = explained.turns;
    const short = new Set(explained.results.filter((result) => result.state === "shortened").map((result) => result.turn));
    cells.clear();
    const newest = present.at(-1)?.number;
    fill(rail, present.map((turn) => {
      const kinds = [turn.state, turn.number === newest && turn.state === "live" ? "current" : "", short.has(turn.number) ? "shortened" : "", turn.digestedSteps ? "digested" : ""];
      const cell = make(`button.cell.${kinds.filter(Boolean).join(".")}`, {
        "aria-label": `turn ${turn.number}, ${turn.state}, ${tokens(turn.whole)} tokens`,
        style: { "flex-grow": `${Math.max(1, value(turn.whole))}`, "flex-basis": "0" },
        onclick: () => choose(turn.number),
        hint: () => `Turn ${turn.number}: ${plain(turn.title)}\n${tokens(turn.tokens)} tokens shown of ${tokens(turn.whole)}\n${turn.state}: ${turn.reason}`,
      });
      cells.set(turn.number, cell);
      return cell;
    }), frame, other);
    place(frame, explained.boundary);
    const evicted = present.filter((turn) => turn.state === "evicted");
    const carried = present.filter((turn) => turn.state === "carried").length;
    fill(legend,
      make("span.key", {}, `${many(present.length - evicted.length - carried, "live turn")}, ${tokens(explained.tokens)} tokens`),
      evicted.length ? make("span.key", { style: { "--of": "var(--reserve)" } }, `${evicted.length} evicted: in the log, not in the window`) : null,
      carried ? make("span.key", { style: { "--of": "var(--carried)" } }, `${carried} carried`) : null,
      short.size ? make("span", {}, "▨ shortened") : null,
      make("span", {}, `slides above ${tokens(explained.high)} down to ${tokens(explained.low)}`));
  }

  function place(box, boundary) {
    const live = [...cells].filter(([number]) => number >= boundary).map(([, cell]) => cell);
    box.hidden = !live.length;
    if (!live.length) return;
    const left = live[0].offsetLeft - 3;
    box.style.left = `${left}px`;
    box.style.width = `${live.at(-1).offsetLeft + live.at(-1).offsetWidth + 3 - left}px`;
  }

  new ResizeObserver(() => last && place(frame, last.boundary)).observe(rail);

  return { element, show, maybe: (explained) => (explained ? place(other, explained.boundary) : (other.hidden = true)) };
}
