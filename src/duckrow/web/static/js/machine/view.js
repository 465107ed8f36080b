/** The machine: a card for each GPU, live; the CPU slots; draining, adding and removing devices. */

import { get, post } from "../api.js";
import { current } from "../page_state.js";
import { startDaemon } from "../daemon.js";
import { ask } from "../dialog.js";
import { button, fill, h, say, show } from "../dom.js";
import { counted } from "../format.js";
import { keyed } from "../keyed_list.js";
import { MACHINE, READ_ONLY } from "../server.js";
import { failed, toast } from "../toast.js";
import { coloursOn } from "./colours.js";
import { GpuCard } from "./gpu_card.js";
import { showSlot } from "./cpu_slots.js";

const LEAST_PX = 380; // a card
const GAP_PX = 14;

const FIRST_MINUTES = 10;
const SPANS = [
  { minutes: FIRST_MINUTES, title: "10 min" },
  { minutes: 60, title: "1 h" },
  { minutes: 360, title: "6 h" },
  { minutes: 1440, title: "24 h" },
];

/** @returns {import("../router.js").View} */
export function open() {
  return new Machine();
}

class Machine {
  /** @type {import("../refresh.js").Refresh | null} */
  refreshing = null;

  title = "Machine";

  every_ms = 2000;

  showsReadings = true;

  constructor() {
    this.minutes = FIRST_MINUTES;
    /** @type {WeakMap<Element, GpuCard>} by their elements */
    this.gpuCards = new WeakMap();
    this.summary = h("p", { class: "soft" });
    this.spans = SPANS.map((span) => button(span.title, () => this.look(span.minutes), { class: "tab" }));
    this.cards = h("div", { class: "gpu-cards" });
    this.resized = new ResizeObserver(() => this.layOut());
    this.resized.observe(this.cards);
    this.slots = h("ul", { class: "slots" });
    this.slotPanel = h("section", { class: "panel", hidden: true }, h("h2", {}, "CPU slots"), this.slots);
    this.empty = h("div", { class: "empty", hidden: true });
    const add = READ_ONLY ? null : button("Add devices…", () => this.add());
    const spans = h("div", { class: "tabs", role: "group", "aria-label": "Time shown" }, this.spans);
    const head = h(
      "div",
      { class: "machine-head" },
      h("div", {}, h("h1", {}, MACHINE), this.summary),
      h("span", { class: "spread" }),
      spans,
      add,
    );
    this.element = h("div", { class: "machine" }, head, this.cards, this.empty, this.slotPanel);
  }

  async refresh() {
    const [devices, history] = await Promise.all([get("/devices"), get("/devices/history", { minutes: this.minutes })]);
    this.draw(devices.items, new Map(history.items.map((item) => [item.name, item.points])));
  }

  /** @param {Api.DeviceCard[]} devices @param {Map<string, Api.DeviceCurve["points"]>} history */
  draw(devices, history) {
    const gpus = devices.filter((device) => device.kind !== "cpu");
    const slots = devices.filter((device) => device.kind === "cpu");
    const colourOf = coloursOn(gpus);
    keyed(
      this.cards,
      gpus,
      (gpu) => `${gpu.host} ${gpu.name}`,
      (gpu) => this.card(gpu),
      (element, gpu) => this.gpuCards.get(element)?.show(gpu, history.get(gpu.name) ?? [], this.minutes, colourOf),
    );
    this.layOut();
    keyed(
      this.slots,
      slots,
      (slot) => `${slot.host} ${slot.name}`,
      () => h("li", { class: "slot" }),
      showSlot,
    );
    show(this.slotPanel, slots.length);
    this.spans.forEach((span, index) =>
      span.setAttribute("aria-pressed", String(SPANS[index]?.minutes === this.minutes)),
    );
    const free = gpus.filter((gpu) => gpu.state === "free").length;
    say(this.summary, `${counted(gpus.length, "GPU")}, ${free} free · ${counted(slots.length, "CPU slot")}`);
    this.showEmpty(devices.length);
  }

  /** @param {Api.DeviceCard} gpu */
  card(gpu) {
    const card = new GpuCard((action) => this.change(gpu.name, action));
    this.gpuCards.set(card.element, card);
    return card.element;
  }

  /** Makes rows as even as possible: four cards as 2 + 2, or as 4, but not as 3 + 1. */
  layOut() {
    const count = this.cards.children.length || 1;
    const fitting = Math.max(1, Math.floor((this.cards.clientWidth + GAP_PX) / (LEAST_PX + GAP_PX)));
    const rows = Math.ceil(count / fitting);
    this.cards.style.setProperty("--columns", String(Math.ceil(count / rows)));
  }

  close() {
    this.resized.disconnect();
  }

  /** @param {number} count of devices */
  showEmpty(count) {
    show(this.empty, !count);
    if (count) return;
    const isUp = current.status?.daemon.running;
    const told = isUp
      ? "The daemon has no device. Add one, or restart it with duckrow up --devices 0,1."
      : "The daemon is not running, so nothing starts.";
    const start = isUp || READ_ONLY ? null : button("Start it", startDaemon, { class: "button is-main" });
    fill(this.empty, h("h2", {}, "No devices"), h("p", {}, told), start ?? h("pre", {}, "duckrow up"));
  }

  /** @param {number} minutes */
  look(minutes) {
    this.minutes = minutes;
    this.refreshing?.want();
  }

  /** @param {string} name @param {import("./gpu_card.js").GpuAction} action */
  async change(name, action) {
    const sure =
      action !== "remove" ||
      (await ask({
        title: `Remove GPU ${name}?`,
        text: "No more jobs start on it. Running jobs finish. You can add it again.",
        yes: "Remove",
        destroys: true,
      }));
    if (!sure) return;
    try {
      await post(`/devices/${encodeURIComponent(name)}/${action}`, {});
      const done = {
        drain: `GPU ${name} takes no more jobs.`,
        undrain: `GPU ${name} takes jobs again.`,
        remove: `GPU ${name} is removed.`,
      };
      const back = {
        drain: () => this.change(name, "undrain"),
        undrain: () => this.change(name, "drain"),
        remove: () => this.addNamed([name]).catch(failed),
      };
      toast(done[action], back[action]);
    } catch (error) {
      failed(error);
    }
    current.refresh();
  }

  async add() {
    const hint = "As for duckrow up: 2,3 or cpu4.";
    await ask({
      title: "Add devices",
      fields: [{ name: "names", label: "Devices", required: true, hint }],
      yes: "Add",
      send: ({ names = "" }) => this.addNamed(names.split(/[\s,]+/).filter(Boolean)),
    });
  }

  /** @param {string[]} names */
  async addNamed(names) {
    await post("/devices", { names });
    toast(`Added ${names.join(", ")}.`);
    current.refresh();
  }
}
