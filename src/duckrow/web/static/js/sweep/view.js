/** A sweep: its runs as a grid and as a table, the best of them, their curves, and why some failed. */

import { get } from "../api.js";
import { button, h, say, show } from "../dom.js";
import { download } from "../download.js";
import { noSuch } from "../not_found.js";
import { rewrite } from "../router.js";
import { address } from "../server.js";
import { Best } from "./best.js";
import { Curves } from "./curves.js";
import { Failures } from "./failures.js";
import { Grid } from "./grid.js";
import { Progress } from "./progress.js";
import { Runs } from "./runs.js";

/** @param {import("../router.js").Place} place @returns {Promise<import("../router.js").View>} */
export async function open(place) {
  const [word = ""] = place.words;
  const id = await idOf(word);
  return id === null ? nowhere(word) : new SweepPage(place, id);
}

/** @param {string | number} word */
function nowhere(word) {
  const element = noSuch(`There is no sweep ${word}`, "It may have been removed.", "/sweeps", "All sweeps");
  return { title: "Not found", element, refresh: async () => {} };
}

/**
 * A sweep may also be given by its name: the newest one with that name.
 * @param {string} word
 * @returns {Promise<number | null>}
 */
async function idOf(word) {
  if (/^\d{1,15}$/.test(word)) return Number(word) || null;
  const { items } = await get("/sweeps").catch(() => ({ items: [] }));
  return items.find((sweep) => sweep.name === word)?.id ?? null;
}

class SweepPage {
  /** @type {import("../refresh.js").Refresh | null} */
  refreshing = null;

  /** @param {import("../router.js").Place} place @param {number} id */
  constructor(place, id) {
    this.id = id;
    this.title = `Sweep ${this.id}`;
    this.name = h("h1", {}, "Sweep");
    this.pattern = h("code", { class: "soft pattern" });
    this.progress = new Progress();
    this.failures = new Failures(this.id);
    this.best = new Best((choice) => this.choose(choice), {
      metric: place.query.get("metric") ?? "",
      best: place.query.get("best") ?? "",
    });
    this.grid = new Grid();
    this.curves = new Curves(this.id);
    this.runs = new Runs();
    const csv = button("CSV", () => download(`/sweeps/${this.id}/results.csv`));
    this.jobs = h("a", { class: "button", href: address("/") }, "Jobs");
    const head = h(
      "div",
      { class: "machine-head" },
      h("div", {}, this.name, this.pattern),
      h("span", { class: "spread" }),
      this.progress.element,
      this.jobs,
      csv,
    );
    const pictures = h("div", { class: "sweep-pictures" }, this.grid.element, this.curves.element);
    this.cut = h("p", { class: "notice", hidden: true }, "Only the first 5,000 runs are shown; the CSV has all.");
    this.element = h(
      "div",
      { class: "sweep" },
      head,
      this.cut,
      this.failures.element,
      this.best.element,
      pictures,
      this.runs.element,
    );
  }

  async refresh() {
    const sweep = await get(`/sweeps/${this.id}`);
    this.title = sweep.name;
    say(this.name, sweep.name);
    say(this.pattern, sweep.pattern);
    this.jobs.setAttribute("href", address(`/?sweep=${this.id}`));
    show(this.cut, sweep.truncated);
    this.progress.show(sweep.counts, sweep.total);
    this.failures.show(sweep.failures);
    this.best.show(sweep);
    this.grid.show(sweep, this.best);
    this.runs.show(sweep, this.best.run);
    await this.curves.refresh(this.best.metric, sweep.rows);
  }

  missing() {
    return nowhere(this.id).element;
  }

  /** @param {import("./best.js").Choice} choice */
  choose({ metric, best }) {
    const query = new URLSearchParams();
    if (metric) query.set("metric", metric);
    if (best) query.set("best", best);
    rewrite(query);
    this.refreshing?.want();
  }
}
