// The page: a list of threads, a thread, and what the model sees of it.

import * as api from "./api.js";
import { fill, hints, make } from "./dom.js";
import { inspector } from "./inspector.js";
import { threadList } from "./threads.js";
import { threadView } from "./thread.js";
import { remedies } from "./words.js";

const side = document.getElementById("side");
const main = document.getElementById("main");
const panel = document.getElementById("inspector");

hints(document.getElementById("hint"));

/** Says something in the corner for a while; what stands there already is not said twice. */
export function note(text, kind = "") {
  const notes = document.getElementById("notes");
  if ([...notes.children].some((other) => other.textContent === text)) return;
  const said = make(`div.${kind || "said-note"}`, {}, text);
  notes.append(said);
  setTimeout(() => said.remove(), kind === "error" ? 9000 : 4000);
}

/** Does it, and shows what went wrong where something does. */
export async function attempt(what) {
  try {
    return await what();
  } catch (error) {
    tell(error);
    return undefined;
  }
}

export function tell(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) askForKey();
  else if (error.status === 404 && /^there is no thread/.test(error.message)) missing();
  else note(remedies(error.message), "error");
}

/** An address of a thread that is not there, or not any more: nothing can be said in it. */
function missing() {
  shown.view?.close();
  shown.view = null;
  fill(panel);
  fill(main,
    make("div.empty", {},
      make("h1", {}, "There is no such thread"),
      make("p", {}, "It was deleted, belongs to somebody else, or its name is spelled another way. Choose another one, or begin one."),
      make("p", {}, make("button.only-small", { onclick: () => open("side") }, "Threads"), " ",
        make("button.main", { onclick: begin }, "New thread"))));
}

function askForKey() {
  const key = make("input", { type: "password", placeholder: "sash_…", autocomplete: "off", "aria-label": "API key" });
  const submit = (event) => {
    event.preventDefault();
    api.remember(key.value.trim());
    location.reload();
  };
  fill(
    main,
    make("div.empty", {}, make("h1", {}, "This server wants a key"),
      make("form.row", { onsubmit: submit }, key, make("button.main", {}, "Open"))),
  );
  key.focus();
}

function theme() {
  const root = document.documentElement;
  const kept = localStorage.getItem("sash-theme");
  if (kept) root.dataset.theme = kept;
  return () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("sash-theme", root.dataset.theme);
  };
}

/** On a narrow screen the sides are drawers. */
export const open = (which) => {
  document.body.dataset.open = document.body.dataset.open === which ? "" : which;
};

const shown = { id: null, view: null };
const list = threadList(side, { theme: theme(), begin });

export function go(id) {
  location.hash = id ? `#/${encodeURIComponent(id)}` : "";
}

/** A thread that is shown before it is made: what is typed at once is meant for it, and not for the keys of the page. */
function begin() {
  const id = api.newId();
  history.pushState(null, "", `#/${id}`);
  route(id);
  shown.view.write();
}

async function route(fresh = null) {
  document.body.dataset.open = "";
  const [name, turn] = location.hash.replace(/^#\/?/, "").split("/");
  const id = decodeURIComponent(name);
  if (id && id === shown.id && turn) return void attempt(() => shown.view.reveal(Number(turn)));
  shown.view?.close();
  Object.assign(shown, { id, view: null });
  if (!id) {
    fill(panel);
    welcome();
  } else {
    const panes = inspector(panel);
    shown.view = threadView(main, id, panes, { fresh: fresh === id, changed: () => attempt(() => list.refresh(id)) });
    const { view } = shown;
    await attempt(() => view.refresh());
    if (turn) await attempt(() => view.reveal(Number(turn)));
  }
  // Whoever went on meanwhile sees the list with the thread that is shown now.
  await attempt(() => list.refresh(shown.id));
}

function welcome() {
  const answers = make("p.tiny");
  attempt(async () => {
    const about = await api.about();
    fill(answers, make("span.who-answers", {}, `Turns are answered by ${about.provider}${about.model && about.model !== about.provider ? `, ${about.model}` : ""}: ${about.why}.`));
  });
  fill(
    main,
    make("div.empty", {},
      make("h1", {}, "Nothing is lost, and the model sees what fits"),
      make("p", {}, "Choose a thread, or begin one. What leaves the window stays in the log: you will see it grey above the divider."),
      make("p", {}, make("button.only-small", { onclick: () => open("side") }, "Threads"), " ",
        make("button.main", { onclick: begin }, "New thread")),
      make("p.tiny.keys", {}, make("kbd", {}, "n"), " new thread · ", make("kbd", {}, "/"), " search · ", make("kbd", {}, "j"), " ",
        make("kbd", {}, "k"), " next and previous turn · ", make("kbd", {}, "c"), " compact · ", make("kbd", {}, "u"), " undo · ",
        make("kbd", {}, "1"), "–", make("kbd", {}, "4"), " panes · ", make("kbd", {}, "i"), " write"),
      answers),
  );
}

// Beside an open drawer the page itself closes it.
main.addEventListener("click", (event) => {
  if (document.body.dataset.open && !event.target.closest(".only-small")) document.body.dataset.open = "";
});
// The address names a thread: a link that only moves the focus leaves it as it is.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  (document.getElementById("turns") ?? main).focus();
});
addEventListener("hashchange", () => route());
addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.body.dataset.open = "";
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const keys = { n: begin, "/": list.find, ...(shown.view?.keys ?? {}) };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
route();
