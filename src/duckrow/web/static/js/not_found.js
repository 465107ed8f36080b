/** A page for what does not exist. */

import { h } from "./dom.js";
import { address } from "./server.js";

/** @param {string} title @param {string} told @param {string} path where to go instead @param {string} word */
export function noSuch(title, told, path, word) {
  return h(
    "div",
    { class: "empty", role: "alert" },
    h("h2", {}, title),
    h("p", {}, told),
    h("p", {}, h("a", { href: address(path), class: "button is-main" }, word)),
  );
}
