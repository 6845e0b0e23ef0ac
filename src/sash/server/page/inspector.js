// The right side: four views of what the model sees.

import { fill, make } from "./dom.js";
import { memoryPane } from "./memory.js";
import { sentPane } from "./sent.js";
import { whatIfPane } from "./whatif.js";
import { windowPane } from "./window.js";

const PANES = [["Window", windowPane], ["Sent", sentPane], ["Memory", memoryPane], ["What if", whatIfPane]];

export function inspector(panel) {
  const pane = make("div.pane", { role: "tabpanel", tabindex: 0 });
  let at = 0;
  let known = null;
  const tabs = PANES.map(([name], place) =>
    make("button", { role: "tab", onclick: () => choose(place), "aria-selected": place === 0 ? "true" : "false" }, name));

  async function choose(place) {
    at = place;
    tabs.forEach((tab, other) => tab.setAttribute("aria-selected", other === place ? "true" : "false"));
    if (known) {
      known.whatIf(null);
      await draw();
    }
  }

  const draw = () => PANES[at][1](pane, known);

  fill(panel, make("nav.tabs", { role: "tablist", "aria-label": "What the model sees" }, tabs), pane);
  return { show: (everything) => { known = everything; return draw(); }, choose };
}
