/** Jobs from text: a command per line, or GPUPeasy's NAME;;OUTFILE;;COMMAND;;; */

import { post } from "../api.js";
import { button, fill, h, say } from "../dom.js";
import { counted } from "../format.js";
import { go } from "../router.js";
import { failed, toast } from "../toast.js";
import { Options } from "./options.js";
import { Preview } from "./preview.js";
import { drafts, problems } from "./drafts.js";

const EXAMPLE = "python train.py --lr 0.1\npython train.py --lr 0.01";

export class JobsForm {
  constructor() {
    this.preview = new Preview(
      () => this.ask("/jobs/preview"),
      (answer, error) => this.show(answer, error),
    );
    this.text = h("textarea", {
      rows: 9,
      placeholder: EXAMPLE,
      "aria-label": "Commands",
      spellcheck: "false",
      on: { input: () => this.preview.want() },
    });
    this.options = new Options(() => this.preview.want());
    this.add = button("Add", () => this.submit(), { class: "button is-main", disabled: true });
    this.found = h("div", { class: "drafts", "aria-live": "polite" });
    const hint = h(
      "p",
      { class: "hint" },
      "A command per line, as in a shell. Or GPUPeasy's blocks: NAME;;OUTFILE;;COMMAND;;;",
    );
    const form = h(
      "section",
      { class: "panel", "aria-label": "Commands" },
      this.text,
      hint,
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

  ask(path) {
    if (!this.text.value.trim()) return Promise.resolve(null);
    return post(path, { text: this.text.value, options: this.options.values });
  }

  show(answer, error) {
    const count = answer?.jobs.length ?? 0;
    const isBad =
      Boolean(error) || Boolean(answer?.problems.length) || Boolean(answer?.jobs.some((job) => job.problems.length));
    this.add.disabled = !count || isBad;
    say(this.add, count ? `Add ${counted(count, "job")}` : "Add");
    if (error) fill(this.found, problems([[error.message, error.hint].filter(Boolean).join(" ")]));
    else if (!answer)
      fill(
        this.found,
        h("p", { class: "soft" }, "Type a command, and see how it is understood before anything is added."),
      );
    else fill(this.found, problems(answer.problems), drafts(answer.jobs));
  }

  async submit() {
    this.add.disabled = true;
    try {
      const { ids } = await this.ask("/jobs");
      this.options.remember();
      toast(
        ids.length === 1 ? `Added job ${ids[0]}.` : `Added ${counted(ids.length, "job")}: ${ids[0]}–${ids.at(-1)}.`,
      );
      go("/");
    } catch (error) {
      failed(error);
      this.add.disabled = false;
    }
  }

  statusChanged() {
    this.options.statusChanged();
  }
}
