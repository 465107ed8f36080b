/** Adding: jobs, a command per line, or a sweep; with a preview of what it will become. */

import { button, fill, h } from "../dom.js";
import { rewrite } from "../router.js";
import { READ_ONLY } from "../site.js";
import { JobsForm } from "./jobs_form.js";
import { SweepForm } from "./sweep_form.js";

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
    this.forms = { jobs: new JobsForm(), sweep: new SweepForm() };
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
  }

  async refresh() {
    this.forms[this.kind].statusChanged();
  }
}
