/** The table of runs: parameters, metrics, how they went; sorted by any of them. */

import { h, say } from "../dom.js";
import { memory, took, value } from "../format.js";
import { Pager } from "../queue/pager.js";
import { showState } from "../queue/columns.js";
import { address } from "../site.js";
import { status } from "../states.js";
import { Table, nextSort } from "../table.js";

const PER_PAGE = 100;

export class Runs {
  constructor() {
    this.sort = "";
    this.page = 1;
    this.frame = h("div", { class: "table-frame" });
    this.pager = new Pager((page) => this.again({ page }));
    this.element = h("section", { class: "runs", "aria-label": "Runs" }, this.frame, this.pager.element);
  }

  /** @param {any} sweep @param {any} best the run to mark */
  show(sweep, best) {
    this.sweep = sweep;
    this.best = best;
    this.keep(sweep);
    const rows = sorted(sweep.rows, this.fields[this.sort.replace(/^-/, "")], this.sort.startsWith("-"));
    this.table.show(rows.slice((this.page - 1) * PER_PAGE, this.page * PER_PAGE), this.sort);
    this.pager.show(this.page, PER_PAGE, rows.length);
  }

  again(change) {
    Object.assign(this, change);
    this.show(this.sweep, this.best);
  }

  /** A new metric is a new column, so a new table. */
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
    this.fields = Object.fromEntries(columns.map((column) => [column.id, column.field]));
    this.table = new Table({
      label: "Runs of the sweep",
      columns: columns.map((column) => ({ ...column, sort: column.id })),
      keyOf: (row) => row.job,
      pathOf: (row) => `/jobs/${row.job}`,
      onSort: (word) => this.again({ sort: nextSort(this.sort, word), page: 1 }),
      showRow: (element, row) => element.classList.toggle("is-best", row.job === this.best?.job),
    });
    this.frame.replaceChildren(this.table.element);
  }
}

const FIRST = [
  { id: "job", title: "Job", isNumber: true, field: (row) => row.job, show: showJob },
  { id: "run-state", title: "State", field: status, show: showRunState },
];

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
const parameter = (name) => told(`p:${name}`, name, (row) => row.parameters?.[name]);
const metric = (name) => told(`m:${name}`, name, (row) => row.metrics?.[name]);

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

function showJob(cell, row) {
  if (!cell.firstChild) cell.append(h("a", { href: address(`/jobs/${row.job}`) }, String(row.job)));
}

function showRunState(cell, row) {
  if (!cell.firstChild) cell.append(h("span", {}));
  showState(cell.firstChild, row);
}

/** JSON has no infinite numbers: they come as text. */
const numeric = (one) => (one === "Infinity" || one === "-Infinity" ? Number(one) : one);

/** What is not there, or not a number, comes last, whichever way round. */
function sorted(rows, field, isDown) {
  if (!field) return rows;
  const isMissing = (one) => one === null || one === undefined || one === "" || one === "NaN";
  return [...rows].sort((left, right) => {
    const [one, other] = [numeric(field(left)), numeric(field(right))];
    if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
    const order =
      typeof one === "number" && typeof other === "number"
        ? one - other
        : String(one).localeCompare(String(other), "en", { numeric: true });
    return isDown ? -order : order;
  });
}
