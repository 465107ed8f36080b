/** A GPU: who uses its memory, how busy it was, other users, and its actions. */

import { serverNow } from "../clock.js";
import { Chart } from "../chart.js";
import { button, h, refill, say, show } from "../dom.js";
import { memory, shortTime } from "../format.js";
import { READ_ONLY } from "../server.js";
import { jobShares, foreignShare, MemoryBar } from "./memory_bar.js";
import { Residents } from "./gpu_users.js";

/** @typedef {"drain" | "undrain" | "remove"} GpuAction */

/** @type {Record<Api.DeviceCard["state"], string>} */
const TOLD = {
  free: "free",
  busy: "busy",
  draining: "drained",
  foreign: "used by others",
  missing: "does not answer",
  "set-aside": "set aside",
  asked: "being read",
  unattended: "no daemon",
};

/** @type {Record<GpuAction, {title: string, hint: string}>} */
const ACTIONS = {
  drain: { title: "Drain", hint: "Start nothing more on it" },
  undrain: { title: "Use again", hint: "Let jobs start on it" },
  remove: { title: "Remove…", hint: "Let duckrow stop using it" },
};

const LEAST_S = 60;
const GAP_S = 35; // hosts record a point every ten seconds, even while nobody looks; one may be late

export class GpuCard {
  /** @param {(action: GpuAction) => void} onAction */
  constructor(onAction) {
    this.onAction = onAction;
    this.name = h("h2", {});
    this.model = h("span", { class: "soft" });
    this.state = h("span", { class: "gpu-state" });
    this.figures = h("p", { class: "gpu-figures" });
    this.why = h("p", { hidden: true });
    this.bar = new MemoryBar();
    this.residents = new Residents();
    const xText = (/** @type {number} */ at) => shortTime(at);
    this.memory = new Chart({ label: "Memory", xText, yText: memory });
    this.busy = new Chart({ label: "Busy", xText, yText: (share) => `${Math.round(share)} %` });
    this.curves = h("div", { class: "curves" }, this.memory.element, this.busy.element);
    this.buttons = h("div", { class: "gpu-buttons" });
    const head = h("div", { class: "gpu-head" }, this.name, this.model, h("span", { class: "spread" }), this.state);
    this.element = h(
      "article",
      { class: "panel gpu" },
      head,
      this.why,
      this.figures,
      this.bar.element,
      this.residents.element,
      this.curves,
      this.buttons,
    );
  }

  /**
   * @param {Api.DeviceCard} gpu
   * @param {Api.DeviceCurve["points"]} points
   * @param {number} minutes
   * @param {(id: number) => string} colourOf a job
   */
  show(gpu, points, minutes, colourOf) {
    say(this.name, `GPU ${gpu.name}`);
    say(this.model, [gpu.model, ["daemon", ""].includes(gpu.host) ? "" : `of ${gpu.host}`].filter(Boolean).join(" "));
    say(this.state, TOLD[gpu.state]);
    this.state.dataset.state = gpu.state;
    show(this.why, gpu.why);
    say(this.why, gpu.why ?? "");
    refill(this.figures, figures(gpu), () =>
      figures(gpu).map(([figure, word]) => h("span", {}, h("b", {}, figure), word ? ` ${word}` : "")),
    );
    this.bar.show(gpu.total_mb, [...jobShares(gpu.jobs, colourOf), ...foreignShare(gpu)]);
    this.residents.show(gpu, colourOf);
    this.showCurves(gpu, points, minutes);
    if (!READ_ONLY) this.showButtons(gpu);
  }

  /** @param {Api.DeviceCard} gpu @param {Api.DeviceCurve["points"]} points @param {number} minutes */
  showCurves(gpu, points, minutes) {
    const now = serverNow();
    const seen = points.filter(([at]) => at >= now - minutes * 60);
    // A new curve fills the chart, except in the first minute.
    const gap = Math.max(GAP_S, minutes);
    /** @type {[number, number]} */
    const x = [Math.min(seen[0]?.[0] ?? now, now - LEAST_S), now];
    this.memory.show([{ key: "memory", name: "memory", colour: "share-0", points: pairs(seen, 1) }], {
      x,
      y: [0, gpu.total_mb ?? 1],
      gap,
      mark: gpu.reserved_mb,
    });
    this.busy.show([{ key: "busy", name: "busy", colour: "share-2", points: pairs(seen, 2) }], { x, y: [0, 100], gap });
    show(this.curves, seen.length && gpu.total_mb);
  }

  /** @param {Api.DeviceCard} gpu */
  showButtons(gpu) {
    show(this.buttons, gpu.state !== "unattended");
    /** @type {GpuAction[]} */
    const actions = gpu.state === "draining" || gpu.state === "set-aside" ? ["undrain", "remove"] : ["drain", "remove"];
    refill(this.buttons, actions, () => actions.map((action) => this.button(action)));
  }

  /** @param {GpuAction} action */
  button(action) {
    const { title, hint } = ACTIONS[action];
    return button(title, () => this.onAction(action), { class: "button is-quiet", title: hint, data: { action } });
  }
}

/** @type {(points: Api.DeviceCurve["points"], index: 1 | 2) => [number, number | null][]} */
const pairs = (points, index) =>
  points.filter((point) => point[index] !== null).map((point) => [point[0], point[index]]);

/** @param {Api.DeviceCard} gpu @returns {[string, string][]} a number, and its label */
function figures(gpu) {
  /** @type {[string, string][]} */
  const parts = [];
  if (gpu.used_mb !== null && gpu.total_mb) parts.push([`${memory(gpu.used_mb)}`, `of ${memory(gpu.total_mb)}`]);
  else if (gpu.total_mb) parts.push([memory(gpu.total_mb), "memory"]);
  if (gpu.reserved_mb) parts.push([memory(gpu.reserved_mb), "reserved"]);
  if (gpu.utilization !== null) parts.push([`${Math.round(gpu.utilization)} %`, "busy"]);
  if (gpu.temperature !== null) parts.push([`${gpu.temperature} °C`, ""]);
  return parts;
}
