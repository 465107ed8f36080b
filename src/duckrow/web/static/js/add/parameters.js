/** The parameters of a sweep: a name and its values on each line. */

import { button, h } from "../dom.js";

export class Parameters {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.lines = h("div", { class: "parameters" });
    /** @type {{line: HTMLElement, nameBox: HTMLInputElement, valuesBox: HTMLInputElement}[]} */
    this.boxes = [];
    const hint = h(
      "p",
      { class: "hint" },
      "Values as after -p: 0.1 0.01 · 0..9 · 0..1..0.25. Drawn: log:1e-5..1e-1 · uniform:0..0.5 · int:1..8.",
    );
    this.element = h(
      "div",
      { on: { input: onChange } },
      this.lines,
      button("Add a parameter", () => this.line("")),
      hint,
    );
  }

  /** @param {string} name */
  line(name) {
    const click = () => {
      this.remove(line);
      this.onChange();
    };
    const nameBox = h("input", {
      type: "text",
      value: name,
      placeholder: "name",
      "aria-label": "Parameter",
      class: "parameter-name",
    });
    const valuesBox = h("input", {
      type: "text",
      placeholder: "values",
      "aria-label": name ? `Values of ${name}` : "Values",
      class: "parameter-values",
    });
    const remove = h("button", { type: "button", class: "icon", "aria-label": "Remove this parameter", on: { click } });
    remove.append("×");
    const line = h("div", { class: "parameter" }, nameBox, valuesBox, remove);
    this.boxes.push({ line, nameBox, valuesBox });
    this.lines.append(line);
  }

  /** @param {HTMLElement} line */
  remove(line) {
    line.remove();
    this.boxes = this.boxes.filter((box) => box.line !== line);
  }

  /** Shows lines for these names, and removes empty lines for other names. @param {string[]} names */
  suggest(names) {
    for (const { line, name, values } of this.rows()) if (!values && !names.includes(name)) this.remove(line);
    const there = this.rows().map(({ name }) => name);
    for (const name of names) if (!there.includes(name)) this.line(name);
  }

  rows() {
    return this.boxes.map(({ line, nameBox, valuesBox }) => ({
      line,
      name: nameBox.value.trim(),
      values: valuesBox.value.trim(),
    }));
  }

  /** @returns {Record<string, string>} */
  get values() {
    return Object.fromEntries(
      this.rows()
        .filter(({ name, values }) => name && values)
        .map(({ name, values }) => [name, values]),
    );
  }
}
