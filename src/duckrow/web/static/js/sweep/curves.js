/** The chosen metric over time, a line for each run. */

import { get } from "../api.js";
import { Chart, rangeOf } from "../chart.js";
import { h, say, show } from "../dom.js";
import { finite, value } from "../format.js";
import { colourOf } from "../machine/colours.js";
import { go } from "../router.js";

const MOST_LINES = 150;

export class Curves {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    this.shown = "";
    this.metric = "";
    /** @type {Api.MetricSeries[]} */
    this.series = [];
    this.chart = new Chart({
      label: "",
      xText: (step) => `step ${value(step)}`,
      yText: value,
      onChoose: (key) => go(`/jobs/${key}`),
    });
    this.title = h("h2", {}, "Curves");
    this.isLog = h("input", { type: "checkbox", on: { change: () => this.draw() } });
    this.note = h("p", { class: "soft", hidden: true });
    const tools = h(
      "div",
      { class: "panel-tools" },
      this.title,
      h("span", { class: "spread" }),
      h("label", { class: "check" }, this.isLog, " logarithmic"),
    );
    this.element = h(
      "section",
      { class: "panel sweep-curves", "aria-label": "Curves of a metric", hidden: true },
      tools,
      this.chart.element,
      this.note,
    );
  }

  /** @param {string} metric @param {Api.SweepRun[]} rows */
  async refresh(metric, rows) {
    const signature = JSON.stringify([metric, rows.map((row) => row.metrics)]);
    if (!metric || signature === this.shown) return;
    this.shown = signature;
    const { series } = await get(`/sweeps/${this.id}/metrics`, { metric, max_points: 300 });
    this.series = series.filter(({ points }) => points.some(([, one]) => finite(one) !== null));
    this.metric = metric;
    this.draw();
  }

  draw() {
    const shown = this.series
      .slice(0, MOST_LINES)
      .map((one) => this.line(one))
      .filter(({ points }) => points.some(([, y]) => y !== null));
    show(this.element, shown.length);
    say(this.title, this.metric);
    show(this.note, this.series.length > MOST_LINES);
    say(this.note, `The first ${MOST_LINES} of ${this.series.length} runs are drawn.`);
    const all = shown.flatMap(({ points }) => points.filter(([, y]) => y !== null));
    this.chart.yText = this.isLog.checked ? (level) => value(10 ** level) : value;
    this.chart.show(shown, { x: rangeOf(all.map(([x]) => x)), y: rangeOf(all.flatMap(([, y]) => y ?? [])) });
  }

  /**
   * A value that is not finite, or has no logarithm, is a gap.
   * @param {Api.MetricSeries} series
   * @returns {import("../chart.js").Series}
   */
  line({ job, name, points }) {
    const level = (/** @type {number | null} */ one) => (one !== null && this.isLog.checked ? Math.log10(one) : one);
    return {
      key: String(job),
      name: `${job} ${name}`,
      colour: colourOf(job),
      points: points.map(([x, y]) => [x, finite(level(finite(y)))]),
    };
  }
}
