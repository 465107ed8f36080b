/** Bars in lanes: a lane for each device, as many rows in it as jobs ran there at the same time. */

import { serverNow } from "../clock.js";
import { fill, h, partsOf, refill } from "../dom.js";
import { duration, moment, shortTime } from "../format.js";
import { keyed } from "../keyed_list.js";
import { address } from "../server.js";
import { OUTCOMES, attemptStatus, colour } from "../states.js";
import { State } from "../lifecycle.js";

const ROW_PX = 24;
const LEAST = 0.12; // per cent of the width: thinner bars, which nobody could see, are drawn this wide
const TICKS = 8; // at most
const DAY_S = 86400;
const STEPS_S = [60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, DAY_S];
const LEGEND = [State.RUNNING, ...OUTCOMES];

/**
 * @typedef {Api.TimelineBar & {others: number}} Shown with the number of others that it stands for
 * @typedef {Shown & {left: number, width: number, row: number}} Drawn
 * @typedef {(bar: Api.TimelineBar) => {left: number, width: number}} Placed
 */

export class Gantt {
  constructor() {
    /** @type {WeakMap<EventTarget, Drawn>} by their elements */
    this.bars = new WeakMap();
    this.lanes = h("div", { class: "lanes" });
    this.ticks = h("div", { class: "lane-ticks" });
    this.tip = h("div", { class: "gantt-tip", hidden: true });
    this.grid = h("div", { class: "lane-grid" });
    this.legend = h("ul", { class: "legend", "aria-label": "Colours" });
    const frame = h("div", { class: "lanes-frame" }, this.grid, this.lanes);
    const axis = h("div", { class: "lane is-axis" }, h("span", { class: "lane-name" }), this.ticks);
    this.element = h("div", { class: "panel gantt" }, frame, axis, this.legend, this.tip);
    this.lanes.addEventListener("pointermove", (event) => this.point(event));
    this.lanes.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  /** @param {Api.Timeline} timeline */
  show({ from, to, lanes }) {
    const x = (/** @type {number} */ at) => ((Math.min(Math.max(at, from), to) - from) / (to - from)) * 100;
    /** @type {Placed} */
    const placed = ({ started_at, ended_at }) => ({
      left: x(started_at),
      width: Math.max(LEAST, x(ended_at ?? to) - x(started_at)),
    });
    keyed(
      this.lanes,
      lanes,
      (lane) => lane.device,
      () => h("div", { class: "lane" }),
      (element, lane) => this.showLane(element, lane, placed),
    );
    const times = ticks(from, to);
    const at = (/** @type {number} */ tick, /** @type {string} */ text) => {
      const mark = h("span", {}, text);
      mark.style.left = `${x(tick)}%`;
      return mark;
    };
    fill(
      this.ticks,
      times.map((tick) => at(tick, shortTime(tick, to - from > DAY_S))),
    );
    fill(
      this.grid,
      times.map((tick) => at(tick, "")),
    );
    this.showLegend(lanes);
  }

  /** Explains the colours in use. @param {Api.TimelineLane[]} lanes */
  showLegend(lanes) {
    const there = new Set(lanes.flatMap(({ bars }) => bars.map(attemptStatus)));
    const words = LEGEND.filter((word) => there.has(word));
    refill(this.legend, words, () => words.map((word) => h("li", { class: `is-state ${colour(word)}` }, word)));
  }

  /** @param {Element} element @param {Api.TimelineLane} lane @param {Placed} placed */
  showLane(element, { device, bars }, placed) {
    const rows = stacked(visible(bars, placed));
    const drawn = rows.flatMap((row, index) => row.map((bar) => ({ ...bar, ...placed(bar), row: index })));
    const name = /^\d+$/.test(device) ? `GPU ${device}` : device;
    const parts = partsOf(element, () => ({
      name: h("span", { class: "lane-name", title: name }, name),
      bars: h("div", { class: "lane-bars" }),
    }));
    parts.bars.style.height = `${Math.max(1, rows.length) * ROW_PX}px`;
    keyed(
      parts.bars,
      drawn,
      (bar) => `${bar.job} ${bar.attempt}`,
      barElement,
      (link, bar) => this.showBar(link, bar),
    );
  }

  /** @param {HTMLElement} element @param {Drawn} bar */
  showBar(element, bar) {
    this.bars.set(element, bar);
    element.className = `bar ${colour(attemptStatus(bar))}`;
    element.setAttribute("aria-label", `Job ${bar.job} ${bar.name}: ${told(bar)}`);
    element.style.left = `${bar.left}%`;
    element.style.width = `${bar.width}%`;
    element.style.top = `${bar.row * ROW_PX + 2}px`;
  }

  /** @param {MouseEvent} event */
  point(event) {
    const bar = event.target && this.bars.get(event.target);
    this.tip.hidden = !bar;
    if (!bar) return;
    fill(this.tip, h("b", {}, `${bar.job} ${bar.name}`), ` ${told(bar)}`);
    const box = this.element.getBoundingClientRect();
    const most = box.width - this.tip.offsetWidth - 8;
    this.tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, most))}px`;
    this.tip.style.top = `${event.clientY - box.top + 16}px`;
  }
}

/** @param {Shown} bar */
function told(bar) {
  const lasted = duration((bar.ended_at ?? serverNow()) - bar.started_at);
  const again = bar.attempt > 1 ? `, attempt ${bar.attempt}` : "";
  const more = bar.others ? ` · and ${bar.others} more at this point` : "";
  return `${attemptStatus(bar)}${again} · ${lasted} · from ${moment(bar.started_at)} · ${bar.project}${more}`;
}

/** @param {Drawn} bar */
function barElement(bar) {
  return h("a", { href: address(`/jobs/${bar.job}`) }, bar.name);
}

/**
 * Of bars too thin to tell apart, only one is drawn, with the number of the others.
 * @param {Api.TimelineBar[]} bars
 * @param {Placed} placed
 * @returns {Shown[]}
 */
function visible(bars, placed) {
  const sorted = [...bars].sort((one, other) => one.started_at - other.started_at);
  /** @type {Shown[]} */
  const shown = [];
  /** @type {Shown | null} the last thin one that was drawn */
  let last = null;
  for (const bar of sorted) {
    const { left, width } = placed(bar);
    const isThin = width <= LEAST;
    if (isThin && last && left - placed(last).left < LEAST) {
      last.others += 1;
      continue;
    }
    const one = { ...bar, others: 0 };
    shown.push(one);
    if (isThin) last = one;
  }
  return shown;
}

/** Rows without overlapping bars. @param {Shown[]} bars */
function stacked(bars) {
  /** @type {Shown[][]} */
  const rows = [];
  for (const bar of bars) {
    const row = rows.find((one) => (one.at(-1)?.ended_at ?? Infinity) <= bar.started_at);
    if (row) row.push(bar);
    else rows.push([bar]);
  }
  return rows;
}

/** Round times of day between these. @param {number} from @param {number} to @returns {number[]} */
function ticks(from, to) {
  const step = STEPS_S.find((one) => (to - from) / one <= TICKS) ?? DAY_S;
  const zone_s = new Date(to * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - zone_s) / step) * step + zone_s;
  return Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, index) => first + index * step);
}
