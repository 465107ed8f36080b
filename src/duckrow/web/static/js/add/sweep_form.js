/** A sweep: a command with placeholders, and the values of each. */

import { post } from "../api.js";
import { field } from "../dialog.js";
import { button, fill, h, say } from "../dom.js";
import { counted } from "../format.js";
import { go } from "../router.js";
import { failed, toast } from "../toast.js";
import { problems } from "./drafts.js";
import { Options } from "./options.js";
import { Parameters } from "./parameters.js";
import { Preview } from "./preview.js";

export class SweepForm {
  constructor() {
    const changed = () => this.preview.want();
    this.preview = new Preview(
      () => this.ask("/sweeps/preview"),
      (answer, error) => this.show(answer, error),
    );
    this.parameters = new Parameters(changed);
    this.pattern = h("textarea", {
      rows: 3,
      placeholder: "python train.py --lr {lr} --seed {seed}",
      "aria-label": "Command with placeholders",
      spellcheck: "false",
      on: { input: () => this.typed() },
    });
    this.mode = h(
      "select",
      { "aria-label": "Which points", on: { change: changed } },
      ["", "grid", "shuffled", "random"].map((mode) =>
        h("option", { value: mode }, mode || "every combination, or drawn"),
      ),
    );
    this.draws = h(
      "div",
      { class: "options", on: { input: changed } },
      h("label", { class: "field" }, h("span", { class: "field-label" }, "Which points"), this.mode),
      field({ name: "n_samples", label: "How many", kind: "number", hint: "Empty: all." }),
      field({ name: "seed", label: "Seed", kind: "number" }),
    );
    this.options = new Options(changed);
    this.add = button("Add", () => this.submit(), { class: "button is-main", disabled: true });
    this.found = h("div", { class: "drafts", "aria-live": "polite" });
    const form = h(
      "section",
      { class: "panel", "aria-label": "Sweep" },
      this.pattern,
      this.parameters.element,
      this.draws,
      this.options.element,
      h("div", { class: "dialog-buttons" }, this.add),
    );
    this.element = h(
      "div",
      { class: "add-columns" },
      form,
      h("section", { class: "panel", "aria-label": "Preview" }, h("h2", {}, "What will be added"), this.found),
    );
  }

  /** A placeholder that was just typed gets its line. */
  typed() {
    const names = [
      ...this.pattern.value.replace(/\{\{.*?\}\}/g, "").matchAll(/(?<!\$)\{([A-Za-z_][\w.]*)(?::[^{}]*)?\}/g),
    ].map((match) => match[1]);
    this.parameters.suggest([...new Set(names)]);
    this.preview.want();
  }

  ask(path) {
    if (!this.pattern.value.trim()) return Promise.resolve(null);
    const number = (name) => this.draws.querySelector(`[name=${name}]`).value;
    return post(path, {
      pattern: this.pattern.value.trim(),
      parameters: this.parameters.values,
      mode: this.mode.value || null,
      n_samples: number("n_samples") ? Number(number("n_samples")) : null,
      seed: Number(number("seed") || 0),
      options: this.options.values,
    });
  }

  show(answer, error) {
    const total = answer?.total ?? 0;
    this.add.disabled = !total || Boolean(error) || Boolean(answer?.problems.length);
    say(this.add, total ? `Add ${counted(total, "run")}` : "Add");
    if (error) fill(this.found, problems([[error.message, error.hint].filter(Boolean).join(" ")]));
    else if (!answer)
      fill(this.found, h("p", { class: "soft" }, "Type a command with {placeholders}, then the values of each."));
    else
      fill(
        this.found,
        problems(answer.problems),
        (answer.notes ?? []).map((note) => h("p", { class: "soft" }, note)),
        points(answer),
      );
  }

  async submit() {
    this.add.disabled = true;
    try {
      const { sweep, summary } = await this.ask("/sweeps");
      this.options.remember();
      toast(summary);
      go(`/sweeps/${sweep}`);
    } catch (error) {
      failed(error);
      this.add.disabled = false;
    }
  }

  statusChanged() {
    this.options.statusChanged();
  }
}

function points({ points: list, total }) {
  const more =
    total > list.length
      ? h("p", { class: "soft" }, `and ${counted(total - list.length, "more run", "more runs")}`)
      : null;
  return [
    h(
      "ol",
      { class: "draft-list" },
      list.map((point) => h("li", { class: "draft" }, h("b", {}, point.name), h("code", {}, point.command))),
    ),
    more,
  ];
}
