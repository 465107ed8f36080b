/** The entry point: logs in, shows the shell, opens the view of the URL, and keeps it up to date. */

import { get } from "./js/api.js";
import { setClock, startClock } from "./js/clock.js";
import { button, byId, fill, h } from "./js/dom.js";
import { ApiError, noteMistake } from "./js/errors.js";
import { ChangeFeed } from "./js/change_feed.js";
import { Keyboard } from "./js/keyboard.js";
import { logIn } from "./js/login.js";
import { Refresh } from "./js/refresh.js";
import { Router } from "./js/router.js";
import { onSession } from "./js/session.js";
import { Shell } from "./js/shell.js";
import { learn } from "./js/server.js";
import { current } from "./js/page_state.js";

/** @import { Place, Route, View } from "./js/router.js" */

const main = byId("view");
await logIn(main);
const shell = new Shell(byId("top"), byId("connection"));
const keyboard = new Keyboard();
const problem = h("div", { class: "notice is-problem", role: "alert", hidden: true });

/** @type {View | null} */
let view = null;
let opening = 0;
let timer = 0;
let scroll = 0; // where to scroll once the view is drawn

const queue = new Refresh(
  async () => {
    const status = await get("/status");
    current.status = status;
    learn(status);
    setClock(status.now);
    shell.show(status);
    view?.statusChanged?.();
  },
  () => {},
);

/** @param {Route | null} route @param {Place} place */
async function open(route, place) {
  if (view?.path === place.path && view.moved) {
    view.moved(place.query);
    return;
  }
  const mine = ++opening;
  leave();
  shell.mark(route?.section ?? "");
  const next = route ? await load(route, place) : lost(place);
  if (mine === opening) enter(next, place);
}

/** @param {Route} route @param {Place} place @returns {Promise<View>} */
async function load(route, place) {
  try {
    const module = await route.load();
    return await module.open(place);
  } catch (error) {
    console.error(error);
    return broken();
  }
}

/** @param {View} next @param {Place} place */
function enter(next, place) {
  view = next;
  next.path = place.path;
  fill(main, problem, next.element);
  main.inert = false;
  problem.hidden = true;
  retitle(next);
  scrollTo(0, 0);
  scroll = place.scroll;
  keyboard.use(next.keys ?? {});
  if (document.activeElement === document.body) main.focus({ preventScroll: true }); // the focused element is gone
  next.opened?.();
  const refreshing = new Refresh(
    () => next.refresh(),
    (error) => tell(next, error),
  );
  next.refreshing = refreshing;
  current.refresh = () => {
    refreshing.want();
    queue.want();
  };
  refreshing.want();
  if (next.every_ms) timer = setInterval(() => refreshing.want(), next.every_ms);
}

function leave() {
  if (view) end(view);
  view = null;
  keyboard.use({});
  main.inert = true; // the old view stays visible until the next one is ready, but does nothing
}

/** Stops refreshing it. @param {View} old */
function end(old) {
  clearInterval(timer);
  old.refreshing?.close();
  old.close?.();
}

/** How a refresh went. @param {View} shown @param {unknown} error null: well */
function tell(shown, error) {
  const status = error instanceof ApiError ? error.status : null;
  if (status === 404 && shown.missing) {
    end(shown); // there is no such job or sweep (any more)
    fill(main, shown.missing());
    return;
  }
  if (error === null && scroll) scrollTo(0, scroll);
  scroll = 0;
  problem.hidden = error === null || status === 0; // the shell reports that
  if (error === null) {
    retitle(shown);
    return;
  }
  noteMistake(error);
  const hint = error instanceof ApiError && error.hint;
  fill(problem, error instanceof Error ? error.message : String(error));
  if (hint) problem.append(h("span", { class: "hint" }, ` ${hint}`));
}

/** @param {View} shown */
function retitle(shown) {
  document.title = `${shown.title} · duckrow`;
}

/** @param {Place} place @returns {View} */
function lost(place) {
  const element = h("div", { class: "empty" }, h("h2", {}, "There is no such page"), h("p", {}, place.path));
  return { title: "Not found", element, refresh: async () => {} };
}

/** @returns {View} */
function broken() {
  const again = button("Reload", () => location.reload(), { class: "button is-main" });
  const told = h("p", {}, "Is `duckrow web` still running, and the ssh tunnel open?");
  const element = h("div", { class: "empty" }, h("h2", {}, "This view could not be loaded"), told, again);
  return { title: "Not loaded", element, refresh: async () => {} };
}

const changeFeed = new ChangeFeed(
  (change) => {
    if (change.jobs) queue.want();
    if (change.jobs || view?.showsReadings) view?.refreshing?.want();
  },
  (connection) => shell.showConnection(connection),
);
new Router(open).arrive();
startClock();
changeFeed.open();
onSession(() => changeFeed.open()); // after the server was restarted
