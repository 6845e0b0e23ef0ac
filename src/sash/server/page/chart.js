// Two small pictures, drawn by hand: live tokens over time with the slides, and what of each request was cached.

import { draw, make } from "./dom.js";
import { many, tokens, value } from "./words.js";

const WIDE = 380;
const HIGH = 130;
const LEFT = 34;
const MOST = 500;

export function chart(points, explained) {
  if (points.length < 2) return make("p.faint", {}, "Two requests make a line.");
  const top = Math.max(explained.high, ...points.map((point) => point.tokens)) * 1.08;
  const x = (place) => LEFT + ((WIDE - LEFT - 6) * place) / (points.length - 1);
  const y = (count) => HIGH - 16 - ((HIGH - 24) * count) / top;
  const line = points.map((point, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(point.tokens).toFixed(1)}`).join("");
  const area = `${line}L${x(points.length - 1)} ${y(0)}L${x(0)} ${y(0)}Z`;
  const level = (count, name) => [
    draw("line", { class: "mark", x1: LEFT, x2: WIDE - 6, y1: y(count), y2: y(count) }),
    draw("text", { x: 0, y: y(count) + 3 }, name),
  ];
  const framed = points.map((point, place) => ({ ...point, place })).filter((point) => point.frame !== null);
  return draw("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `live tokens over ${points.length} requests, ${many(framed.filter((point) => point.slid).length, "slide")}` },
    level(explained.high, tokens(explained.high)), level(explained.low, y(explained.low) - y(explained.high) < 10 ? "" : tokens(explained.low)),
    draw("path", { class: "area", d: area }), draw("path", { class: "line", d: line }),
    framed.map((point) => [
      draw("line", { class: "slide", x1: x(point.place), x2: x(point.place), y1: y(top / 1.08), y2: y(0) }),
      titled(draw("circle", { class: "slidedot", cx: x(point.place), cy: y(point.tokens), r: 3.5 }), `frame ${point.frame}: ${point.reason}`),
    ]),
    draw("text", { x: LEFT, y: HIGH - 2 }, points.length < MOST ? "request 1" : `the last ${MOST} requests`), draw("text", { x: WIDE - 6, y: HIGH - 2, "text-anchor": "end" }, points.length < MOST ? `${points.length}` : ""));
}

/** Of each request: the part that could be read from the cache, and the part that was new. */
export function cacheChart(points) {
  const shown = points.slice(-60);
  const top = Math.max(1, ...shown.map((point) => point.tokens));
  const wide = (WIDE - 6) / shown.length;
  const tall = (count) => (52 * value(count)) / top;
  return draw("svg", { class: "chart", viewBox: `0 0 ${WIDE} 58`, role: "img", "aria-label": "cached and new tokens of the last requests" },
    shown.map((point, place) => {
      const found = Math.round((point.cached ?? 0) * point.tokens);
      const cached = tall(found);
      const fresh = tall(point.tokens) - cached;
      const box = { x: place * wide, width: Math.max(1, wide - 1) };
      return titled(draw("g", {},
        draw("rect", { class: "cached", ...box, y: 56 - cached, height: cached }),
        draw("rect", { class: "fresh", ...box, y: 56 - cached - fresh, height: fresh })),
      `${tokens(found)} cached, ${tokens(point.tokens - found)} new`);
    }));
}

function titled(element, text) {
  element.hint = text;
  return element;
}
