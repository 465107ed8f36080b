/** Questions to answer before something is done. */

import { h } from "./dom.js";
import { inWords } from "./errors.js";

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {"text" | "number" | "area"} [kind]
 * @property {string | number | null} [value]
 * @property {string} [hint]
 * @property {string} [placeholder]
 * @property {boolean} [required]
 *
 * @typedef {object} Question
 * @property {string} title
 * @property {string} [text]
 * @property {string[]} [list] what it is about, a line each
 * @property {Field[]} [fields]
 * @property {string} yes the word on the button
 * @property {boolean} [destroys]
 * @property {(values: Record<string, string>) => Promise<unknown>} [send] does it; an error keeps the dialog open
 */

/** @param {Question} question @returns {Promise<Record<string, string> | null>} the answers, or null for "no" */
export function ask(question) {
  return new Promise((resolve) => {
    /** @type {Record<string, string> | null} */
    let answer = null;
    const form = h("form", { method: "dialog" });
    const dialog = h("dialog", { class: "dialog", "aria-label": question.title }, form);
    const problem = h("p", { class: "is-problem", role: "alert", hidden: true });
    const kind = question.destroys ? "is-danger" : "is-main";
    const yes = h("button", { type: "submit", class: `button ${kind}` }, question.yes);
    form.append(...contents(question), problem, buttons(yes, dialog));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = valuesOf(form);
      if (await sent(question, values, yes, problem)) {
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
    const first = form.querySelector("input, textarea");
    (first instanceof HTMLElement ? first : yes).focus();
  });
}

/** @param {HTMLFormElement} form @returns {Record<string, string>} none of our fields is a file */
function valuesOf(form) {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
}

/**
 * @param {Question} question
 * @param {Record<string, string>} values
 * @param {HTMLButtonElement} yes
 * @param {HTMLElement} problem where to say what went wrong
 * @returns {Promise<boolean>}
 */
async function sent(question, values, yes, problem) {
  yes.disabled = true;
  try {
    await question.send?.(values);
    return true;
  } catch (error) {
    problem.hidden = false;
    problem.textContent = inWords(error);
    return false;
  } finally {
    yes.disabled = false;
  }
}

/** @param {Question} question @returns {HTMLElement[]} */
function contents(question) {
  /** @type {HTMLElement[]} */
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

/** @param {Element} element @param {string} name @returns {HTMLInputElement} the field of this name within it */
export function inputOf(element, name) {
  const found = element.querySelector(`input[name=${name}]`);
  if (!(found instanceof HTMLInputElement)) throw new Error(`there is no field ${name}`);
  return found;
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

/** @param {HTMLButtonElement} yes @param {HTMLDialogElement} dialog */
function buttons(yes, dialog) {
  const no = h("button", { type: "button", class: "button is-quiet", on: { click: () => dialog.close() } }, "Cancel");
  return h("div", { class: "dialog-buttons" }, no, yes);
}
