/** The attempts of a job: where each ran and how it ended; the chosen one's log and curve are shown. */

import { h, partsOf, say, show } from "../dom.js";
import { duration, memory, moment } from "../format.js";
import { Table } from "../table.js";
import { showState } from "../queue/columns.js";
import { serverNow } from "../clock.js";

export class Attempts {
  /** @param {(number: number) => void} onChoose */
  constructor(onChoose) {
    this.chosen = 0;
    this.table = new Table({
      label: "Attempts",
      columns: columns(onChoose),
      keyOf: (attempt) => attempt.number,
      showRow: (row, attempt) => row.classList.toggle("is-chosen", attempt.number === this.chosen),
    });
    this.element = h(
      "section",
      { class: "panel", hidden: true },
      h("h2", {}, "Attempts"),
      h("div", { class: "table-frame" }, this.table.element),
    );
  }

  /** @param {Api.Attempt[]} attempts @param {number} chosen */
  show(attempts, chosen) {
    this.chosen = chosen;
    show(this.element, attempts.length);
    this.table.show([...attempts].sort((one, other) => other.number - one.number));
  }
}

/**
 * @param {(number: number) => void} onChoose
 * @returns {import("../table.js").Column<Api.Attempt>[]}
 */
const columns = (onChoose) => [
  { id: "number", title: "#", show: (cell, attempt) => showNumber(cell, attempt, onChoose) },
  { id: "state", title: "State", show: showAttemptState },
  { id: "devices", title: "GPUs", show: (cell, attempt) => say(cell, attempt.devices.join(", ")) },
  { id: "since", title: "Started", show: (cell, attempt) => say(cell, moment(attempt.started_at)) },
  {
    id: "time",
    title: "Time",
    isNumber: true,
    show: (cell, attempt) =>
      say(cell, attempt.started_at ? duration((attempt.ended_at ?? serverNow()) - attempt.started_at) : ""),
  },
  {
    id: "exit",
    title: "Exit",
    isNumber: true,
    show: (cell, attempt) => say(cell, attempt.signal ? `signal ${attempt.signal}` : String(attempt.exit_code ?? "")),
  },
  { id: "peak", title: "Memory", isNumber: true, show: (cell, attempt) => say(cell, memory(attempt.peak_memory_mb)) },
];

/** @param {HTMLElement} cell @param {Api.Attempt} attempt @param {(number: number) => void} onChoose */
function showNumber(cell, attempt, onChoose) {
  const click = () => onChoose(attempt.number);
  const { choose } = partsOf(cell, () => ({
    choose: h("button", { type: "button", class: "button is-link", on: { click } }),
  }));
  say(choose, String(attempt.number));
  choose.setAttribute("aria-label", `Show attempt ${attempt.number}`);
}

/** @param {HTMLElement} cell @param {Api.Attempt} attempt */
function showAttemptState(cell, attempt) {
  showState(partsOf(cell, () => ({ state: h("span", {}) })).state, attempt);
}
