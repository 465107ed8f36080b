/** The jobs that are selected, and the bar that acts on them. */

import { ACTIONS, allowed, perform } from "../actions.js";
import { button, h, say, show } from "../dom.js";
import { counted } from "../format.js";
import { keyed } from "../keyed_list.js";

/** @typedef {import("../states.js").ActionName} ActionName */

/** @type {ActionName[]} actions for all jobs that match a filter */
const TO_ALL = ["kill", "rerun", "hold", "release", "priority", "remove"];

export class Chosen {
  /** @param {() => void} onChange the rows must be redrawn */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Map<number, Api.JobView>} */
    this.jobs = new Map();
    this.isAll = false;
    this.total = 0;
    this.select = "";
    /** @type {Api.JobView[]} */
    this.page = [];
    this.where = "";
    this.text = h("span", { class: "chosen-text", role: "status" });
    this.all = button("", () => this.chooseAll(), { class: "button is-link" });
    this.buttons = h("span", { class: "chosen-buttons" });
    const clear = button("Clear", () => this.clear(), { class: "button is-link" });
    this.element = h(
      "div",
      { class: "chosen", role: "toolbar", "aria-label": "Selected jobs", hidden: true },
      this.text,
      this.all,
      this.buttons,
      clear,
    );
  }

  /** @param {Api.JobView} job */
  has(job) {
    return this.isAll || this.jobs.has(job.id);
  }

  /** @param {Api.JobView[]} jobs @param {boolean} isChosen */
  set(jobs, isChosen) {
    if (this.isAll) this.jobs.clear();
    this.isAll = false;
    for (const job of jobs) {
      if (isChosen) this.jobs.set(job.id, job);
      else this.jobs.delete(job.id);
    }
    this.onChange();
  }

  clear() {
    this.isAll = false;
    this.jobs.clear();
    this.onChange();
  }

  /** All jobs that match the filter, on all pages. */
  chooseAll() {
    this.isAll = true;
    this.onChange();
  }

  /**
   * @param {Api.JobView[]} page the jobs of this page
   * @param {number} total how many match
   * @param {string} select the filter that found them
   * @param {string} where which page of which list this is
   */
  show(page, total, select, where) {
    if (where === this.where) this.leaveOut(this.page, page);
    this.where = where;
    this.page = page;
    this.total = total;
    this.select = select;
    for (const job of page) if (this.jobs.has(job.id)) this.jobs.set(job.id, job);
    const count = this.isAll ? total : this.jobs.size;
    show(this.element, count);
    say(this.text, `${counted(count, "job")} selected`);
    const isWholePage = page.length > 0 && page.every((job) => this.jobs.has(job.id));
    show(this.all, !this.isAll && isWholePage && total > page.length);
    say(this.all, `Select all ${total.toLocaleString("en")}`);
    this.showButtons();
  }

  /**
   * Deselect jobs that vanished from the page meanwhile: nobody would see what happens to them.
   * @param {Api.JobView[]} before
   * @param {Api.JobView[]} now
   */
  leaveOut(before, now) {
    const there = new Set(now.map(({ id }) => id));
    for (const { id } of before) if (!there.has(id)) this.jobs.delete(id);
  }

  showButtons() {
    const actions = this.isAll ? TO_ALL : allowed([...this.jobs.values()]);
    const make = (/** @type {ActionName} */ action) =>
      button(ACTIONS[action].title, () => this.act(action), {
        class: `button${ACTIONS[action].destroys ? " is-danger-quiet" : ""}`,
        data: { action },
      });
    keyed(
      this.buttons,
      actions,
      (action) => action,
      make,
      () => {},
    );
  }

  /** @param {ActionName} action @param {Api.JobView | null} job the one under the cursor, if nothing is selected */
  async act(action, job = null) {
    if (this.isAll) await perform(action, { jobs: this.page, select: this.select, count: this.total });
    else if (this.jobs.size) await perform(action, { jobs: [...this.jobs.values()] });
    else if (job) await perform(action, { jobs: [job] });
    if (action === "remove") this.clear();
  }
}
