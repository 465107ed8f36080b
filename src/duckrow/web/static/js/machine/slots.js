/** A CPU slot and what runs in it. */

import { fill, h } from "../dom.js";
import { address } from "../site.js";
import { colourOf } from "./memory_bar.js";

/** @param {HTMLElement} element @param {any} slot */
export function showSlot(element, slot) {
  const job = slot.jobs[0];
  const signature = `${slot.name} ${slot.state} ${job?.id ?? ""}`;
  if (element.dataset.shown === signature) return;
  element.dataset.shown = signature;
  const who = job
    ? h("a", { href: address(`/jobs/${job.id}`) }, `${job.id} ${job.name}`)
    : h("span", { class: "soft" }, slot.state);
  fill(
    element,
    h("span", { class: `swatch ${job ? colourOf(job.id) : "is-empty"}` }),
    h("span", { class: "soft" }, slot.name),
    who,
  );
}
