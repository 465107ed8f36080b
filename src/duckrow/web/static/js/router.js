/** Which view belongs to which URL, and how to change views without reloading the page. */

import { BASE, address } from "./server.js";

/**
 * @typedef {object} Place
 * @property {string} path without the base, as in "/jobs/7"
 * @property {string[]} words what the pattern matched
 * @property {URLSearchParams} query
 * @property {number} scroll where it was left, in pixels from the top
 *
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {() => Promise<void>} refresh fetches and shows
 * @property {string} [path] set by the page: where it was opened
 * @property {import("./refresh.js").Refresh | null} [refreshing] set by the page: to ask for a refresh
 * @property {number} [every_ms] refresh this often even without changes
 * @property {boolean} [showsReadings] it shows GPU readings, not only jobs
 * @property {import("./keyboard.js").Keys} [keys] keys of this view
 * @property {(query: URLSearchParams) => void} [moved] the URL changed within the view
 * @property {() => void} [statusChanged] the status of the whole queue has changed
 * @property {() => void} [opened] it is on the page now
 * @property {() => void} [close]
 * @property {() => HTMLElement} [missing] shown instead, if it does not exist
 *
 * @typedef {object} Route
 * @property {RegExp} pattern
 * @property {string} section
 * @property {() => Promise<{open: (place: Place) => View | Promise<View>}>} load
 */

/** A view is loaded when it is first opened. @type {Route[]} */
const ROUTES = [
  { pattern: /^\/$/, section: "queue", load: () => import("./queue/view.js") },
  { pattern: /^\/machine$/, section: "machine", load: () => import("./machine/view.js") },
  { pattern: /^\/jobs\/(\d+)$/, section: "queue", load: () => import("./job/view.js") },
  { pattern: /^\/sweeps$/, section: "sweeps", load: () => import("./sweep/list_view.js") },
  { pattern: /^\/sweeps\/([^/]+)$/, section: "sweeps", load: () => import("./sweep/view.js") },
  { pattern: /^\/timeline$/, section: "timeline", load: () => import("./timeline/view.js") },
  { pattern: /^\/add$/, section: "add", load: () => import("./add/view.js") },
];

export class Router {
  /** @param {(route: Route | null, place: Place) => unknown} onMove */
  constructor(onMove) {
    this.onMove = onMove;
    history.scrollRestoration = "manual"; // the browser would scroll before the view is drawn
    addEventListener("popstate", () => this.arrive());
    addEventListener("scrollend", () => history.replaceState({ ...history.state, scroll: scrollY }, ""));
    document.addEventListener("click", (event) => this.clicked(event));
  }

  arrive() {
    const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) || "/" : location.pathname;
    const query = new URLSearchParams(location.search);
    const route = ROUTES.find(({ pattern }) => pattern.test(path)) ?? null;
    const words = (route?.pattern.exec(path) ?? []).slice(1).map(decodeURIComponent);
    this.onMove(route, { path, words, query, scroll: history.state?.scroll ?? 0 });
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const target = link?.getAttribute("href") ?? "#";
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!isPlain || event.defaultPrevented || link?.hasAttribute("download") || target.startsWith("#")) return;
    event.preventDefault();
    go(target.slice(BASE.length));
  }
}

/** @param {string} path with its query */
export function go(path) {
  history.replaceState({ ...history.state, scroll: scrollY }, "");
  history.pushState(null, "", address(path));
  dispatchEvent(new PopStateEvent("popstate"));
}

/**
 * Writes a view's own settings into the URL, so that reload, back and a copied link keep them.
 * @param {URLSearchParams} query
 */
export function rewrite(query) {
  const text = query.toString();
  history.replaceState(history.state, "", location.pathname + (text ? `?${text}` : ""));
}
