/** The memory of a GPU as a bar: what each job uses in its colour, the rest of its reservation hatched. */

import { h, partsOf } from "../dom.js";
import { memory } from "../format.js";
import { keyed } from "../keyed_list.js";

/** @typedef {{key: string, colour: string, used_mb: number, reserved_mb: number, title: string}} Share */

/** @param {Api.JobOnDevice[]} jobs @param {(id: number) => string} colourOf @returns {Share[]} */
export function jobShares(jobs, colourOf) {
  return jobs.map((job) => ({
    key: `job ${job.id}`,
    colour: colourOf(job.id),
    used_mb: job.used_mb ?? 0,
    reserved_mb: Math.max(job.reserved_mb ?? 0, job.used_mb ?? 0),
    title: `Job ${job.id} ${job.name}: uses ${usedOf(job)}`,
  }));
}

/** @param {Api.JobOnDevice} job */
function usedOf(job) {
  const told = `${memory(job.used_mb ?? 0)} of ${memory(job.reserved_mb ?? 0)} reserved`;
  return isOver(job) ? `${told}, more than it reserved` : told;
}

/** @param {Api.JobOnDevice} job @returns {boolean} whether it uses more memory than it reserved */
export function isOver(job) {
  return Boolean(job.reserved_mb) && (job.used_mb ?? 0) > (job.reserved_mb ?? 0);
}

/**
 * Memory that none of our jobs uses now; `foreign_mb` is the maximum of the last minute.
 * @param {Api.DeviceCard} gpu
 * @returns {Share[]}
 */
export function foreignShare(gpu) {
  const ours = gpu.jobs.reduce((sum, job) => sum + (job.used_mb ?? 0), 0);
  const used = gpu.used_mb === null ? 0 : Math.max(0, gpu.used_mb - ours);
  if (!used) return [];
  return [
    { key: "foreign", colour: "share-foreign", used_mb: used, reserved_mb: used, title: `Others: ${memory(used)}` },
  ];
}

export class MemoryBar {
  constructor() {
    this.element = h("div", { class: "memory-bar", role: "img" });
  }

  /** @param {number | null} total @param {Share[]} shares */
  show(total, shares) {
    const whole =
      Math.max(
        total ?? 0,
        shares.reduce((sum, share) => sum + share.reserved_mb, 0),
      ) || 1;
    this.element.setAttribute("aria-label", shares.map((share) => share.title).join("; ") || "Nothing uses it");
    keyed(
      this.element,
      shares,
      (share) => share.key,
      () => h("span", {}),
      (element, share) => showShare(element, share, whole),
    );
  }
}

/** @param {HTMLElement} element @param {Share} share @param {number} whole */
function showShare(element, share, whole) {
  const { used } = partsOf(element, () => ({ used: h("span", { class: "memory-used" }) }));
  element.className = `memory-share ${share.colour}`;
  element.title = share.title;
  element.style.width = `${(share.reserved_mb / whole) * 100}%`;
  used.style.width = `${share.reserved_mb ? (share.used_mb / share.reserved_mb) * 100 : 0}%`;
}
