/** Why a job waits, in sentences with links to the jobs that they name. */

import { h, refill, show } from "../dom.js";
import { address } from "../server.js";

/** @param {HTMLElement} panel @param {string[]} reasons */
export function showWhy(panel, reasons) {
  show(panel, reasons.length);
  refill(panel, reasons, () => [
    h("h2", {}, "Why it is waiting"),
    h(
      "ul",
      {},
      reasons.map((reason) => h("li", {}, withLinks(reason))),
    ),
  ]);
}

/** Every second part of the split is a job's number. @param {string} reason */
function withLinks(reason) {
  return reason
    .split(/\bjob (\d+)/)
    .map((part, index) => (index % 2 ? h("a", { href: address(`/jobs/${part}`) }, `job ${part}`) : part));
}
