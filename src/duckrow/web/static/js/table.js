/** A table whose rows are kept while their contents change, with headings that sort. */

import { h } from "./dom.js";
import { keyed } from "./keyed.js";
import { go } from "./router.js";
import { address } from "./site.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} id
 * @property {string | HTMLElement} title
 * @property {string} [hint] what the heading means
 * @property {string} [sort] the word that sorts by it
 * @property {string} [kind] the class, where the id is somebody's text
 * @property {boolean} [isNumber]
 * @property {(cell: HTMLElement, item: T) => void} show
 */

/** @template T */
export class Table {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {Column<T>[]} options.columns
   * @param {(item: T) => string | number} options.keyOf
   * @param {(sort: string) => void} [options.onSort]
   * @param {(row: HTMLElement, item: T) => void} [options.showRow] what concerns the row as a whole
   * @param {(item: T) => string} [options.pathOf] where a click on a row leads
   */
  constructor({ label, columns, keyOf, onSort, showRow, pathOf }) {
    this.columns = columns;
    this.keyOf = keyOf;
    this.showRow = showRow ?? (() => {});
    this.headings = columns.map((column) => this.heading(column, onSort));
    this.body = h("tbody", pathOf ? { on: { click: (event) => opened(event, pathOf) } } : {});
    this.element = h(
      "table",
      { class: `table${pathOf ? " opens" : ""}`, "aria-label": label },
      h("thead", {}, h("tr", {}, this.headings)),
      this.body,
    );
  }

  heading(column, onSort) {
    const props = { scope: "col", class: classOf(column), title: column.hint };
    if (!column.sort || !onSort) return h("th", props, column.title);
    const turn = () => onSort(column.sort);
    return h("th", props, h("button", { type: "button", class: "sorter", on: { click: turn } }, column.title));
  }

  /** @param {T[]} items @param {string} [sort] the word it is sorted by, with a minus for the other way round */
  show(items, sort = "") {
    keyed(
      this.body,
      items,
      this.keyOf,
      () => this.row(),
      (row, item) => this.update(row, item),
    );
    this.columns.forEach((column, index) => this.markSorted(this.headings[index], column, sort));
  }

  row() {
    return h(
      "tr",
      {},
      this.columns.map((column) => h("td", { class: classOf(column) })),
    );
  }

  update(row, item) {
    row.item = item;
    this.columns.forEach((column, index) => column.show(row.children[index], item));
    this.showRow(row, item);
  }

  markSorted(heading, column, sort) {
    const isBy = Boolean(column.sort) && sort.replace(/^-/, "") === column.sort;
    if (isBy) heading.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
    else heading.removeAttribute("aria-sort");
  }

  /** @returns {HTMLElement[]} */
  get rows() {
    return [...this.body.children];
  }
}

/** A click beside the links and buttons of a row is meant for the row; one that ends a selection of text is not. */
function opened(event, pathOf) {
  const row = event.target.closest("tr");
  if (!row?.item || event.target.closest("a, button, input, label") || String(getSelection())) return;
  const path = pathOf(row.item);
  if (event.metaKey || event.ctrlKey) open(address(path), "_blank");
  else if (!event.shiftKey && !event.altKey) go(path);
}

const classOf = (column) => `col-${column.kind ?? column.id}${column.isNumber ? " is-number" : ""}`;

/** What a click on a heading asks for: this, then the other way round, then nothing in particular. */
export function nextSort(before, word) {
  if (before === word) return `-${word}`;
  return before === `-${word}` ? "" : word;
}
