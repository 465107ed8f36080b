/** A sweep: a command with placeholders, and the values of each. */

import { post } from "../api.js";
import { field, inputOf } from "../dialog.js";
import { h } from "../dom.js";
import { counted } from "../format.js";
import { AddForm } from "./form.js";
import { Parameters } from "./parameters.js";

const MODES = ["", "grid", "shuffled", "random"];
const PLACEHOLDER = /(?<!\$)\{([A-Za-z_][\w.]*)(?::[^{}]*)?\}/g;

/** @param {() => void} onAdded @returns {AddForm} */
export function sweepForm(onAdded) {
  const changed = () => form.preview.want();
  const parameters = new Parameters(changed);
  const draws = new Draws(changed);
  const typed = () => {
    parameters.suggest(placeholders(pattern.value)); // a new one gets its line
    changed();
  };
  const pattern = h("textarea", {
    rows: 3,
    placeholder: "python train.py --lr {lr} --seed {seed}",
    "aria-label": "Command with placeholders",
    spellcheck: "false",
    on: { input: typed },
  });
  /** @param {import("./options.js").OptionValues} options @returns {Api.NewSweep} */
  const body = (options) => ({
    pattern: pattern.value.trim(),
    parameters: parameters.values,
    ...draws.values,
    options,
  });
  /** @type {import("./form.js").Kind} */
  const kind = {
    label: "Sweep",
    nothing: "Type a command with {placeholders}, then the values of each.",
    isEmpty: () => !pattern.value.trim(),
    preview: async (options) => draftOf(await post("/sweeps/preview", body(options))),
    add: async (options) => {
      const { sweep, summary } = await post("/sweeps", body(options));
      return [summary, `/sweeps/${sweep}`];
    },
  };
  const form = new AddForm(kind, pattern, [parameters.element, draws.element], onAdded);
  return form;
}

/** @param {string} pattern @returns {string[]} without those of {{literal braces}} */
function placeholders(pattern) {
  const found = pattern.replace(/\{\{.*?\}\}/g, "").matchAll(PLACEHOLDER);
  return [...new Set([...found].map(([, name = ""]) => name))];
}

/** Which points of the sweep to run. */
class Draws {
  /** @param {() => void} changed */
  constructor(changed) {
    const options = MODES.map((mode) => h("option", { value: mode }, mode || "every combination, or random points"));
    this.mode = h("select", { "aria-label": "Which points", on: { change: changed } }, options);
    this.element = h(
      "div",
      { class: "options", on: { input: changed } },
      h("label", { class: "field" }, h("span", { class: "field-label" }, "Which points"), this.mode),
      field({ name: "n_samples", label: "How many", kind: "number", hint: "Empty: all." }),
      field({ name: "seed", label: "Seed", kind: "number" }),
    );
  }

  get values() {
    const number = (/** @type {string} */ name) => inputOf(this.element, name).value;
    return {
      mode: this.mode.value || null,
      n_samples: number("n_samples") ? Number(number("n_samples")) : null,
      seed: Number(number("seed") || 0),
    };
  }
}

/** @param {Api.SweepPreview} preview @returns {import("./form.js").Draft} */
function draftOf({ total, points, problems, notes }) {
  const rest = total - points.length;
  return {
    count: total ? counted(total, "run") : "",
    isBad: problems.length > 0,
    problems,
    drafts: [
      ...notes.map((note) => h("p", { class: "soft" }, note)),
      h("ol", { class: "draft-list" }, points.map(draft)),
      rest > 0 ? h("p", { class: "soft" }, `and ${counted(rest, "more run", "more runs")}`) : null,
    ],
  };
}

/** @param {Api.SweepPoint} point */
const draft = ({ name, command }) => h("li", { class: "draft" }, h("b", {}, name), h("code", {}, command));
