/** From page to page of a long list. */

import { button, h, say, show } from "../dom.js";

export class Pager {
  /** @param {(page: number) => void} onMove */
  constructor(onMove) {
    this.onMove = onMove;
    this.page = 1;
    this.pages = 1;
    this.back = button("← Previous", () => this.move(-1), { class: "button is-quiet" });
    this.on = button("Next →", () => this.move(1), { class: "button is-quiet" });
    this.text = h("span", { class: "soft" });
    this.element = h("nav", { class: "pager", "aria-label": "Pages" }, this.back, this.text, this.on);
  }

  /** @param {number} step */
  move(step) {
    const page = this.page + step;
    if (page >= 1 && page <= this.pages) this.onMove(page);
  }

  /** @param {number} page @param {number} perPage @param {number} total */
  show(page, perPage, total) {
    this.page = page;
    this.pages = Math.max(1, Math.ceil(total / perPage));
    const [first, last, all] = [(page - 1) * perPage + 1, Math.min(total, page * perPage), total].map(grouped);
    say(this.text, `${first}–${last} of ${all}`);
    show(this.element, this.pages > 1 || page > 1);
    this.back.disabled = page <= 1;
    this.on.disabled = page >= this.pages;
  }
}

const grouped = (/** @type {number} */ number) => number.toLocaleString("en");
