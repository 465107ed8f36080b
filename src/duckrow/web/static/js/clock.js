/** The server's clock, and the texts on the page that show how long something has been running. */

import { duration } from "./format.js";
import { say } from "./dom.js";

let ahead_s = 0;

/** @param {number} now what the server's clock showed just now */
export function setClock(now) {
  ahead_s = now - Date.now() / 1000;
}

/** The time on the server, in seconds: a laptop's clock may be wrong. */
export function serverNow() {
  return Date.now() / 1000 + ahead_s;
}

/** Lets an element count from a moment on; null stops it. @param {HTMLElement} element @param {number | null} since */
export function countFrom(element, since) {
  if (since === null) {
    delete element.dataset.since;
    return;
  }
  element.dataset.since = String(since);
  say(element, duration(serverNow() - since));
}

/** Updates all counting texts each second while the page is visible. */
export function startClock() {
  setInterval(() => {
    if (document.hidden) return;
    const now = serverNow();
    for (const element of document.querySelectorAll("[data-since]"))
      if (element instanceof HTMLElement) say(element, duration(now - Number(element.dataset.since)));
  }, 1000);
}
