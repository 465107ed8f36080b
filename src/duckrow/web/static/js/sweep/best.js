/** The best run by a metric that the user chooses. */

import { fill, h, refill, show } from "../dom.js";
import { finite, value } from "../format.js";
import { address } from "../server.js";
import { pointText } from "./point.js";

const USUALLY_NOT = ["step", "epoch", "iteration"];
const MORE_IS_BETTER = /acc|auc|f1|score|reward|return|precision|recall|iou|dice|bleu|rouge|psnr|ssim|r2|throughput/i;

/** @typedef {{metric: string, best: string}} Choice best: low, high, or "" as the metric's name suggests */

export class Best {
  /** @param {(choice: Choice) => void} onChoose @param {Choice} choice */
  constructor(onChoose, choice) {
    this.choice = choice;
    /** @type {Api.SweepRun | null} */
    this.run = null;
    const choose = (/** @type {string} */ best) => {
      this.choice = { metric: this.metrics.value, best };
      onChoose(this.choice);
    };
    /** @type {HTMLSelectElement} */
    this.metrics = h("select", { "aria-label": "Metric", on: { change: () => choose("") } });
    /** @type {HTMLSelectElement} */
    this.ends = h(
      "select",
      { "aria-label": "Which is best", on: { change: () => choose(this.ends.value) } },
      h("option", { value: "low" }, "lowest"),
      h("option", { value: "high" }, "highest"),
    );
    this.answer = h("span", { class: "best-answer" });
    this.element = h(
      "section",
      { class: "panel best", "aria-label": "Best run", hidden: true },
      h("span", {}, "Best run by"),
      this.metrics,
      this.ends,
      this.answer,
    );
  }

  /** @returns {string} the chosen metric, or the first that is a result */
  get metric() {
    return this.metrics.value;
  }

  /** @param {Api.SweepDetails} sweep */
  show(sweep) {
    show(this.element, sweep.metrics.length);
    this.showMetrics(sweep.metrics);
    this.ends.value = this.choice.best || (MORE_IS_BETTER.test(this.metric) ? "high" : "low");
    this.run = bestOf(sweep.rows, this.metric, this.ends.value);
    fill(this.answer, this.run ? told(this.run, this.metric, sweep.varying) : "no run has reported it yet");
  }

  /** @param {string[]} metrics */
  showMetrics(metrics) {
    refill(this.metrics, metrics, () => metrics.map((metric) => h("option", { value: metric }, metric)));
    const first = metrics.find((metric) => !USUALLY_NOT.includes(metric)) ?? metrics[0] ?? "";
    this.metrics.value = metrics.includes(this.choice.metric) ? this.choice.metric : first;
  }
}

/** @param {Api.SweepRun[]} rows @param {string} metric @param {string} end @returns {Api.SweepRun | null} */
function bestOf(rows, metric, end) {
  const sign = end === "high" ? -1 : 1;
  /** @type {{row: Api.SweepRun, level: number} | null} */
  let best = null;
  for (const row of rows) {
    const number = finite(row.metrics[metric]);
    if (number !== null && (!best || sign * number < best.level)) best = { row, level: sign * number };
  }
  return best?.row ?? null;
}

/** @param {Api.SweepRun} run @param {string} metric @param {string[]} varying */
function told(run, metric, varying) {
  const link = h("a", { href: address(`/jobs/${run.job}`) }, `job ${run.job}`);
  return [h("b", {}, `${metric} ${value(run.metrics[metric])}`), " in ", link, ` ${pointText(run, varying)}`];
}
