/** Adding: jobs, a command per line, or a sweep; with a preview of what it will become. */

import { button, fill, h } from "../dom.js";
import { rewrite } from "../router.js";
import { READ_ONLY } from "../site.js";
import { jobsForm } from "./jobs_form.js";
import { sweepForm } from "./sweep_form.js";

/** @param {import("../router.js").Place} place */
export function open(place) {
  return READ_ONLY ? closed() : new Add(place);
}

function closed() {
  const element = h(
    "div",
    { class: "empty" },
    h("h2", {}, "This page is read-only"),
    h("p", {}, "Nothing can be added here."),
  );
  return { title: "Add", element, refresh: async () => {} };
}

class Add {
  title = "Add";

  constructor(place) {
    this.forms = { jobs: jobsForm(), sweep: sweepForm() };
    this.tabs = [
      ["jobs", "Commands"],
      ["sweep", "A sweep"],
    ].map(([kind, title]) => button(title, () => this.turn(kind), { class: "tab", data: { kind } }));
    this.body = h("div", {});
    const tabs = h("div", { class: "tabs", role: "group", "aria-label": "What to add" }, this.tabs);
    this.element = h("div", { class: "add" }, h("div", { class: "machine-head" }, h("h1", {}, "Add"), tabs), this.body);
    this.turn(place.query.get("kind") === "sweep" ? "sweep" : "jobs");
  }

  turn(kind) {
    this.kind = kind;
    rewrite(new URLSearchParams(kind === "sweep" ? { kind } : {}));
    for (const tab of this.tabs) tab.setAttribute("aria-pressed", String(tab.dataset.kind === kind));
    fill(this.body, this.forms[kind].element);
    this.forms[kind].preview.want();
    this.opened();
  }

  /** One has come to type. */
  opened() {
    this.forms[this.kind].text.focus();
  }

  async refresh() {
    this.forms[this.kind].statusChanged();
  }
}
