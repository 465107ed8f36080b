/** The beginning: gets in, puts the shell up, opens the view of the address, and keeps it fresh. */

import { get } from "./js/api.js";
import { setClock, startClock } from "./js/clock.js";
import { button, fill, h } from "./js/dom.js";
import { News } from "./js/events.js";
import { Keyboard } from "./js/keyboard.js";
import { logIn } from "./js/login.js";
import { Refreshing } from "./js/refreshing.js";
import { Router } from "./js/router.js";
import { onSession } from "./js/session.js";
import { Shell } from "./js/shell.js";
import { learn } from "./js/site.js";
import { current } from "./js/current.js";

const main = document.getElementById("view");
await logIn(main);
const shell = new Shell(document.getElementById("top"), document.getElementById("connection"));
const keyboard = new Keyboard();
const problem = h("div", { class: "notice is-problem", role: "alert", hidden: true });

let view = null;
let opening = 0;
let timer = 0;
let scroll = 0; // where to, once the view is drawn

const status = new Refreshing(
  async () => {
    current.status = await get("/status");
    learn(current.status);
    setClock(current.status.now);
    shell.show(current.status);
    view?.statusChanged?.(current.status);
  },
  () => {},
);

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

async function load(route, place) {
  try {
    const module = await route.load();
    return await module.open(place);
  } catch (error) {
    console.error(error);
    return broken();
  }
}

function enter(next, place) {
  view = next;
  view.path = place.path;
  fill(main, problem, view.element);
  main.inert = false;
  problem.hidden = true;
  retitle();
  scrollTo(0, 0);
  scroll = place.scroll;
  keyboard.use(view.keys ?? {});
  if (document.activeElement === document.body) main.focus({ preventScroll: true }); // it was on what is gone
  view.opened?.();
  view.refreshing = new Refreshing(() => view.refresh(), tell);
  current.refresh = () => {
    view?.refreshing.want();
    status.want();
  };
  view.refreshing.want();
  if (view.every_ms) timer = setInterval(() => view.refreshing.want(), view.every_ms);
}

function leave() {
  clearInterval(timer);
  view?.refreshing.close();
  view?.close?.();
  view = null;
  keyboard.use({});
  main.inert = true; // what is still seen until the next view is there does nothing any more
}

function tell(error) {
  if (error?.status === 404 && view.missing) return giveUp();
  if (!error && scroll) scrollTo(0, scroll);
  scroll = 0;
  problem.hidden = error === null || error.status === 0;
  if (error) fill(problem, error.message, error.hint ? h("span", { class: "hint" }, ` ${error.hint}`) : null);
  if (error && error.status === undefined) console.error(error);
  if (!error) retitle();
  return undefined;
}

/** There is no such job or sweep, or not any more. */
function giveUp() {
  clearInterval(timer);
  view.refreshing.close();
  view.close?.();
  fill(main, view.missing());
}

function retitle() {
  document.title = `${view.title} · duckrow`;
}

function lost(place) {
  const element = h("div", { class: "empty" }, h("h2", {}, "There is no such page"), h("p", {}, place.path));
  return { title: "Not found", element, refresh: async () => {} };
}

function broken() {
  const again = button("Reload", () => location.reload(), { class: "button is-main" });
  const told = h("p", {}, "Is `duckrow web` still running, and the ssh tunnel open?");
  const element = h("div", { class: "empty" }, h("h2", {}, "This view could not be loaded"), told, again);
  return { title: "Not loaded", element, refresh: async () => {} };
}

const news = new News(
  (change) => {
    if (change.jobs) status.want();
    if (change.jobs || view?.showsReadings) view?.refreshing.want();
  },
  (connection) => shell.showConnection(connection),
);
new Router(open).arrive();
startClock();
news.open();
onSession(() => news.open()); // after the server was started again
