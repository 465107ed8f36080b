/** What happened to a job, newest first. */

import { h, refill } from "../dom.js";
import { exactMoment, moment } from "../format.js";

/** @param {HTMLElement} list @param {{at: number, text: string}[]} events */
export function showStory(list, events) {
  const newestFirst = [...events].reverse();
  refill(list, events.length, () =>
    newestFirst.map(({ at, text }) =>
      h("li", {}, h("time", { class: "soft", title: exactMoment(at) }, moment(at)), h("span", {}, text)),
    ),
  );
}
