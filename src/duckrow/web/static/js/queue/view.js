/** The queue: search, sort, select and act on all jobs. */

import { ACTIONS, NAMES, allowed, perform } from "../actions.js";
import { get } from "../api.js";
import { fill, h, show } from "../dom.js";
import { showMenu } from "../menu.js";
import { go, rewrite } from "../router.js";
import { READ_ONLY, address } from "../server.js";
import { isWaiting } from "../states.js";
import { Table, nextSort } from "../table.js";
import { Chosen } from "./selection.js";
import { columns } from "./columns.js";
import { Cursor } from "./cursor.js";
import { dragRows } from "./drag_rows.js";
import { Filters, filterFrom, queryFrom } from "./filters.js";
import { Pager } from "./pager.js";

const PER_PAGE = 50;
const EVERY_JOB = "all=true"; // an action must say so: an empty query means no job

/** @param {import("../router.js").Place} place @returns {import("../router.js").View} */
export function open(place) {
  return new Queue(place);
}

class Queue {
  title = "Queue";

  /** @type {import("../refresh.js").Refresh | null} */
  refreshing = null;

  /** @param {import("../router.js").Place} place */
  constructor(place) {
    this.filter = filterFrom(place.query);
    /** @type {Api.JobPage | null} null until the first answer */
    this.answer = null;
    /** @type {number | null} the job that was last selected */
    this.lastChosen = null;
    this.chosen = new Chosen(() => this.draw());
    this.filters = new Filters((change) => this.refine({ ...change, page: 1 }));
    this.pager = new Pager((page) => this.refine({ page }));
    /** @type {HTMLInputElement} */
    this.pageBox = h("input", {
      type: "checkbox",
      "aria-label": "Select all on this page",
      title: "Select all on this page (X)",
      on: { click: () => this.choosePage() },
    });
    this.table = this.makeTable();
    this.cursor = new Cursor(this.table);
    this.empty = h("div", { class: "empty", hidden: true });
    this.keys = READ_ONLY ? this.moving() : { ...this.moving(), ...this.acting() };
    if (!READ_ONLY) dragRows(this.table, () => this.chosen.jobs);
    const frame = h("div", { class: "table-frame" }, this.table.element);
    this.element = h(
      "div",
      { class: "queue" },
      h("h1", { class: "unseen" }, "Queue"),
      this.filters.element,
      frame,
      this.empty,
      this.pager.element,
      this.chosen.element,
    );
  }

  /** @returns {Table<Api.JobView>} */
  makeTable() {
    return new Table({
      label: "Jobs",
      keyOf: (job) => job.id,
      pathOf: (job) => `/jobs/${job.id}`,
      columns: columns({
        isChosen: (job) => this.chosen.has(job),
        choose: (job, isChosen, event) => this.choose(job, isChosen, event),
        chooseAll: this.pageBox,
        menu: (button, job) => this.menu(button, job),
      }),
      onSort: (word) => this.refine({ sort: nextSort(this.filter.sort, word), page: 1 }),
      showRow: (row, job) => {
        row.classList.toggle("is-chosen", this.chosen.has(job));
        row.draggable = !READ_ONLY && isWaiting(job);
        this.cursor.mark(row, job);
      },
    });
  }

  /** @returns {Promise<void>} */
  async refresh() {
    const wanted = this.filter;
    const answer = await get("/jobs", { ...wanted, status: [...wanted.status], per_page: PER_PAGE });
    if (wanted !== this.filter) return this.refresh(); // the user typed on meanwhile
    this.answer = answer;
    return this.draw();
  }

  draw() {
    if (!this.answer) return;
    const { items, total, counts } = this.answer;
    this.filters.show(this.filter, counts);
    const select = queryFrom({ ...this.filter, sort: "", page: 1 }).toString() || EVERY_JOB;
    this.chosen.show(items, total, select, queryFrom(this.filter).toString());
    this.table.show(items, this.filter.sort);
    this.showPageBox(items);
    this.pager.show(this.filter.page, PER_PAGE, total);
    show(this.empty, !items.length);
    if (!items.length) fill(this.empty, this.isFiltered() ? nothingFound() : welcome());
  }

