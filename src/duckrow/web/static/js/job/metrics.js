/** The metrics of a job: the last value of each, and the curve of the chosen one. */

import { get } from "../api.js";
import { Chart, rangeOf } from "../chart.js";
import { h, refill, show } from "../dom.js";
import { finite, value } from "../format.js";
import { kept, keep } from "../preferences.js";
import { isLive } from "../states.js";

const FRESH_MS = 3000;
const USUALLY_NOT = ["step", "global_step", "epoch", "iteration"];

export class Metrics {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    this.shown = "";
    /** @type {Api.JobMetric[]} */
    this.items = [];
    this.chart = new Chart({ label: "", xText: (step) => `step ${value(step)}`, yText: value });
    this.list = h("div", { class: "metric-values", role: "group", "aria-label": "Which metric" });
    this.element = h(
      "section",
      { class: "panel job-metrics", "aria-label": "Metrics", hidden: true },
      h("h2", {}, "Metrics"),
      this.list,
      this.chart.element,
    );
  }

  /** @param {Api.JobView} job */
  async refresh(job) {
    const signature = isLive(job) ? `${Math.floor(Date.now() / FRESH_MS)}` : `${job.attempts} ${job.ended_at}`;
    if (!job.attempts || signature === this.shown) return;
    this.shown = signature;
    const { items } = await get(`/jobs/${this.id}/metrics`);
    this.items = items;
    show(this.element, items.length);
    if (items.length) this.draw();
  }

  /** @param {string} metric */
  choose(metric) {
    keep("metric", metric);
    this.draw();
  }

  draw() {
    const names = this.items.map(({ metric }) => metric);
    const wanted = kept("metric");
    const first = names.find((name) => !USUALLY_NOT.includes(name)) ?? names[0];
    const chosen = wanted !== null && names.includes(wanted) ? wanted : first;
    refill(this.list, [chosen, this.items.map(({ metric, last }) => [metric, last])], () =>
      this.items.map((item) => this.button(item, item.metric === chosen)),
    );
    const item = this.items.find(({ metric }) => metric === chosen);
    if (item) this.drawCurve(item);
  }

  /** @param {Api.JobMetric} item @param {boolean} isChosen */
  button({ metric, last }, isChosen) {
    const props = { type: "button", class: "metric-value", "aria-pressed": String(isChosen) };
    return h("button", { ...props, on: { click: () => this.choose(metric) } }, metric, h("b", {}, value(last)));
  }

  /** A value that is not finite is a gap. @param {Api.JobMetric} item */
  drawCurve({ metric, points }) {
    /** @type {[number, number | null][]} */
    const drawable = points.map(([x, y]) => [x, finite(y)]);
    const levels = drawable.flatMap(([, y]) => y ?? []);
    show(this.chart.element, levels.length > 1);
    this.chart.show([{ key: metric, name: metric, colour: "share-0", points: drawable }], {
      x: rangeOf(points.map(([x]) => x)),
      y: rangeOf(levels),
    });
  }
}
