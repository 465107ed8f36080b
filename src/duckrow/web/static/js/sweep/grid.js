/** The runs as a grid of two parameters, coloured by state or by a metric. */

import { fill, h, refill, show } from "../dom.js";
import { value } from "../format.js";
import { address } from "../site.js";
import { colour, status } from "../states.js";
import { rangeOf } from "../chart.js";
import { pointText } from "./point.js";

const MOST_VALUES = 60;

export class Grid {
  constructor() {
    const draw = () => this.sweep && this.show(this.sweep, this.best);
    this.by = h(
      "select",
      { "aria-label": "Coloured by", on: { change: draw } },
      h("option", { value: "state" }, "by state"),
      h("option", { value: "metric" }, "by metric"),
    );
    this.across = h("select", { "aria-label": "Across", on: { change: draw } });
    this.down = h("select", { "aria-label": "Down", on: { change: draw } });
    this.table = h("div", { class: "grid-frame" });
    this.legend = h("p", { class: "grid-legend soft" });
    const tools = h(
      "div",
      { class: "panel-tools" },
      h("h2", {}, "Runs"),
      h("span", { class: "spread" }),
      this.by,
      this.across,
      this.down,
    );
    this.element = h("section", { class: "panel", "aria-label": "Grid of runs" }, tools, this.table, this.legend);
  }

  /** @param {any} sweep @param {import("./best.js").Best} best */
  show(sweep, best) {
    this.sweep = sweep;
    this.best = best;
    this.showAxes(sweep.varying);
    const scale = this.by.value === "metric" ? metricScale(sweep.rows, best.metric) : null;
    this.showLegend(scale, best.metric);
    const shown = [
      this.across.value,
      this.down.value,
      this.by.value,
      best.metric,
      best.run?.job,
      sweep.rows.map((row) => [row.job, status(row), scale && row.metrics?.[best.metric]]),
    ];
    refill(this.table, shown, () => this.drawn(sweep, scale));
  }

  showAxes(varying) {
    if (this.names === varying.join("\n")) return;
    this.names = varying.join("\n");
    for (const [select, first, word] of [
      [this.across, 0, "across"],
      [this.down, 1, "down"],
    ]) {
      fill(
        select,
        h("option", { value: "" }, `nothing ${word}`),
        varying.map((name) => h("option", { value: name }, `${name} ${word}`)),
      );
      select.value = varying[first] ?? "";
    }
    show(this.across, varying.length > 1);
    show(this.down, varying.length > 1);
  }

  drawn(sweep, scale) {
    const columns = valuesOf(sweep.rows, this.across.value);
    const lines = valuesOf(sweep.rows, this.down.value);
    const places = gathered(sweep.rows, this.across.value, this.down.value);
    const head = this.across.value
      ? h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}),
            columns.map((one) => h("th", { scope: "col" }, one)),
          ),
        )
      : null;
    const body = lines.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line),
        columns.map((column) => h("td", {}, this.cell(places.get(`${column}\n${line}`) ?? [], scale))),
      ),
    );
    return h("table", { class: "grid" }, head, h("tbody", {}, body));
  }

  cell(rows, scale) {
    return h(
      "span",
      { class: "grid-cell" },
      rows.map((row) => this.run(row, scale)),
    );
  }

  run(row, scale) {
    const told =
      this.best.metric && row.metrics?.[this.best.metric] !== undefined
        ? `, ${this.best.metric} ${value(row.metrics[this.best.metric])}`
        : "";
    const label = `job ${row.job}: ${pointText(row, this.sweep.varying)}, ${status(row)}${told}`;
    const isBest = row.job === this.best.run?.job;
    const link = h("a", {
      href: address(`/jobs/${row.job}`),
      class: `run ${colour(status(row))}${isBest ? " is-best" : ""}`,
      title: label,
      "aria-label": label,
    });
    if (scale) scale.paint(link, row);
    return link;
  }

  showLegend(scale, metric) {
    fill(
      this.legend,
      scale
        ? [
            `${metric}: ${value(scale.low)} `,
            h("span", { class: "scale" }),
            ` ${value(scale.high)}; hollow: not reported`,
          ]
        : null,
    );
  }
}

/** The values of a parameter in their order; of one that nobody chose, just one. */
function valuesOf(rows, name) {
  if (!name) return [""];
  const seen = [...new Set(rows.map((row) => row.parameters[name]))];
  if (seen.every((one) => typeof one === "number")) seen.sort((one, other) => one - other);
  return seen.slice(0, MOST_VALUES).map(value);
}

function gathered(rows, across, down) {
  const places = new Map();
  for (const row of rows) {
    const key = `${across ? value(row.parameters[across]) : ""}\n${down ? value(row.parameters[down]) : ""}`;
    if (!places.has(key)) places.set(key, []);
    places.get(key).push(row);
  }
  return places;
}

function metricScale(rows, metric) {
  const [low, high] = rangeOf(rows.map((row) => row.metrics?.[metric]).filter(Number.isFinite));
  const paint = (link, row) => {
    const number = row.metrics?.[metric];
    link.classList.add(Number.isFinite(number) ? "is-painted" : "is-hollow");
    if (Number.isFinite(number))
      link.style.setProperty("--level", `${Math.round(((number - low) / (high - low)) * 100)}%`);
  };
  return { low, high, paint };
}
