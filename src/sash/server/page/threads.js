// The list of threads: title, age, how full the window is, and what is wrong.

import * as api from "./api.js";
import { attempt } from "./app.js";
import { fill, make, plain } from "./dom.js";
import { age, percent, tokens } from "./words.js";

export function threadList(side, { theme, begin }) {
  const items = make("ul.threads", { "aria-label": "Threads" });
  const find = make("input", {
    type: "search", dir: "auto", placeholder: "Search all threads", "aria-label": "Search all threads",
    oninput: () => look(find.value.trim()),
    onkeydown: (event) => {
      if (event.key !== "Escape" || !find.value) return;
      find.value = "";
      look("");
    },
  });
  let current = null;
  let asked = 0;

  async function refresh(id = current) {
    current = id;
    if (find.value.trim()) return;
    const { threads } = await api.threads({ limit: 100 });
    fill(items, threads.length ? threads.map(entry) : make("li.soft.small", {}, "No threads yet."));
  }

  async function look(text) {
    const mine = ++asked;
    if (!text) return attempt(refresh);
    await new Promise((done) => setTimeout(done, 180));
    if (mine !== asked) return undefined;
    const found = await attempt(() => api.search(text));
    if (found && mine === asked) {
      fill(items, found.found.length ? found.found.map(passage) : make("li.soft.small", {}, "Nothing found."));
    }
    return undefined;
  }

  function passage(hit) {
    return make("li", {},
      make("a", { href: `#/${encodeURIComponent(hit.threadId)}/${hit.turn}` },
        make("span.title", { dir: "auto" }, plain(hit.text)),
        make("span.under", {}, make("bdi", {}, plain(hit.title ?? hit.threadId)), `· turn ${hit.turn}${hit.rewound ? " · rewound" : ""}`)));
  }

  function entry(thread) {
    const pressure = thread.pressure ?? { share: 0, level: "quiet" };
    const kind = ["notice", "warning"].includes(pressure.level) ? `.${pressure.level}` : "";
    const troubles = thread.health ?? [];
    return make("li", {},
      make("a", { href: `#/${encodeURIComponent(thread.threadId)}`, "aria-current": thread.threadId === current ? "page" : null },
        make("span.title", { dir: "auto", hint: `${thread.title || thread.threadId}\n${thread.threadId}` }, plain(thread.title || thread.threadId)),
        make("span.under", {},
          make(`span.meter${kind}`, { role: "img", "aria-label": `window ${percent(pressure.share)} full` },
            make("i", { style: { width: `${Math.min(100, pressure.share * 100)}%` } })),
          make("span.num", { hint: thread.windowKnown ? null : `Nobody knows the window of ${plain(thread.model || "this model")}: ${tokens(pressure.window)} tokens stand in` },
            `${thread.windowKnown ? "" : "~"}${percent(pressure.share)}`),
          make("span", { hint: `made here at ${new Date(thread.createdAt).toLocaleString()}` }, age(thread.createdAt)),
          troubles.length ? make("span.flag", { hint: troubles.join("\n"), role: "img", "aria-label": troubles.join("; ") }, "!") : null)));
  }

  fill(side,
    make("div.brand", {}, make("img", { src: "icon.svg", alt: "" }), "sash", make("span.grow"),
      make("button.plain", { onclick: theme, "aria-label": "Light or dark", hint: "Light or dark" }, "◐"),
      make("button", { onclick: begin, hint: "New thread (n)" }, "New")),
    make("div.find", {}, find), items);

  return { refresh, find: () => find.focus() };
}
