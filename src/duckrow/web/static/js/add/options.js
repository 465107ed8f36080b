/** What jobs need, as fields; filled with what was typed last time. */

import { current } from "../page_state.js";
import { field, inputOf } from "../dialog.js";
import { h } from "../dom.js";
import { keep, kept } from "../preferences.js";

/** @typedef {Record<string, string | number>} OptionValues */

/** @type {import("../dialog.js").Field[]} */
const FIELDS = [
  { name: "name", label: "Name", hint: "Empty: the script or program." },
  { name: "project", label: "Project", placeholder: "default" },
  { name: "gpus", label: "GPUs", kind: "number", hint: "Empty: as usual; 0: none." },
  { name: "gpu_mem", label: "GPU memory", hint: "For example 10G; auto: duckrow learns it." },
  { name: "priority", label: "Priority", kind: "number", hint: "Higher ones start first." },
  { name: "retries", label: "Retries", kind: "number" },
  { name: "timeout", label: "Time limit", hint: "For example 2h." },
  { name: "cwd", label: "Folder" },
];
const KEPT = ["project", "gpus", "gpu_mem", "cwd"];

export class Options {
  /** @param {() => void} onChange */
  constructor(onChange) {
    const remembered = JSON.parse(kept("add") ?? "{}");
    this.element = h(
      "div",
      { class: "options", on: { input: onChange } },
      FIELDS.map((one) => field({ ...one, value: KEPT.includes(one.name) ? remembered[one.name] : "" })),
    );
  }

  /** @returns {OptionValues} what was filled in */
  get values() {
    const filled = FIELDS.map(({ name, kind }) => ({ name, kind, text: inputOf(this.element, name).value.trim() }));
    const values = filled.map(({ name, kind, text }) => [name, kind === "number" && text ? Number(text) : text]);
    return Object.fromEntries(values.filter(([, value]) => value !== ""));
  }

  remember() {
    const { values } = this;
    keep(
      "add",
      JSON.stringify(Object.fromEntries(KEPT.filter((name) => name in values).map((name) => [name, values[name]]))),
    );
  }

  statusChanged() {
    inputOf(this.element, "cwd").placeholder = current.status?.cwd ?? "";
  }
}
