/** Text of a log as lines on the page: progress bars folded to their last state, lines without end cut. */

import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { Ansi } from "./ansi.js";
import { Screen } from "./screen.js";

/** A block of lines that can grow. */
export class Lines {
  constructor() {
    this.element = h("div", { class: "log-block" });
    this.screen = new Screen();
  }

  /** @param {string} text what was written since */
  push(text) {
    this.screen.write(text);
    this.draw();
    this.screen.forget();
  }

  /** From the last row to the first: each new one is put before the one that was drawn last. */
  draw() {
    /** @type {HTMLElement | null} */
    let next = null;
    for (const row of this.screen.rows.toReversed()) {
      if (!row.element && (row.text || row.isEnded)) {
        row.element = h("div", { class: "line" });
        this.element.insertBefore(row.element, next);
      }
      if (row.isChanged) drawRow(row);
      row.isChanged = false;
      next = row.element ?? next;
    }
  }

  /** Continues what another block had not finished. @param {Lines} before */
  takeOver(before) {
    this.screen = before.screen.handOver();
    this.element.append(...this.screen.rows.flatMap((row) => row.element ?? []));
  }
}

/** @param {import("./screen.js").Row} row */
function drawRow({ element, text, rest, style }) {
  if (!element) return;
  const more = rest ? h("span", { class: "soft" }, ` … ${counted(rest, "character")} more in the file`) : null;
  fill(element, new Ansi(style).nodes(text.trimEnd()), more);
}
