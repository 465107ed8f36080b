/** Text of a log as lines on the page: progress bars folded to their last state, very long lines cut. */

import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { Ansi } from "./ansi.js";
import { Terminal } from "./terminal.js";

/** A block of lines that can grow. */
export class Lines {
  constructor() {
    this.element = h("div", { class: "log-block" });
    this.terminal = new Terminal();
  }

  /** @param {string} text new text */
  push(text) {
    this.terminal.write(text);
    this.draw();
    this.terminal.forget();
  }

  /** From the last row to the first: each new one goes before the one drawn last. */
  draw() {
    /** @type {HTMLElement | null} */
    let next = null;
    for (const row of this.terminal.rows.toReversed()) {
      if (!row.element && (row.text || row.isEnded)) {
        row.element = h("div", { class: "line" });
        this.element.insertBefore(row.element, next);
      }
      if (row.isChanged) drawRow(row);
      row.isChanged = false;
      next = row.element ?? next;
    }
  }

  /** Continues the unfinished rows of another block. @param {Lines} before */
  takeOver(before) {
    this.terminal = before.terminal.handOver();
    this.element.append(...this.terminal.rows.flatMap((row) => row.element ?? []));
  }
}

/** @param {import("./terminal.js").Row} row */
function drawRow({ element, text, rest, style }) {
  if (!element) return;
  const more = rest ? h("span", { class: "soft" }, ` … ${counted(rest, "character")} more in the file`) : null;
  fill(element, new Ansi(style).nodes(text.trimEnd()), more);
}
