/** The row that the keys act on. */

export class Cursor {
  /** @param {import("../table.js").Table<any>} table */
  constructor(table) {
    this.table = table;
    this.id = null;
  }

  /** @returns {any} the job under the cursor, or null */
  get job() {
    return this.row?.item ?? null;
  }

  get row() {
    return this.table.rows.find((row) => row.item.id === this.id) ?? null;
  }

  move(step) {
    const { rows } = this.table;
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.item.id === this.id);
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
    this.row?.classList.remove("is-at");
    this.id = rows[next].item.id;
    rows[next].classList.add("is-at");
    rows[next].scrollIntoView({ block: "nearest" });
  }

  /** Called for each row that is drawn. */
  mark(row, job) {
    row.classList.toggle("is-at", job.id === this.id);
  }
}
