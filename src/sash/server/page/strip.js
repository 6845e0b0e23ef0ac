// The log as a strip, a cell a turn, as wide as its tokens; the window is the frame that slides over it.
// Of a long log a cell stands for several turns that fared alike: one thinner than a hair tells nobody anything.

import { fill, make, plain } from "./dom.js";
import { many, tokens, value } from "./words.js";

const MOST_CELLS = 240;
const THINNEST = 3; // pixels of a cell, with the gap after it

export function strip(choose) {
  const cells = new Map();
  const frame = make("div.sash");
  const other = make("div.sash.maybe", { hidden: true });
  const rail = make("div.rail", { onkeydown: walk });
  const legend = make("div.legend");
  const element = make("section.strip", { "aria-label": "The log, and the window over it" }, rail, legend);
  let last = null;
  let room = 0;
  const cellsThatFit = () => Math.min(MOST_CELLS, Math.floor((rail.clientWidth || innerWidth) / THINNEST));

  function show(explained) {
    last = explained;
    room = cellsThatFit();
    other.hidden = true;
    const present = explained.turns;
    const short = new Set(explained.results.filter((result) => result.state === "shortened").map((result) => result.turn));
    cells.clear();
    const newest = present.at(-1)?.number;
    const groups = grouped(present, explained.boundary, room);
    rail.classList.toggle("dense", groups.length > room);
    fill(rail, groups.map((group) => {
      const [turn] = group;
      const last = group.at(-1);
      const whole = { value: group.reduce((sum, one) => sum + value(one.whole), 0), exact: group.every((one) => one.whole.exact) };
      const kinds = [turn.state, last.number === newest && turn.state === "live" ? "current" : "",
        group.some((one) => short.has(one.number)) ? "shortened" : "", group.some((one) => one.digestedSteps) ? "digested" : ""];
      const name = group.length > 1 ? `turns ${turn.number} to ${last.number}` : `turn ${turn.number}`;
      const cell = make(`button.cell.${kinds.filter(Boolean).join(".")}`, {
        "aria-label": `${name}, ${turn.state}, ${tokens(whole)} tokens`,
        tabindex: last.number === newest ? 0 : -1,
        style: { "flex-grow": `${Math.max(1, whole.value)}`, "flex-basis": "0" },
        onclick: () => choose(last.number),
        hint: () => group.length > 1
          ? `${name[0].toUpperCase()}${name.slice(1)}, ${tokens(whole)} tokens\nthe first: ${plain(turn.title)}\n${turn.state}: ${turn.reason}`
          : `Turn ${turn.number}: ${plain(turn.title)}\n${tokens(turn.tokens)} tokens shown of ${tokens(turn.whole)}\n${turn.state}: ${turn.reason}`,
      });
      for (const one of group) cells.set(one.number, cell);
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
      make("span", {}, explained.suspended ? "slides only when the window is full, since an undo" : `slides above ${tokens(explained.high)} down to ${tokens(explained.low)}`));
  }

  /** One stop for the tab key; from there the arrows go from cell to cell. */
  function walk(event) {
    const to = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
    const next = to && event.target[to];
    if (!next?.classList.contains("cell")) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /** Turns in so many groups at the most; a group never crosses the boundary, nor holds turns in different states. */
  function grouped(turns, boundary, most) {
    const size = Math.ceil(turns.length / most);
    if (size <= 1) return turns.map((turn) => [turn]);
    const groups = [];
    for (const turn of turns) {
      const last = groups.at(-1);
      const alike = last && last[0].state === turn.state && last[0].number < boundary === turn.number < boundary;
      if (alike && last.length < size) last.push(turn);
      else groups.push([turn]);
    }
    return groups;
  }

  function place(box, boundary) {
    const live = [...cells].filter(([number]) => number >= boundary).map(([, cell]) => cell);
    box.hidden = !live.length;
    if (!live.length) return;
    const left = live[0].offsetLeft - 3;
    box.style.left = `${left}px`;
    box.style.width = `${live.at(-1).offsetLeft + live.at(-1).offsetWidth + 3 - left}px`;
  }

  new ResizeObserver(() => {
    if (!last) return;
    const most = cellsThatFit();
    if (most !== room && last.turns.length > Math.min(most, room)) show(last);
    else place(frame, last.boundary);
  }).observe(rail);

  return { element, show, maybe: (explained) => (explained ? place(other, explained.boundary) : (other.hidden = true)) };
}
