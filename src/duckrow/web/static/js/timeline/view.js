/** The timeline: what ran on which device when, so that gaps and packing can be seen. */

import { get } from "../api.js";
import { rangeOf } from "../chart.js";
import { serverNow } from "../clock.js";
import { button, h, say, show } from "../dom.js";
import { moment } from "../format.js";
import { rewrite } from "../router.js";
import { Gantt } from "./gantt.js";

/** @typedef {{id: string, title: string, seconds: number}} Span */

/** @type {Span} */
const SHORTEST = { id: "10m", title: "10 min", seconds: 600 };
const DAY = { id: "24h", title: "24 h", seconds: 24 * 3600 };
const WIDEST = { id: "7d", title: "7 d", seconds: 7 * 24 * 3600 };
const SPANS = [
  SHORTEST,
  { id: "30m", title: "30 min", seconds: 1800 },
  { id: "1h", title: "1 h", seconds: 3600 },
  { id: "3h", title: "3 h", seconds: 3 * 3600 },
  { id: "6h", title: "6 h", seconds: 6 * 3600 },
  DAY,
  WIDEST,
];

/** @param {import("../router.js").Place} place @returns {import("../router.js").View} */
export function open(place) {
  return new Timeline(place);
}

class Timeline {
  title = "Timeline";

  every_ms = 5000;

  /** @type {import("../refresh.js").Refresh | null} */
  refreshing = null;

  /** @param {import("../router.js").Place} place */
  constructor(place) {
    /** @type {Span | null} null: chosen to fit what ran */
    this.span = SPANS.find(({ id }) => id === place.query.get("span")) ?? null;
    this.back_s = 0; // how long before now it ends
    this.spans = SPANS.map((span) => button(span.title, () => this.look(span, 0), { class: "tab" }));
    this.earlier = button("← Earlier", () => this.move(0.5), {
      class: "button is-quiet",
    });
    this.later = button("Later →", () => this.move(-0.5), {
      class: "button is-quiet",
    });
    this.told = h("span", { class: "soft" });
    this.gantt = new Gantt();
    this.empty = h(
      "div",
      { class: "empty", hidden: true },
      h("h2", {}, "Nothing ran in this time"),
      h("p", {}, "Look at a longer time, or add jobs: each try at a job becomes a bar in the lane of its GPU."),
    );
    const spans = h("div", { class: "tabs", role: "group", "aria-label": "Time shown" }, this.spans);
    const head = h(
      "div",
      { class: "machine-head" },
      h("h1", {}, "Timeline"),
      this.told,
      h("span", { class: "spread" }),
      this.earlier,
      this.later,
      spans,
    );
    this.element = h("div", { class: "timeline" }, head, this.gantt.element, this.empty);
  }

  /** @param {number} share of the visible span, into the past */
  move(share) {
    const span = this.span ?? SHORTEST;
    this.look(span, Math.max(0, this.back_s + share * span.seconds));
  }

  /** @param {Span} span @param {number} back_s */
  look(span, back_s) {
    this.span = span;
    this.back_s = back_s;
    rewrite(new URLSearchParams({ span: span.id }));
    this.refreshing?.want();
  }

  /** The shortest span with everything that ran today; if nothing did, this week. */
  async fit() {
    const to = serverNow();
    for (const widest of [DAY, WIDEST]) {
      const { lanes } = await get("/timeline", { from: to - widest.seconds, to });
      const [first] = rangeOf(lanes.flatMap(({ bars }) => bars.map((bar) => bar.started_at)));
      const isAny = lanes.some(({ bars }) => bars.length);
      if (isAny) return SPANS.find(({ seconds }) => first >= to - seconds) ?? widest;
    }
    return SHORTEST;
  }

  async refresh() {
    const span = this.span ?? (await this.fit());
    this.span ??= span; // unless the user chose one meanwhile
    const to = serverNow() - this.back_s;
    const answer = await get("/timeline", { from: to - this.span.seconds, to });
    this.later.disabled = this.back_s === 0;
    this.spans.forEach((tab, index) => tab.setAttribute("aria-pressed", String(SPANS[index] === this.span)));
    const bars = answer.lanes.reduce((sum, lane) => sum + lane.bars.length, 0);
    show(this.empty, !bars);
    show(this.gantt.element, bars);
    const cut = answer.truncated ? " · only the latest bars are shown" : "";
    say(this.told, `${moment(answer.from)} – ${this.back_s ? moment(answer.to) : "now"}${cut}`);
    this.gantt.show(answer);
  }
}
