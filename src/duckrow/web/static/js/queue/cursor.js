/** The row that the keys act on. */

export class Cursor {
  /** @param {import("../table.js").Table<Api.JobView>} table */
  constructor(table) {
    this.table = table;
    /** @type {number | null} */
    this.id = null;
  }

  /** @returns {Api.JobView | null} the job under the cursor */
  get job() {
    return this.table.itemOf(this.row) ?? null;
  }

  get row() {
    return this.table.rows.find((row) => this.isAt(row)) ?? null;
  }

  /** @param {Element} row */
  isAt(row) {
    return this.table.itemOf(row)?.id === this.id;
  }

  /** @param {number} step */
  move(step) {
    const { rows } = this.table;
    const at = rows.findIndex((row) => this.isAt(row));
    const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!next) return;
    this.row?.classList.remove("is-at");
    this.id = this.table.itemOf(next)?.id ?? null;
    next.classList.add("is-at");
    next.scrollIntoView({ block: "nearest" });
  }

  /** Called for each row that is drawn. @param {HTMLElement} row @param {Api.JobView} job */
  mark(row, job) {
    row.classList.toggle("is-at", job.id === this.id);
  }
}
