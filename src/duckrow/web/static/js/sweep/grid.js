/** The runs as a grid of two parameters, coloured by state or by a metric. */

import { fill, h, refill, show } from "../dom.js";
import { finite, value } from "../format.js";
import { address } from "../server.js";
import { colour, status } from "../states.js";
import { rangeOf } from "../chart.js";
import { pointText } from "./point.js";

const MOST_VALUES = 60;

/**
 * @typedef {import("./best.js").Best} Best
 * @typedef {{low: number, high: number, paint: (link: HTMLElement, row: Api.SweepRun) => void}} Scale
 */

export class Grid {
  /** @type {() => void} draws again what was shown last */
  again = () => {};

  constructor() {
    const draw = () => this.again();
    this.names = "";
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

  /** @param {Api.SweepDetails} sweep @param {Best} best */
  show(sweep, best) {
    this.again = () => this.show(sweep, best);
    this.showAxes(sweep.varying);
    const scale = this.by.value === "metric" ? metricScale(sweep.rows, best.metric) : null;
    this.showLegend(scale, best.metric);
    const shown = [
      this.across.value,
      this.down.value,
      this.by.value,
      best.metric,
      best.run?.job,
      sweep.rows.map((row) => [row.job, status(row), scale && row.metrics[best.metric]]),
    ];
    refill(this.table, shown, () => this.drawn(sweep, best, scale));
  }

  /** @param {string[]} varying */
  showAxes(varying) {
    if (this.names === varying.join("\n")) return;
    this.names = varying.join("\n");
    showAxis(this.across, "across", varying, varying[0]);
    showAxis(this.down, "down", varying, varying[1]);
    show(this.across, varying.length > 1);
    show(this.down, varying.length > 1);
  }

  /** @param {Api.SweepDetails} sweep @param {Best} best @param {Scale | null} scale */
  drawn(sweep, best, scale) {
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
    const run = (/** @type {Api.SweepRun} */ row) => this.run(row, sweep.varying, best, scale);
    const cell = (/** @type {Api.SweepRun[]} */ rows) => h("span", { class: "grid-cell" }, rows.map(run));
    const body = lines.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line),
        columns.map((column) => h("td", {}, cell(places.get(`${column}\n${line}`) ?? []))),
      ),
    );
    return h("table", { class: "grid" }, head, h("tbody", {}, body));
  }

  /** @param {Api.SweepRun} row @param {string[]} varying @param {Best} best @param {Scale | null} scale */
  run(row, varying, best, scale) {
    const metric = row.metrics[best.metric];
    const told = best.metric && metric !== undefined ? `, ${best.metric} ${value(metric)}` : "";
    const label = `job ${row.job}: ${pointText(row, varying)}, ${status(row)}${told}`;
    const isBest = row.job === best.run?.job;
    const link = h("a", {
      href: address(`/jobs/${row.job}`),
      class: `run ${colour(status(row))}${isBest ? " is-best" : ""}`,
      title: label,
      "aria-label": label,
    });
    if (scale) scale.paint(link, row);
    return link;
  }

  /** @param {Scale | null} scale @param {string} metric */
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

/**
 * @param {HTMLSelectElement} select
 * @param {string} word
 * @param {string[]} varying
 * @param {string | undefined} chosen
 */
function showAxis(select, word, varying, chosen = "") {
  fill(
    select,
    h("option", { value: "" }, `nothing ${word}`),
    varying.map((name) => h("option", { value: name }, `${name} ${word}`)),
  );
  select.value = chosen;
}

/**
 * The values of a parameter in their order; without a chosen parameter, a single one.
 * @param {Api.SweepRun[]} rows
 * @param {string} name
 */
function valuesOf(rows, name) {
  if (!name) return [""];
  const seen = [...new Set(rows.map((row) => row.parameters[name]))];
  const numbers = seen.filter((one) => typeof one === "number");
  const inOrder = numbers.length === seen.length ? numbers.sort((one, other) => one - other) : seen;
  return inOrder.slice(0, MOST_VALUES).map(value);
}

/** @param {Api.SweepRun[]} rows @param {string} across @param {string} down */
function gathered(rows, across, down) {
  /** @type {Map<string, Api.SweepRun[]>} */
  const places = new Map();
  for (const row of rows) {
    const key = `${across ? value(row.parameters[across]) : ""}\n${down ? value(row.parameters[down]) : ""}`;
    places.set(key, [...(places.get(key) ?? []), row]);
  }
  return places;
}

/** @param {Api.SweepRun[]} rows @param {string} metric @returns {Scale} */
function metricScale(rows, metric) {
  const [low, high] = rangeOf(rows.flatMap((row) => finite(row.metrics[metric]) ?? []));
  const paint = (/** @type {HTMLElement} */ link, /** @type {Api.SweepRun} */ row) => {
    const number = finite(row.metrics[metric]);
    link.classList.add(number === null ? "is-hollow" : "is-painted");
    if (number !== null) link.style.setProperty("--level", `${Math.round(((number - low) / (high - low)) * 100)}%`);
  };
  return { low, high, paint };
}
