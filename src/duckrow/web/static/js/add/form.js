/** What the forms for jobs and for a sweep share: fields on one side, on the other what they will become. */

import { post } from "../api.js";
import { button, fill, h, say } from "../dom.js";
import { go } from "../router.js";
import { failed, toast } from "../toast.js";
import { problems } from "./drafts.js";
import { Options } from "./options.js";
import { Preview } from "./preview.js";

/**
 * @typedef {object} Kind
 * @property {string} label
 * @property {string} path of the interface: what is sent there adds, below it `/preview` only shows
 * @property {string} nothing what to do first
 * @property {() => any} body what was filled in; null: nothing yet
 * @property {(answer: any) => {count: string, isBad: boolean, drafts: any}} read count: "" if there is nothing to add
 * @property {(answer: any) => [string, string]} added what to tell, and where to go
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
    this.preview = new Preview(
      () => this.send(`${kind.path}/preview`),
      (answer, error) => this.show(answer, error),
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

  pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.add.disabled) this.submit();
  }

  async send(path) {
    const body = this.kind.body();
    return body && post(path, { ...body, options: this.options.values });
  }

  show(answer, error) {
    const { count, isBad, drafts } = answer ? this.kind.read(answer) : { count: "", isBad: true, drafts: null };
    this.add.disabled = !count || isBad;
    say(this.add, count ? `Add ${count}` : "Add");
    if (error) fill(this.found, problems([[error.message, error.hint].filter(Boolean).join(" ")]));
    else if (!answer) fill(this.found, h("p", { class: "soft" }, this.kind.nothing));
    else fill(this.found, problems(answer.problems), drafts);
  }

  async submit() {
    this.add.disabled = true;
    try {
      const [told, path] = this.kind.added(await this.send(this.kind.path));
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
