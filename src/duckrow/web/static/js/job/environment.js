/** The variables of a job, with secrets masked; fetched when opened. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { inWords } from "../errors.js";

export class Environment {
  /** @param {number} id */
  constructor(id) {
    this.body = h("div", { class: "environment" });
    const opened = () => this.element.open && this.load(id);
    /** @type {HTMLDetailsElement} */
    this.element = h(
      "details",
      { class: "panel", on: { toggle: opened } },
      h("summary", {}, h("h2", {}, "Environment")),
      this.body,
    );
  }

  /** @param {number} id */
  async load(id) {
    try {
      const { variables } = await get(`/jobs/${id}/environment`);
      fill(this.body, variables.length ? this.table(variables) : "No variables are recorded.");
    } catch (error) {
      fill(this.body, inWords(error));
    }
  }

  /** @param {Api.EnvironmentVariable[]} variables */
  table(variables) {
    return h(
      "table",
      { class: "table" },
      h(
        "tbody",
        {},
        variables.map(({ name, value, masked }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", { class: masked ? "soft" : "", title: masked ? "Hidden: it looks like a secret" : null }, value),
          ),
        ),
      ),
    );
  }
}
