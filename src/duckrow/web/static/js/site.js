/** What the server told about itself in the shell of the page: where it lives, who it is, what is allowed. */

const told = document.documentElement.dataset;

export const BASE = told.base ?? "";
export const VERSION = told.version ?? "";
export const USER = told.user ?? "";
export const MACHINE = told.machine ?? "";
export const READ_ONLY = "readOnly" in told;

/** @param {string} path as in "/jobs/7" @returns {string} the address behind a proxy, too */
export function address(path) {
  return BASE + path;
}
