/** The GPU memory and utilisation of an attempt over time. */

import { get } from "../api.js";
import { Chart } from "../chart.js";
import { h, show } from "../dom.js";
import { duration, memory } from "../format.js";
import { isLive } from "../states.js";

const FRESH_MS = 3000;

export class Curves {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    this.shown = "";
    const xText = duration;
    this.memory = new Chart({ label: "GPU memory", xText, yText: memory });
    this.busy = new Chart({ label: "GPU busy", xText, yText: (share) => `${Math.round(share)} %` });
    this.element = h(
      "section",
      { class: "panel curves", "aria-label": "Curves", hidden: true },
      this.memory.element,
      this.busy.element,
    );
  }

  /** @param {number} attempt @param {Api.JobView} job */
  async refresh(attempt, job) {
    const signature = `${attempt} ${isLive(job) ? Math.floor(Date.now() / FRESH_MS) : job.ended_at}`;
    if (!attempt || signature === this.shown) return;
    this.shown = signature;
    const { points, reserved_mb } = await get(`/jobs/${this.id}/curve`, { attempt });
    show(this.element, points.length > 1);
    this.draw(points, reserved_mb);
  }

  /** @param {Api.MemoryCurvePoint[]} points @param {number | null} reserved */
  draw(points, reserved) {
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last) return;
    /** @type {[number, number]} */
    const x = [0, Math.max(1, last.at - first.at)];
    /** @type {(key: "memory_mb" | "utilization") => [number, number | null][]} */
    const of = (key) => points.filter((point) => point[key] !== null).map((point) => [point.at - first.at, point[key]]);
    const most = Math.max(reserved ?? 0, ...points.map((point) => point.memory_mb ?? 0));
    this.memory.show([{ key: "memory", name: "memory", colour: "share-0", points: of("memory_mb") }], {
      x,
      y: [0, most || 1],
      mark: reserved,
    });
    this.busy.show([{ key: "busy", name: "busy", colour: "share-2", points: of("utilization") }], { x, y: [0, 100] });
  }
}
