/** Short messages in the corner, some with an undo button. */

import { byId, h, say } from "./dom.js";
import { inWords, noteMistake } from "./errors.js";

const SHOWN_MS = 9000;
const MOST = 4;

/**
 * @param {string} text
 * @param {(() => unknown) | null} [undo] undoes it
 * @param {"" | "is-problem"} [kind]
 */
export function toast(text, undo = null, kind = "") {
  const card = h("div", { class: `toast ${kind}`, data: { toast: "" } }, h("span", { class: "toast-text" }, text));
  const close = () => card.remove();
  if (undo)
    card.append(h("button", { type: "button", class: "button", on: { click: () => (close(), undo()) } }, "Undo"));
  card.append(h("button", { type: "button", class: "icon", "aria-label": "Close", on: { click: close } }, "×"));
  const place = byId("toasts");
  place.append(card);
  while (place.children.length > MOST) place.firstElementChild?.remove();
  setTimeout(close, kind ? SHOWN_MS * 2 : SHOWN_MS);
  return card;
}

/** One message that shows the progress of something slow. */
export class Progress {
  /** @param {(done: string) => string} text */
  constructor(text) {
    this.text = text;
    /** @type {HTMLElement | null} */
    this.card = null;
  }

  /** @param {number} done */
  tell(done) {
    if (!this.card?.isConnected) this.card = toast("");
    const told = this.card.firstElementChild;
    if (told) say(told, this.text(done.toLocaleString("en")));
  }

  close() {
    this.card?.remove();
  }
}

/** @param {unknown} error */
export function failed(error) {
  noteMistake(error);
  toast(inWords(error), null, "is-problem");
}
