/** Adding jobs, one command per line, or a sweep; with a preview. */

import { button, fill, h } from "../dom.js";
import { rewrite } from "../router.js";
import { READ_ONLY } from "../server.js";
import { jobsForm } from "./jobs_form.js";
import { sweepForm } from "./sweep_form.js";

/** @type {Add | null} what was typed, for when the user comes back; until it is added, or the page is reloaded */
let draft = null;

/** @param {import("../router.js").Place} place @returns {import("../router.js").View} */
export function open(place) {
  if (READ_ONLY) return closed();
  draft ??= new Add();
  draft.turn(place.query.get("kind") === "sweep" ? "sweep" : draft.kind);
  return draft;
}

/** @returns {import("../router.js").View} */
function closed() {
  const element = h(
    "div",
    { class: "empty" },
    h("h2", {}, "This page is read-only"),
    h("p", {}, "Nothing can be added here."),
  );
  return { title: "Add", element, refresh: async () => {} };
}

/** @typedef {"jobs" | "sweep"} Kind */

class Add {
  title = "Add";

  /** @type {Kind} */
  kind = "jobs";

  constructor() {
    const added = () => (draft = null);
    this.forms = { jobs: jobsForm(added), sweep: sweepForm(added) };
    const tab = (/** @type {Kind} */ kind, /** @type {string} */ title) =>
      button(title, () => this.turn(kind), { class: "tab", data: { kind } });
    this.tabs = [tab("jobs", "Commands"), tab("sweep", "A sweep")];
    this.body = h("div", {});
    const tabs = h("div", { class: "tabs", role: "group", "aria-label": "What to add" }, this.tabs);
    this.element = h("div", { class: "add" }, h("div", { class: "machine-head" }, h("h1", {}, "Add"), tabs), this.body);
  }

  /** @param {Kind} kind */
  turn(kind) {
    this.kind = kind;
    rewrite(new URLSearchParams(kind === "sweep" ? { kind } : {}));
    for (const tab of this.tabs) tab.setAttribute("aria-pressed", String(tab.dataset.kind === kind));
    fill(this.body, this.forms[kind].element);
    this.forms[kind].preview.want();
    this.opened();
  }

  /** The user has come to type. */
  opened() {
    this.forms[this.kind].text.focus();
  }

  /** @returns {Promise<void>} */
  refresh() {
    this.forms[this.kind].statusChanged();
    return Promise.resolve();
  }
}
