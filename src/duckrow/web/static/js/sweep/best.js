/** The best run by a metric, which the person chooses. */

import { fill, h, refill, show } from "../dom.js";
import { value } from "../format.js";
import { address } from "../site.js";
import { pointText } from "./point.js";

const USUALLY_NOT = ["step", "epoch", "iteration"];
const MORE_IS_BETTER = /acc|auc|f1|score|reward|return|precision|recall|iou|dice|bleu|rouge|psnr|ssim|r2|throughput/i;

export class Best {
  /**
   * @typedef {{metric: string, best: "low" | "high" | ""}} Choice best: "" as the metric's name suggests
   * @param {(choice: Choice) => void} onChoose
   * @param {Choice} choice
   */
  constructor(onChoose, choice) {
    this.choice = choice;
    this.run = null;
    const choose = (best) => {
      this.choice = { metric: this.metrics.value, best };
      onChoose(this.choice);
    };
    this.metrics = h("select", { "aria-label": "Metric", on: { change: () => choose("") } });
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

  /** @param {any} sweep */
  show(sweep) {
    show(this.element, sweep.metrics.length);
    this.showMetrics(sweep.metrics);
    this.ends.value = this.choice.best || (MORE_IS_BETTER.test(this.metric) ? "high" : "low");
    this.run = bestOf(sweep.rows, this.metric, this.ends.value);
    fill(this.answer, this.run ? told(this.run, this.metric, sweep.varying) : "no run has reported it yet");
  }

  showMetrics(metrics) {
    refill(this.metrics, metrics, () => metrics.map((metric) => h("option", { value: metric }, metric)));
    const first = metrics.find((metric) => !USUALLY_NOT.includes(metric)) ?? metrics[0] ?? "";
    this.metrics.value = metrics.includes(this.choice.metric) ? this.choice.metric : first;
  }
}

function bestOf(rows, metric, end) {
  const reported = rows.filter((row) => Number.isFinite(row.metrics?.[metric]));
  const sign = end === "high" ? -1 : 1;
  return reported.reduce(
    (best, row) => (!best || sign * (row.metrics[metric] - best.metrics[metric]) < 0 ? row : best),
    null,
  );
}

function told(run, metric, varying) {
  const link = h("a", { href: address(`/jobs/${run.job}`) }, `job ${run.job}`);
  return [h("b", {}, `${metric} ${value(run.metrics[metric])}`), " in ", link, ` ${pointText(run, varying)}`];
}
