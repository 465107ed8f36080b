/** Questions that must be answered before something is done. */

import { h } from "./dom.js";

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {"text" | "number" | "area"} [kind]
 * @property {string | number | null} [value]
 * @property {string} [hint]
 * @property {boolean} [required]
 *
 * @typedef {object} Question
 * @property {string} title
 * @property {string} [text]
 * @property {string[]} [list] what it is about, a line each
 * @property {Field[]} [fields]
 * @property {string} yes the word on the button
 * @property {boolean} [destroys]
 * @property {(values: Record<string, string>) => Promise<void>} [send] does it; an error keeps the dialog open
 */

/** @param {Question} question @returns {Promise<Record<string, string> | null>} the answers, or null for "no" */
export function ask(question) {
  return new Promise((resolve) => {
    let answer = null;
    const form = h("form", { method: "dialog" });
    const dialog = h("dialog", { class: "dialog", "aria-label": question.title }, form);
    const problem = h("p", { class: "is-problem", role: "alert", hidden: true });
    form.append(...contents(question), problem, buttons(question, dialog));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = Object.fromEntries(new FormData(form));
      if (await sent(question, values, form, problem)) {
        answer = values;
        dialog.close();
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    (form.querySelector("input, textarea") ?? form.querySelector("button[type=submit]")).focus();
  });
}

async function sent(question, values, form, problem) {
  const yes = form.querySelector("button[type=submit]");
  yes.disabled = true;
  try {
    await question.send?.(values);
    return true;
  } catch (error) {
    problem.hidden = false;
    problem.textContent = [error.message, error.hint].filter(Boolean).join(" ");
    return false;
  } finally {
    yes.disabled = false;
  }
}

function contents(question) {
  const parts = [h("h2", {}, question.title)];
  if (question.text) parts.push(h("p", {}, question.text));
  if (question.list?.length)
    parts.push(
      h(
        "ul",
        { class: "dialog-list" },
        question.list.map((line) => h("li", {}, line)),
      ),
    );
  return parts.concat((question.fields ?? []).map(field));
}

/** @param {Field} one */
export function field(one) {
  const shared = {
    name: one.name,
    id: `field-${one.name}`,
    value: one.value ?? "",
    required: one.required,
    autocomplete: "off",
    spellcheck: "false",
  };
  const input =
    one.kind === "area"
      ? h("textarea", { ...shared, rows: 3 })
      : h("input", { ...shared, type: one.kind ?? "text", placeholder: one.placeholder });
  const hint = one.hint ? h("span", { class: "hint" }, one.hint) : null;
  return h(
    "label",
    { class: `field ${one.kind === "area" ? "is-wide" : ""}` },
    h("span", { class: "field-label" }, one.label),
    input,
    hint,
  );
}

function buttons(question, dialog) {
  const no = h("button", { type: "button", class: "button is-quiet", on: { click: () => dialog.close() } }, "Cancel");
  const yes = h(
    "button",
    { type: "submit", class: `button ${question.destroys ? "is-danger" : "is-main"}` },
    question.yes,
  );
  return h("div", { class: "dialog-buttons" }, no, yes);
}
