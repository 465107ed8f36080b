/** What the forms for jobs and for a sweep share: fields on one side, a preview on the other. */

import { button, fill, h, say } from "../dom.js";
import { inWords } from "../errors.js";
import { go } from "../router.js";
import { failed, toast } from "../toast.js";
import { problems } from "./drafts.js";
import { Options } from "./options.js";
import { Preview } from "./preview.js";

/**
 * @typedef {object} Draft what would be added
 * @property {string} count "" if there is nothing to add
 * @property {boolean} isBad it cannot be added
 * @property {string[]} problems of all of it
 * @property {import("../dom.js").Child[]} drafts
 *
 * @typedef {import("./options.js").OptionValues} OptionValues
 *
 * @typedef {object} Kind
 * @property {string} label
 * @property {string} nothing what to do first
 * @property {() => boolean} isEmpty nothing was filled in yet
 * @property {(options: OptionValues) => Promise<Draft>} preview
 * @property {(options: OptionValues) => Promise<[string, string]>} add does it: the message, and where to go next
 */

export class AddForm {
  /**
   * @param {Kind} kind
   * @param {HTMLTextAreaElement} text the field to type in first
   * @param {HTMLElement[]} fields
   * @param {() => void} onAdded
   */
  constructor(kind, text, fields, onAdded) {
    this.kind = kind;
    this.onAdded = onAdded;
    this.text = text;
    /** @type {Preview<Draft>} */
    this.preview = new Preview(
      () => (kind.isEmpty() ? null : kind.preview(this.options.values)),
      (draft, error) => this.show(draft, error),
    );
    this.options = new Options(() => this.preview.want());
    this.add = button("Add", () => this.submit(), { class: "button is-main", disabled: true, title: "Ctrl+Enter" });
    this.found = h("div", { class: "drafts", "aria-live": "polite" });
    const form = h(
      "section",
      { class: "panel", "aria-label": kind.label, on: { keydown: (event) => this.pressed(event) } },
      text,
      fields,
      this.options.element,
      h("div", { class: "dialog-buttons" }, this.add),
    );
    const preview = h(
      "section",
      { class: "panel", "aria-label": "Preview" },
      h("h2", {}, "What will be added"),
      this.found,
    );
    this.element = h("div", { class: "add-columns" }, form, preview);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.add.disabled) this.submit();
  }

  /** @param {Draft | null} draft @param {unknown} error */
  show(draft, error) {
    this.add.disabled = !draft?.count || draft.isBad;
    say(this.add, draft?.count ? `Add ${draft.count}` : "Add");
    if (error !== null) fill(this.found, problems([inWords(error)]));
    else if (!draft) fill(this.found, h("p", { class: "soft" }, this.kind.nothing));
    else fill(this.found, problems(draft.problems), draft.drafts);
  }

  async submit() {
    this.add.disabled = true;
    if (this.kind.isEmpty()) return; // it was cleared after the preview
    try {
      const [told, path] = await this.kind.add(this.options.values);
      this.options.remember();
      this.onAdded();
      toast(told);
      go(path);
    } catch (error) {
      failed(error);
      this.add.disabled = false;
    }
  }

  statusChanged() {
    this.options.statusChanged();
  }
}
