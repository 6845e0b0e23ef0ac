// The chat box.

import { fill, make } from "./dom.js";

export function chatBox({ send, cancel }) {
  let busy = false;
  const text = make("textarea", {
    rows: 1, placeholder: "Say something", "aria-label": "Your message",
    oninput: () => { text.style.height = "auto"; text.style.height = `${Math.min(192, text.scrollHeight + 2)}px`; },
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
    },
  });
  const button = make("button.main", { type: "submit" }, "Send");

  async function submit() {
    if (busy) return void cancel();
    const said = text.value;
    if (!said.trim()) return undefined;
    busy = true;
    text.value = "";
    text.style.height = "auto";
    fill(button, "Stop");
    await send(said);
    busy = false;
    fill(button, "Send");
    return undefined;
  }

  const element = make("footer.ask", {},
    make("form", { onsubmit: (event) => { event.preventDefault(); submit(); } }, text, button),
    make("p.note", {}, make("span", {}, make("kbd", {}, "Enter"), " sends, ", make("kbd", {}, "Shift Enter"), " starts a line")));
  return { element, focus: () => text.focus() };
}
