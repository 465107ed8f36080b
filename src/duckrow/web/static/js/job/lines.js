/** Text of a log as lines on the page: progress bars folded to their last state, lines without end cut. */

import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { Ansi } from "./ansi.js";

const LONGEST = 4000;

/** What a terminal shows in the end of a line that went back with carriage returns. @param {string} line */
function folded(line) {
  const shown = line.replace(/[\r\s]+$/, "");
  return shown.slice(shown.lastIndexOf("\r") + 1);
}

/** A block of lines that can grow: complete lines, and one that is still being written. */
export class Lines {
  constructor() {
    this.element = h("div", { class: "log-block" });
    this.ansi = new Ansi();
    this.unfinished = "";
    this.open = null; // the element of the unfinished line
  }

  /** @param {string} text what was written since */
  push(text) {
    const parts = (this.unfinished + text).split("\n");
    this.unfinished = kept(parts.pop());
    const made = parts.map((line) => this.line(line));
    if (made.length && this.open) {
      this.open.remove();
      this.open = null;
    }
    this.element.append(...made);
    this.showUnfinished();
  }

  line(text) {
    return show(h("div", { class: "line" }), text, this.ansi);
  }

  showUnfinished() {
    if (!this.unfinished) return;
    if (!this.open) this.element.append((this.open = h("div", { class: "line" })));
    const ansi = new Ansi(); // it is drawn again and again: its colours must not count twice
    ansi.style = { ...this.ansi.style };
    show(this.open, this.unfinished, ansi);
  }
}

function show(element, text, ansi) {
  const line = folded(text);
  const rest = line.length - LONGEST;
  const more = rest > 0 ? h("span", { class: "soft" }, ` … ${counted(rest, "character")} more in the file`) : null;
  return fill(element, ansi.nodes(rest > 0 ? line.slice(0, LONGEST) : line), more);
}

/** Of a progress bar that is drawn for days only the last states are kept. */
function kept(unfinished) {
  const last = unfinished.lastIndexOf("\r", unfinished.length - 2);
  return last > 0 ? unfinished.slice(unfinished.lastIndexOf("\r", last - 1) + 1) : unfinished;
}
