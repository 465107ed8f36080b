/** A table that keeps its rows while their contents change, with headings that sort. */

import { h } from "./dom.js";
import { keyed } from "./keyed_list.js";
import { go } from "./router.js";
import { address } from "./server.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} id
 * @property {string | HTMLElement} title
 * @property {string} [hint] what the heading means
 * @property {string} [sort] the word that sorts by it
 * @property {string} [kind] the class, if the id is the user's text
 * @property {boolean} [isNumber]
 * @property {(cell: HTMLTableCellElement, item: T) => void} show
 */

/** @template T */
export class Table {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {Column<T>[]} options.columns
   * @param {(item: T) => string | number} options.keyOf
   * @param {(sort: string) => void} [options.onSort]
   * @param {(row: HTMLTableRowElement, item: T) => void} [options.showRow] updates the row as a whole
   * @param {(item: T) => string} [options.pathOf] where a click on a row leads
   */
  constructor({ label, columns, keyOf, onSort, showRow, pathOf }) {
    this.columns = columns;
    this.keyOf = keyOf;
    this.showRow = showRow ?? (() => {});
    /** @type {WeakMap<Element, T>} what each row shows */
    this.items = new WeakMap();
    this.headings = columns.map((column) => this.heading(column, onSort));
    this.body = h("tbody", pathOf ? { on: { click: (event) => this.clicked(event, pathOf) } } : {});
    this.element = h(
      "table",
      { class: `table${pathOf ? " opens" : ""}`, "aria-label": label },
      h("thead", {}, h("tr", {}, this.headings)),
      this.body,
    );
  }

  /** @param {Column<T>} column @param {((sort: string) => void) | undefined} onSort */
  heading({ sort, title, ...column }, onSort) {
    const props = { scope: "col", class: classOf(column), title: column.hint };
    if (!sort || !onSort) return h("th", props, title);
    const turn = () => onSort(sort);
    return h("th", props, h("button", { type: "button", class: "sorter", on: { click: turn } }, title));
  }

  /** @param {T[]} items @param {string} [sort] the word it is sorted by, with a minus for descending order */
  show(items, sort = "") {
    keyed(
      this.body,
      items,
      this.keyOf,
      () => this.row(),
      (row, item) => this.update(row, item),
    );
    this.headings.forEach((heading, index) => this.markSorted(heading, this.columns[index]?.sort, sort));
  }

  row() {
    return h(
      "tr",
      {},
      this.columns.map((column) => h("td", { class: classOf(column) })),
    );
  }

  /** @param {HTMLTableRowElement} row @param {T} item */
  update(row, item) {
    this.items.set(row, item);
    [...row.cells].forEach((cell, index) => this.columns[index]?.show(cell, item));
    this.showRow(row, item);
  }

  /** @param {HTMLElement} heading @param {string | undefined} own the word that sorts by it @param {string} sort */
  markSorted(heading, own, sort) {
    const isBy = Boolean(own) && sort.replace(/^-/, "") === own;
    if (isBy) heading.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
    else heading.removeAttribute("aria-sort");
  }

  /** @returns {HTMLTableRowElement[]} */
  get rows() {
    return [...this.body.rows];
  }

  /** @param {EventTarget | null} target of an event @returns {HTMLTableRowElement | null} */
  rowAt(target) {
    return target instanceof Element ? target.closest("tr") : null;
  }

  /** @param {Element | null} row @returns {T | undefined} what it shows */
  itemOf(row) {
    return row ? this.items.get(row) : undefined;
  }

  /**
   * A click beside the links and buttons of a row is for the row; one that ends a text selection is not.
   * @param {MouseEvent} event
   * @param {(item: T) => string} pathOf
   */
  clicked(event, pathOf) {
    const item = this.itemOf(this.rowAt(event.target));
    const isOnPart = event.target instanceof Element && event.target.closest("a, button, input, label");
    if (item === undefined || isOnPart || String(getSelection())) return;
    const path = pathOf(item);
    if (event.metaKey || event.ctrlKey) open(address(path), "_blank");
    else if (!event.shiftKey && !event.altKey) go(path);
  }
}

const classOf = (/** @type {{id: string, kind?: string, isNumber?: boolean}} */ { id, kind, isNumber }) =>
  `col-${kind ?? id}${isNumber ? " is-number" : ""}`;

/**
 * The next order after a click on a heading: ascending, then descending, then none.
 * @param {string} before
 * @param {string} word
 */
export function nextSort(before, word) {
  if (before === word) return `-${word}`;
  return before === `-${word}` ? "" : word;
}
