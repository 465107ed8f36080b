/** Lines over time or steps, drawn as SVG with the colours of the style sheet. */

import { fill, h, say, svg } from "./dom.js";
import { keyed } from "./keyed_list.js";

const WIDTH = 1000;
const HEIGHT = 100;

/**
 * @typedef {object} Series
 * @property {string} key
 * @property {string} name
 * @property {string} colour a class, as in "share-3"
 * @property {[number, number | null][]} points null: a gap
 *
 * @typedef {object} Range
 * @property {[number, number]} x
 * @property {[number, number]} y
 * @property {number | null} [mark] a level to draw a line at
 * @property {number} [gap] points farther apart are not joined: nobody looked meanwhile
 */

export class Chart {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {(x: number) => string} options.xText
   * @param {(y: number) => string} options.yText
   * @param {(key: string) => void} [options.onChoose] a line was clicked
   */
  constructor({ label, xText, yText, onChoose }) {
    this.xText = xText;
    this.yText = yText;
    /** @type {Series[]} */
    this.series = [];
    /** @type {Range} */
    this.range = { x: [0, 1], y: [0, 1] };
    /** @type {Series | null} the one at the pointer */
    this.nearest = null;
    this.lines = svg("g", { class: "chart-lines" });
    this.mark = svg("line", { class: "chart-mark", x1: 0, x2: WIDTH });
    this.cursor = svg("line", { class: "chart-cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
    this.drawing = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      this.mark,
      this.lines,
      this.cursor,
    );
    const text = (/** @type {string} */ part) => h("span", { class: `chart-${part}` });
    this.top = text("top");
    this.bottom = text("bottom");
    this.left = text("left");
    this.right = text("right");
    this.tip = text("tip");
    this.tip.hidden = true;
    const head = h("figcaption", { class: "chart-title" }, label);
    const plot = h(
      "div",
      { class: "chart-plot", on: { pointermove: (event) => this.point(event), pointerleave: () => this.unpoint() } },
      this.drawing,
      this.tip,
    );
    const levels = h("div", { class: "chart-y" }, this.top, this.bottom);
    const steps = h("div", { class: "chart-x" }, this.left, this.right);
    if (onChoose) plot.addEventListener("click", () => this.nearest && onChoose(this.nearest.key));
    this.element = h("figure", { class: "chart" }, head, levels, plot, steps);
  }

  /** @param {Series[]} series @param {Range} range */
  show(series, range) {
    this.series = series;
    this.range = range;
    keyed(
      this.lines,
      series,
      (one) => one.key,
      () => svg("path", { class: "chart-line" }),
      (path, one) => this.draw(path, one),
    );
    this.drawMark();
    say(this.top, this.yText(range.y[1]));
    say(this.bottom, this.yText(range.y[0]));
    say(this.left, series.length ? this.xText(range.x[0]) : "");
    say(this.right, series.length ? this.xText(range.x[1]) : "");
  }

  /** @param {SVGPathElement} path @param {Series} series */
  draw(path, { points, colour }) {
    const gap = this.range.gap ?? Infinity;
    const steps = points.map(([x, y], index) => {
      const before = points[index - 1];
      const isApart = !before || before[1] === null || x - before[0] > gap;
      return y === null ? "" : `${isApart ? "M" : "L"}${this.xOf(x).toFixed(1)} ${this.yOf(y).toFixed(2)}`;
    });
    path.setAttribute("d", steps.join(""));
    path.setAttribute("class", `chart-line ${colour}`);
  }

  drawMark() {
    const { mark } = this.range;
    this.mark.setAttribute("visibility", mark ? "visible" : "hidden");
    if (!mark) return;
    this.mark.setAttribute("y1", String(this.yOf(mark)));
    this.mark.setAttribute("y2", String(this.yOf(mark)));
  }

  /** @param {number} x */
  xOf(x) {
    const [low, high] = this.range.x;
    return ((x - low) / (high - low || 1)) * WIDTH;
  }

  /** @param {number} y */
  yOf(y) {
    const [low, high] = this.range.y;
    return HEIGHT - ((y - low) / (high - low || 1)) * HEIGHT;
  }

  /** Shows the point nearest to the pointer. @param {MouseEvent} event */
  point(event) {
    const box = this.drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const y = ((event.clientY - box.top) / box.height) * HEIGHT;
    const found = this.nearestTo(x, y);
    if (!found) return;
    this.nearest = found.series;
    this.cursor.setAttribute("visibility", "visible");
    this.cursor.setAttribute("x1", String(this.xOf(found.point[0])));
    this.cursor.setAttribute("x2", String(this.xOf(found.point[0])));
    const name = this.series.length > 1 ? `${found.series.name}: ` : "";
    this.tip.hidden = false;
    this.tip.classList.toggle("is-left", x > WIDTH / 2);
    fill(this.tip, `${name}${this.yText(found.point[1])} · ${this.xText(found.point[0])}`);
    this.highlight(found.series.key);
  }

  /** @param {number} x @param {number} y */
  nearestTo(x, y) {
    /** @type {{far: number, series: Series, point: [number, number]} | null} */
    let best = null;
    for (const series of this.series) {
      for (const [at, level] of series.points) {
        if (level === null) continue;
        // Distance along the x axis counts more: people read a line at a moment.
        const far = Math.abs(this.xOf(at) - x) * 4 + Math.abs(this.yOf(level) - y);
        if (!best || far < best.far) best = { far, series, point: [at, level] };
      }
    }
    return best;
  }

  /** @param {string | null} key */
  highlight(key) {
    for (const path of this.lines.querySelectorAll("path"))
      path.classList.toggle("is-faint", key !== null && path.dataset.key !== key);
  }

  unpoint() {
    this.nearest = null;
    this.tip.hidden = true;
    this.cursor.setAttribute("visibility", "hidden");
    this.highlight(null);
  }
}

/** A range that holds all values. @param {number[]} values @returns {[number, number]} */
export function rangeOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : low === high ? [low - 0.5, high + 0.5] : [low, high];
}
