/** Light, dark, or the system's theme: the user's choice, stored in this browser. */

import { keep } from "./preferences.js";

const KEY = "theme";

/** @returns {"light" | "dark"} */
export function theme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** Switches to the other theme; if that is the system's, follow the system again. */
export function toggleTheme() {
  const wanted = theme() === "dark" ? "light" : "dark";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  keep(KEY, wanted === system ? null : wanted);
  document.dispatchEvent(new Event("duckrow-theme"));
}
