// The chat box.

import { fill, make } from "./dom.js";

const KEYS = () => [make("span.keys", {}, make("kbd", {}, "Enter"), " sends, ", make("kbd", {}, "Shift Enter"), " starts a line")];

/** `send` tells whether the server took what was said: what it did not take is still to be said. */
export function chatBox({ send, cancel }) {
  let busy = false;
  const text = make("textarea", {
    rows: 1, dir: "auto", placeholder: "Say something", "aria-label": "Your message", oninput: () => fit(),
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
      else if (event.key === "Escape" && busy) { event.stopPropagation(); cancel(); }
    },
  });
  // The second click of a double click on Send is not meant for Stop.
  const button = make("button.main", { type: "submit", onclick: (event) => {
    if (busy) { event.preventDefault(); if (event.detail < 2) cancel(); }
  } }, "Send");
  const said = make("p.note", { role: "status" }, KEYS());

  function fit() {
    text.style.height = "auto";
    text.style.height = `${Math.min(192, text.scrollHeight + 2)}px`;
  }

  function write(words) {
    text.value = words;
    fit();
  }

  async function submit() {
    if (busy) return void fill(said, make("span", {}, "The answer is still being written: what you type stays here. Stop", make("span.keys", {}, ", or Escape,"), " ends it."));
    const words = text.value;
    if (!words.trim()) return undefined;
    busy = true;
    write("");
    fill(button, "Stop");
    const taken = await send(words);
    if (!taken) write(text.value ? `${words}\n${text.value}` : words);
    busy = false;
    fill(button, "Send");
    fill(said, KEYS());
    return undefined;
  }

  const element = make("footer.ask", {},
    make("form", { onsubmit: (event) => { event.preventDefault(); submit(); } }, text, button), said);
  return { element, focus: () => text.focus() };
}
