/** The table of runs: parameters, metrics and states; sorted by any of them. */

import { h, partsOf, say } from "../dom.js";
import { memory, took, value } from "../format.js";
import { Pager } from "../queue/pager.js";
import { showState } from "../queue/columns.js";
import { address } from "../server.js";
import { status } from "../states.js";
import { Table, nextSort } from "../table.js";

const PER_PAGE = 100;

/**
 * @typedef {(row: Api.SweepRun) => unknown} Field what a column sorts by
 * @typedef {import("../table.js").Column<Api.SweepRun> & {field: Field}} RunColumn
 */

export class Runs {
  constructor() {
    this.sort = "";
    this.page = 1;
    this.shown = ""; // the columns
    /** @type {Map<string, Field>} */
    this.fields = new Map();
    /** @type {Table<Api.SweepRun> | null} */
    this.table = null;
    /** @type {Api.SweepRun | null} the run to mark */
    this.best = null;
    /** @type {() => void} draws again what was shown last */
    this.again = () => {};
    this.frame = h("div", { class: "table-frame" });
    this.pager = new Pager((page) => {
      this.page = page;
      this.again();
    });
    this.element = h("section", { class: "runs", "aria-label": "Runs" }, this.frame, this.pager.element);
  }

  /** @param {Api.SweepDetails} sweep @param {Api.SweepRun | null} best */
  show(sweep, best) {
    this.best = best;
    this.again = () => this.show(sweep, best);
    this.keep(sweep);
    const rows = sorted(sweep.rows, this.fields.get(this.sort.replace(/^-/, "")), this.sort.startsWith("-"));
    this.table?.show(rows.slice((this.page - 1) * PER_PAGE, this.page * PER_PAGE), this.sort);
    this.pager.show(this.page, PER_PAGE, rows.length);
  }

  /** @param {string} word */
  sortBy(word) {
    this.sort = nextSort(this.sort, word);
    this.page = 1;
    this.again();
  }

  /** A new metric is a new column, so a new table. @param {Api.SweepDetails} sweep */
  keep({ varying, metrics }) {
    const signature = JSON.stringify([varying, metrics]);
    if (signature === this.shown) return;
    this.shown = signature;
    const columns = [
      ...FIRST,
      ...varying.map((name) => parameter(name)),
      ...metrics.map((name) => metric(name)),
      ...LAST,
    ];
    this.fields = new Map(columns.map((column) => [column.id, column.field]));
    this.table = new Table({
      label: "Runs of the sweep",
      columns: columns.map((column) => ({ ...column, sort: column.id })),
      keyOf: (row) => row.job,
      pathOf: (row) => `/jobs/${row.job}`,
      onSort: (word) => this.sortBy(word),
      showRow: (element, row) => element.classList.toggle("is-best", row.job === this.best?.job),
    });
    this.frame.replaceChildren(this.table.element);
  }
}

/** @type {RunColumn[]} */
const FIRST = [
  { id: "job", title: "Job", isNumber: true, field: (row) => row.job, show: showJob },
  { id: "run-state", title: "State", field: status, show: showRunState },
];

/** @type {RunColumn[]} */
const LAST = [
  {
    id: "run-time",
    title: "Time",
    isNumber: true,
    field: (row) => row.duration_s,
    show: (cell, row) => say(cell, took(row.duration_s)),
  },
  {
    id: "run-memory",
    title: "Memory",
    isNumber: true,
    field: (row) => row.peak_memory_mb,
    show: (cell, row) => say(cell, memory(row.peak_memory_mb)),
  },
];

// A name may be anything, so it must not become a class.
const parameter = (/** @type {string} */ name) => told(`p:${name}`, name, (row) => row.parameters[name]);
const metric = (/** @type {string} */ name) => told(`m:${name}`, name, (row) => row.metrics[name]);

/** @param {string} id @param {string} title @param {Field} field @returns {RunColumn} */
function told(id, title, field) {
  return {
    id,
    kind: "told",
    title,
    field,
    isNumber: id.startsWith("m:"),
    show: (cell, row) => say(cell, value(field(row))),
  };
}

/** @param {HTMLElement} cell @param {Api.SweepRun} row */
function showJob(cell, row) {
  partsOf(cell, () => ({ link: h("a", { href: address(`/jobs/${row.job}`) }, String(row.job)) }));
}

/** @param {HTMLElement} cell @param {Api.SweepRun} row */
function showRunState(cell, row) {
  showState(partsOf(cell, () => ({ state: h("span", {}) })).state, row);
}

/** JSON has no infinite numbers: they come as text. @param {unknown} one */
const numeric = (one) => (one === "Infinity" || one === "-Infinity" ? Number(one) : one);

const isMissing = (/** @type {unknown} */ one) => one === null || one === undefined || one === "" || one === "NaN";

/**
 * Missing values and NaN come last, in both directions.
 * @param {Api.SweepRun[]} rows
 * @param {Field | undefined} field
 * @param {boolean} isDown
 */
function sorted(rows, field, isDown) {
  if (!field) return rows;
  return [...rows].sort((left, right) => {
    const [one, other] = [numeric(field(left)), numeric(field(right))];
    if (isMissing(one) || isMissing(other)) return Number(isMissing(one)) - Number(isMissing(other));
    const order =
      typeof one === "number" && typeof other === "number"
        ? one - other
        : String(one).localeCompare(String(other), "en", { numeric: true });
    return isDown ? -order : order;
  });
}
