/** What happened to a job, newest first. */

import { fill, h } from "../dom.js";
import { exactMoment, moment } from "../format.js";

/** @param {HTMLElement} list @param {{at: number, text: string}[]} events */
export function showStory(list, events) {
  if (list.dataset.shown === String(events.length)) return;
  list.dataset.shown = String(events.length);
  const newestFirst = [...events].reverse();
  fill(
    list,
    newestFirst.map(({ at, text }) =>
      h("li", {}, h("time", { class: "soft", title: exactMoment(at) }, moment(at)), h("span", {}, text)),
    ),
  );
}
