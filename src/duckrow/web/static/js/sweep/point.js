/** A point of a sweep in words. */

import { value } from "../format.js";

/** @param {Api.SweepRun} row @param {string[]} names the parameters that vary */
export function pointText(row, names) {
  return names.map((name) => `${name}=${value(row.parameters[name])}`).join(" ") || row.name;
}
