/** The progress of a sweep: a bar in the colours of the states, and the numbers. */

import { h, say } from "../dom.js";
import { keyed } from "../keyed_list.js";
import { BY_PROGRESS, colour } from "../states.js";

export class Progress {
  constructor() {
    this.bar = h("span", { class: "progress-bar" });
    this.text = h("span", { class: "soft" });
    this.element = h("span", { class: "progress" }, this.bar, this.text);
  }

  /** @param {Record<string, number>} counts @param {number} total */
  show(counts, total) {
    const parts = BY_PROGRESS.map((word) => ({ word, count: counts[word] ?? 0 })).filter(({ count }) => count);
    keyed(
      this.bar,
      parts,
      ({ word }) => word,
      ({ word }) => h("span", { class: colour(word), title: word }),
      (part, { count, word }) => {
        part.style.width = `${(count / (total || 1)) * 100}%`;
        part.title = `${count} ${word}`;
      },
    );
    say(this.text, parts.map(({ word, count }) => `${count} ${word}`).join(", ") || "no runs");
  }
}
