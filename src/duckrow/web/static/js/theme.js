/** Light, dark, or as the system has it: what the person chose, kept in this browser. */

import { keep } from "./preferences.js";

const KEY = "theme";

/** @returns {"light" | "dark"} */
export function theme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** The other one; back to the system's when that is what the system says. */
export function toggleTheme() {
  const wanted = theme() === "dark" ? "light" : "dark";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  keep(KEY, wanted === system ? null : wanted);
  document.dispatchEvent(new Event("duckrow-theme"));
}
