/** A point of a sweep in words. */

import { value } from "../format.js";

/** @param {any} row @param {string[]} names the parameters that vary */
export function pointText(row, names) {
  return names.map((name) => `${name}=${value(row.parameters[name])}`).join(" ") || row.name;
}