  /** @param {Api.JobView[]} items */
  showPageBox(items) {
    const chosen = items.filter((job) => this.chosen.has(job)).length;
    this.pageBox.checked = chosen > 0 && chosen === items.length;
    this.pageBox.indeterminate = chosen > 0 && chosen < items.length;
  }

  isFiltered() {
    const { status, project, sweep, q, page } = this.filter;
    return Boolean(status.length || project || sweep || q || page > 1);
  }

  statusChanged() {
    this.draw();
  }

  /** @param {Partial<import("./filters.js").Filter>} change */
  refine(change) {
    this.filter = { ...this.filter, ...change };
    this.chosen.isAll = false;
    rewrite(queryFrom(this.filter));
    this.filters.show(this.filter, this.answer?.counts ?? {});
    this.refreshing?.want();
  }

  /** @param {URLSearchParams} query */
  moved(query) {
    this.refine(filterFrom(query));
  }

  close() {
    this.filters.close();
  }

  /**
   * With the shift key: all rows since the last clicked one.
   * @param {Api.JobView} job
   * @param {boolean} isChosen
   * @param {MouseEvent} [event]
   */
  choose(job, isChosen, event) {
    const jobs = this.answer?.items ?? [];
    const from = jobs.findIndex(({ id }) => id === this.lastChosen);
    const to = jobs.findIndex(({ id }) => id === job.id);
    const range = event?.shiftKey && from >= 0 ? jobs.slice(Math.min(from, to), Math.max(from, to) + 1) : [job];
    this.lastChosen = job.id;
    this.chosen.set(range, isChosen);
  }

  choosePage() {
    const jobs = this.answer?.items ?? [];
    this.chosen.set(jobs, !jobs.every((job) => this.chosen.has(job)));
  }

  /** @param {HTMLElement} button @param {Api.JobView} job */
  menu(button, job) {
    showMenu(
      button,
      allowed([job]).map((action) => ({ ...ACTIONS[action], choose: () => perform(action, { jobs: [job] }) })),
    );
  }

  moving() {
    return {
      j: () => this.cursor.move(1),
      k: () => this.cursor.move(-1),
      Enter: () => this.cursor.job && go(`/jobs/${this.cursor.job.id}`),
      n: () => this.pager.move(1),
      p: () => this.pager.move(-1),
    };
  }

  acting() {
    /** @type {import("../keyboard.js").Keys} */
    const keys = {
      x: () => this.cursor.job && this.choose(this.cursor.job, !this.chosen.has(this.cursor.job)),
      X: () => this.choosePage(),
      Escape: () => this.chosen.clear(),
    };
    for (const action of NAMES) {
      const { key } = ACTIONS[action];
      if (key) keys[key] = () => this.chosen.act(action, this.cursor.job);
    }
    return keys;
  }
}

function nothingFound() {
  return [
    h("h2", {}, "No job fits"),
    h("p", {}, "Search for something else, or ", h("a", { href: address("/") }, "show all jobs"), "."),
  ];
}

function welcome() {
  const first = READ_ONLY
    ? null
    : h("p", {}, h("a", { href: address("/add"), class: "button is-main" }, "Add the first jobs"));
  return [
    h("h2", {}, "No jobs yet"),
    h("p", {}, "A job is a command. Add some here, or in a terminal:"),
    h("pre", {}, "duckrow submit -- python train.py --lr 0.1\nduckrow submit --gpus 2 --gpu-mem 10G -- python big.py"),
    h("p", { class: "soft" }, "They run when their GPUs are free, keep running when you log out, and appear here."),
    first,
  ];
}
