/** A CPU slot and what runs in it. */

import { h, refill } from "../dom.js";
import { address } from "../server.js";
import { colourOf } from "./colours.js";

/** @param {HTMLElement} element @param {Api.DeviceCard} slot */
export function showSlot(element, slot) {
  const job = slot.jobs[0];
  refill(element, [slot.name, slot.state, job?.id], () => [
    h("span", { class: `swatch ${job ? colourOf(job.id) : "is-empty"}` }),
    h("span", { class: "soft" }, slot.name),
    job
      ? h("a", { href: address(`/jobs/${job.id}`) }, `${job.id} ${job.name}`)
      : h("span", { class: "soft" }, slot.state === "unattended" ? "no daemon" : slot.state),
  ]);
}
