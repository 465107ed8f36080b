/** The end of the log of a job that did not succeed, above everything else: the error, and what led to it. */

import { h, refill, show } from "../dom.js";
import { Ansi } from "./ansi.js";

/** @param {HTMLElement} panel @param {string[]} lines */
export function showError(panel, lines) {
  show(panel, lines.length);
  refill(panel, lines, () => {
    const ansi = new Ansi();
    const shown = lines.map((line) => h("div", { class: "line" }, ansi.nodes(line)));
    return [h("h2", {}, new Ansi().nodes(lines.at(-1) ?? "").map(textOf)), h("div", { class: "error-lines" }, shown)];
  });
}

/** Without colours: a heading has its own. */
const textOf = (/** @type {Node | string} */ node) => (node instanceof Node ? node.textContent : node);
