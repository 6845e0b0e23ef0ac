// Elements are made from values, never from markup: what a stranger wrote stays text.

/** An element: `make("p.note", {title}, "text", child, ...)`. Names that begin with `on` are listeners. */
export function make(what, given = {}, ...inside) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  give(element, given);
  element.append(...inside.flat(Infinity).filter((part) => part !== null && part !== undefined && part !== false));
  return element;
}

/** The same for pictures. */
export function draw(tag, given = {}, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  give(element, given);
  element.append(...inside.flat(Infinity).filter(Boolean));
  return element;
}

function give(element, given) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [rule, to] of Object.entries(value)) element.style.setProperty(rule, to);
    else if (name === "value" || name === "checked" || name === "hint") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** Puts these in the place of all that was there. */
export function fill(element, ...inside) {
  element.replaceChildren(...inside.flat(Infinity).filter((part) => part !== null && part !== undefined && part !== false));
  return element;
}

// Control characters, and marks that turn the direction of writing, are shown and not obeyed.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Somebody's text, with what cannot be seen made visible. */
export const plain = (text) =>
  String(text).replace(UNSEEN, (found) => {
    const code = found.codePointAt(0);
    if (code === 0x0d) return "";
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return "\u00b7";
  });

// One hint for the whole page. Whatever has a `hint` (text or a function) shows it when pointed at or focused.
export function hints(box) {
  const show = (event) => {
    let at = event.target;
    while (at && at !== document && !at.hint) at = at.parentNode;
    if (!at || !at.hint) return void (box.hidden = true);
    const said = typeof at.hint === "function" ? at.hint() : at.hint;
    fill(box, ...(Array.isArray(said) ? said : [said]));
    box.hidden = false;
    const place = at.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const left = Math.max(8, Math.min(place.left, innerWidth - size.width - 8));
    const above = place.top - size.height - 8;
    box.style.left = `${left}px`;
    box.style.top = `${above > 8 ? above : Math.min(place.bottom + 8, innerHeight - size.height - 8)}px`;
  };
  addEventListener("pointerover", show);
  addEventListener("focusin", show);
  addEventListener("scroll", () => (box.hidden = true), true);
  addEventListener("keydown", (event) => event.key === "Escape" && (box.hidden = true));
}
