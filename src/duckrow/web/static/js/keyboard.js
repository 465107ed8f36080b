/** The keys of every view, and those that the open view adds. */

import { h } from "./dom.js";
import { go } from "./router.js";
import { READ_ONLY } from "./server.js";
import { toggleTheme } from "./theme.js";

/** @typedef {Record<string, () => unknown>} Keys */

/** @type {Keys} */
const EVERYWHERE = {
  "?": () => showKeys(),
  "/": () => focusSearch(),
  "g q": () => go("/"),
  "g m": () => go("/machine"),
  "g t": () => go("/timeline"),
  "g s": () => go("/sweeps"),
  "g a": () => READ_ONLY || go("/add"),
  D: () => toggleTheme(),
};

/** @type {[string, [string, string][]][]} */
const HELP = [
  [
    "Everywhere",
    [
      ["/", "search"],
      ["g q", "queue"],
      ["g m", "machine"],
      ["g t", "timeline"],
      ["g s", "sweeps"],
      ["g a", "add jobs"],
      ["D", "light or dark"],
      ["Esc", "close, leave a field"],
      ["?", "these keys"],
    ],
  ],
  [
    "Queue",
    [
      ["j k", "down, up"],
      ["Enter", "open"],
      ["x", "select"],
      ["X", "select all on the page"],
      ["n p", "next, previous page"],
    ],
  ],
  [
    "Selected jobs",
    [
      ["K", "kill"],
      ["r", "rerun"],
      ["h", "hold"],
      ["l", "release"],
      ["c", "change the priority"],
      ["f", "move to the front"],
      ["e", "edit"],
      ["Delete", "remove"],
    ],
  ],
  ["Add", [["Ctrl Enter", "add what is shown"]]],
  [
    "Log",
    [
      ["F", "follow"],
      ["G", "to the end"],
      ["0", "to the beginning"],
    ],
  ],
];

export class Keyboard {
  constructor() {
    /** @type {Keys} those of the view */
    this.keys = {};
    this.before = "";
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** @param {Keys} keys */
  use(keys) {
    this.keys = keys;
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target instanceof HTMLElement && isTyping(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const both = this.before ? `${this.before} ${event.key}` : event.key;
    this.before = event.key === "g" && !this.before ? "g" : "";
    const action = this.keys[both] ?? EVERYWHERE[both];
    // Enter and the space bar belong to the focused button or link.
    const isTheirs = event.key === "Enter" && target instanceof Element && target.closest("a, button, summary");
    if (!action || isTheirs) return;
    event.preventDefault();
    action();
  }
}

/** @param {HTMLElement} element */
function isTyping(element) {
  return element.matches("input:not([type=checkbox]):not([type=range]), textarea, select");
}

function focusSearch() {
  const search = document.querySelector("#view input[type=search]");
  if (!(search instanceof HTMLInputElement)) return;
  search.focus();
  search.select();
}

/** Shows the keys. */
export function showKeys() {
  const groups = HELP.map(([title, keys]) =>
    h(
      "section",
      {},
      h("h3", {}, title),
      h(
        "dl",
        { class: "keys" },
        keys.map(([key, what]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              key.split(" ").map((one) => h("kbd", {}, one)),
            ),
            h("dd", {}, what),
          ),
        ),
      ),
    ),
  );
  const close = h("button", { class: "button is-main" }, "Close");
  const dialog = h(
    "dialog",
    { class: "dialog is-wide", "aria-label": "Keys" },
    h(
      "form",
      { method: "dialog" },
      h("h2", {}, "Keys"),
      h("div", { class: "key-groups" }, groups),
      h("div", { class: "dialog-buttons" }, close),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
