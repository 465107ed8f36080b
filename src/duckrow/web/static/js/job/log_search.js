/** Finds text in a log, on the server's side: the browser has only a window of it. */

import { get } from "../api.js";
import { button, fill, h, show } from "../dom.js";
import { counted } from "../format.js";
import { Ansi } from "./ansi.js";
import { Screen } from "./screen.js";

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
    this.input = h("input", {
      type: "search",
      placeholder: "Search the log",
      "aria-label": "Search the log",
      on: { input: typed, keydown: (event) => event.key === "Enter" && this.next !== null && this.find(this.next) },
    });
    this.next = null; // where to search on
    this.summary = h("span", { class: "soft", role: "status" });
    this.list = h("ol", { class: "log-hits-list" });
    this.results = h("div", { class: "log-hits", hidden: true }, this.summary, this.list);
  }

  async find(from = 0) {
    const q = this.input.value;
    const visit = ++this.visit;
    this.next = null;
    show(this.results, q);
    if (!q) return fill(this.list);
    if (!from) fill(this.list);
    fill(this.summary, "searching…");
    const found = await get(`/jobs/${this.job}/log/search`, { attempt: this.attempt(), q, from, limit: MOST }).catch(
      (error) => error,
    );
    if (visit === this.visit) this.show(found);
    return undefined;
  }

  show(found) {
    if (found instanceof Error) return fill(this.summary, found.message);
    this.list.append(...found.hits.map((hit) => this.entry(hit)));
    const count = counted(this.list.children.length, "line");
    const isMore = !found.complete && found.next !== null;
    if (isMore && !this.list.children.length) return this.find(found.next); // a long log takes several looks
    this.next = isMore ? found.next : null;
    return fill(
      this.summary,
      isMore ? `${count} so far ` : `${count} found`,
      isMore ? button("Search on", () => this.find(found.next), { class: "button is-link" }) : null,
    );
  }

  entry(hit) {
    const choose = () => this.onChoose(hit);
    const line = h("button", { type: "button", class: "log-hit", on: { click: choose } }, shownLine(hit.line));
    return h("li", {}, line);
  }
}

/** As in the log: with its colours, and of a progress bar the last state. @param {string} line */
function shownLine(line) {
  const screen = new Screen();
  screen.write(line);
  const rows = screen.rows.filter(({ text }) => text.trim());
  return rows.length ? rows.flatMap(({ text, style }) => new Ansi(style).nodes(text.trimEnd())) : " ";
}
