/** A sweep: a command with placeholders, and the values of each. */

import { field } from "../dialog.js";
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
    parameters.suggest(placeholders(pattern.value)); // one that was just typed gets its line
    changed();
  };
  const pattern = h("textarea", {
    rows: 3,
    placeholder: "python train.py --lr {lr} --seed {seed}",
    "aria-label": "Command with placeholders",
    spellcheck: "false",
    on: { input: typed },
  });
  const kind = {
    label: "Sweep",
    path: "/sweeps",
    nothing: "Type a command with {placeholders}, then the values of each.",
    body: () => {
      const text = pattern.value.trim();
      return text ? { pattern: text, parameters: parameters.values, ...draws.values } : null;
    },
    read,
    added: ({ sweep, summary }) => [summary, `/sweeps/${sweep}`],
  };
  const form = new AddForm(kind, pattern, [parameters.element, draws.element], onAdded);
  return form;
}

/** @param {string} pattern @returns {string[]} without those of {{literal braces}} */
function placeholders(pattern) {
  const found = pattern.replace(/\{\{.*?\}\}/g, "").matchAll(PLACEHOLDER);
  return [...new Set([...found].map((match) => match[1]))];
}

/** Which points of the sweep are taken. */
class Draws {
  constructor(changed) {
    const options = MODES.map((mode) => h("option", { value: mode }, mode || "every combination, or drawn"));
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
    const number = (name) => this.element.querySelector(`[name=${name}]`).value;
    return {
      mode: this.mode.value || null,
      n_samples: number("n_samples") ? Number(number("n_samples")) : null,
      seed: Number(number("seed") || 0),
    };
  }
}

function read({ total, points, problems, notes = [] }) {
  const rest = total - points.length;
  return {
    count: total ? counted(total, "run") : "",
    isBad: Boolean(problems.length),
    drafts: [
      ...notes.map((note) => h("p", { class: "soft" }, note)),
      h("ol", { class: "draft-list" }, points.map(draft)),
      rest > 0 ? h("p", { class: "soft" }, `and ${counted(rest, "more run", "more runs")}`) : null,
    ],
  };
}

const draft = ({ name, command }) => h("li", { class: "draft" }, h("b", {}, name), h("code", {}, command));
