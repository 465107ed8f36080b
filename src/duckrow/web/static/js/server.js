/** Facts about the server: its base path from the page's shell, the rest only after login. */

export const BASE = document.documentElement.dataset.base ?? "";

export let VERSION = "";
export let USER = "";
export let MACHINE = "";
export let READ_ONLY = false;

/** @param {Api.Status} status of the server that this tab is logged in to; another one needs another page */
export function learn(status) {
  if (VERSION && (VERSION !== status.version || READ_ONLY !== status.read_only)) location.reload();
  VERSION = status.version;
  USER = status.user;
  MACHINE = status.machine;
  READ_ONLY = status.read_only;
}

/** @param {string} path as in "/jobs/7" @returns {string} the URL, also behind a proxy */
export function address(path) {
  return BASE + path;
}
