/** Finds text in a log, on the server: the browser has only a window of it. */

import { get } from "../api.js";
import { button, fill, h, show } from "../dom.js";
import { inWords } from "../errors.js";
import { counted } from "../format.js";
import { Ansi } from "./ansi.js";
import { Terminal } from "./terminal.js";

const TYPING_MS = 300;
const MOST = 100;

export class LogSearch {
  /** @param {number} job @param {() => number | null} attempt @param {(hit: {at: number}) => void} onChoose */
  constructor(job, attempt, onChoose) {
    this.job = job;
    this.attempt = attempt;
    this.onChoose = onChoose;
    this.visit = 0;
    let timer = 0;
    const typed = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.find(), TYPING_MS);
    };
    /** @type {HTMLInputElement} */
    this.input = h("input", {
      type: "search",
      placeholder: "Search the log",
      "aria-label": "Search the log",
      on: { input: typed, keydown: (event) => event.key === "Enter" && this.next !== null && this.find(this.next) },
    });
    /** @type {number | null} where to continue the search */
    this.next = null;
    this.summary = h("span", { class: "soft", role: "status" });
    this.list = h("ol", { class: "log-hits-list" });
    this.results = h("div", { class: "log-hits", hidden: true }, this.summary, this.list);
  }

  async find(from = 0) {
    const q = this.input.value;
    const visit = ++this.visit;
    this.next = null;
    show(this.results, q);
    if (!from || !q) fill(this.list);
    if (!q) return;
    fill(this.summary, "searching…");
    try {
      const found = await get(`/jobs/${this.job}/log/search`, { attempt: this.attempt(), q, from, limit: MOST });
      if (visit === this.visit) this.show(found);
    } catch (error) {
      if (visit === this.visit) fill(this.summary, inWords(error));
    }
  }

  /** @param {Api.LogMatches} found */
  show(found) {
    this.list.append(...found.hits.map((hit) => this.entry(hit)));
    const count = counted(this.list.children.length, "line");
    const next = found.complete ? null : found.next;
    if (next !== null && !this.list.children.length) {
      this.find(next); // a long log takes several requests
      return;
    }
    this.next = next;
    fill(
      this.summary,
      next === null ? `${count} found` : `${count} so far `,
      next === null ? null : button("Keep searching", () => this.find(next), { class: "button is-link" }),
    );
  }

  /** @param {Api.LogMatch} hit */
  entry(hit) {
    const choose = () => this.onChoose(hit);
    const line = h("button", { type: "button", class: "log-hit", on: { click: choose } }, shownLine(hit.line));
    return h("li", {}, line);
  }
}

/** As in the log: with colours, and only the last state of a progress bar. @param {string} line */
function shownLine(line) {
  const terminal = new Terminal();
  terminal.write(line);
  const rows = terminal.rows.filter(({ text }) => text.trim());
  return rows.length ? rows.flatMap(({ text, style }) => new Ansi(style).nodes(text.trimEnd())) : " ";
}
