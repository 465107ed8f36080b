/** Who uses a GPU: jobs, with used and reserved memory, and processes that are not duckrow's. */

import { h, partsOf, say, show } from "../dom.js";
import { duration, memory } from "../format.js";
import { keyed } from "../keyed_list.js";
import { address } from "../server.js";
import { isOver } from "./memory_bar.js";

export class Residents {
  constructor() {
    this.jobs = h("ul", { class: "residents" });
    this.foreign = h("ul", { class: "residents" });
    this.nobody = h("p", { class: "soft" }, "Nothing runs here.");
    this.element = h("div", { class: "gpu-residents" }, this.jobs, this.foreign, this.nobody);
  }

  /** @param {Api.DeviceCard} gpu @param {(id: number) => string} colourOf */
  show(gpu, colourOf) {
    keyed(
      this.jobs,
      gpu.jobs,
      (job) => job.id,
      () => h("li", {}),
      (row, job) => showJob(row, job, colourOf(job.id)),
    );
    keyed(
      this.foreign,
      gpu.foreign,
      (process) => process.pid,
      () => h("li", {}),
      showForeign,
    );
    show(this.nobody, !gpu.jobs.length && !gpu.foreign.length);
  }
}

/** @param {HTMLElement} row @param {Api.JobOnDevice} job @param {string} colour */
function showJob(row, job, colour) {
  const { swatch, name, since, used } = partsOf(row, () => ({
    swatch: h("span", {}),
    name: h("a", { href: address(`/jobs/${job.id}`) }),
    since: h("span", { class: "soft" }),
    used: h("span", { class: "resident-memory" }),
  }));
  swatch.className = `swatch ${colour}`;
  say(name, `${job.id} ${job.name}`);
  say(since, [job.for_s ? duration(job.for_s) : "", job.pid ? `pid ${job.pid}` : ""].filter(Boolean).join(", "));
  const reserved = job.reserved_mb ? ` of ${memory(job.reserved_mb)}` : "";
  say(used, job.used_mb === null ? reserved.slice(4) : `${memory(job.used_mb)}${reserved}`);
  used.classList.toggle("is-over", isOver(job));
  used.title = isOver(job) ? "It uses more memory than it reserved" : "";
}

/** @param {HTMLElement} row @param {Api.ForeignProcess} process */
function showForeign(row, process) {
  const { who, what, used } = partsOf(row, () => ({
    swatch: h("span", { class: "swatch share-foreign" }),
    who: h("span", {}),
    what: h("span", { class: "soft" }),
    used: h("span", { class: "resident-memory" }),
  }));
  say(who, process.user ?? "somebody");
  say(what, `${process.command ?? ""}, pid ${process.pid}`);
  say(used, memory(process.used_mb));
}
