/** The frame around every view: links to the others, the state of the queue and of the connection. */

import { post } from "./api.js";
import { current } from "./page_state.js";
import { startDaemon } from "./daemon.js";
import { button, fill, h, say, show } from "./dom.js";
import { moment } from "./format.js";
import { showKeys } from "./keyboard.js";
import { MACHINE, READ_ONLY, USER, VERSION, address } from "./server.js";
import { LIVE, State } from "./lifecycle.js";
import { theme, toggleTheme } from "./theme.js";
import { failed, toast } from "./toast.js";

const SECTIONS = [
  { id: "queue", title: "Queue", path: "/" },
  { id: "machine", title: "Machine", path: "/machine" },
  { id: "timeline", title: "Timeline", path: "/timeline" },
  { id: "sweeps", title: "Sweeps", path: "/sweeps" },
];

/** @type {Partial<Record<import("./change_feed.js").Connection, () => string>>} */
const CONNECTIONS = {
  lost: () => `The connection is lost; trying again. What you see dates from ${moment(Date.now() / 1000)}.`,
  "signed-out": () =>
    `You are logged out: the server was restarted. Log in again: \`duckrow web${READ_ONLY ? " --read-only" : ""}` +
    " --url` in a terminal prints an address to open. Then reload this page.",
};

export class Shell {
  /** @param {HTMLElement} top @param {HTMLElement} connection */
  constructor(top, connection) {
    this.connection = connection;
    /** @type {HTMLElement[]} */
    this.links = SECTIONS.map((section) =>
      h("a", { href: address(section.path), class: "section", data: { section: section.id } }, section.title),
    );
    this.numbers = h("span", { class: "numbers" });
    this.paused = h("span", { class: "tag is-paused", hidden: true }, "paused");
    this.pause = h("button", {
      type: "button",
      class: "button is-quiet",
      hidden: true,
      on: { click: () => this.togglePause() },
    });
    const start = READ_ONLY ? " Type `duckrow up`." : button("Start it", startDaemon, { class: "button" });
    const none = "The daemon is not running: nothing starts. ";
    this.daemon = h("span", { class: "daemon is-problem", role: "status", hidden: true }, none, start);
    fill(
      top,
      this.brand(),
      h("nav", { class: "sections", "aria-label": "Views" }, this.links),
      h("span", { class: "spread" }),
      this.daemon,
      this.paused,
      this.numbers,
      this.pause,
      this.tools(),
    );
  }

  brand() {
    const duck = h("img", { src: address("/static/duck.svg"), alt: "", width: 22, height: 22 });
    const title = `duckrow ${VERSION}, ${USER} on ${MACHINE}`;
    return h(
      "a",
      { href: address("/"), class: "brand", title },
      duck,
      h("span", { class: "brand-name" }, "duckrow"),
      h("span", { class: "machine" }, MACHINE),
    );
  }

  tools() {
    const dark = h(
      "button",
      {
        type: "button",
        class: "icon",
        "aria-label": "Light or dark",
        title: "Light or dark",
        on: { click: () => toggleTheme() },
      },
      "◐",
    );
    const keys = h(
      "button",
      { type: "button", class: "icon", "aria-label": "Keys", title: "Keys (?)", on: { click: showKeys } },
      "?",
    );
    const add = READ_ONLY
      ? h("span", { class: "tag" }, "read-only")
      : h("a", { href: address("/add"), class: "button is-main section", data: { section: "add" } }, "Add jobs");
    if (!READ_ONLY) this.links.push(add);
    document.addEventListener("duckrow-theme", () => dark.setAttribute("aria-pressed", String(theme() === "dark")));
    return h("span", { class: "tools" }, dark, keys, add);
  }

  /** @param {string} section the one that is open */
  mark(section) {
    for (const link of this.links) {
      if (link.dataset.section === section) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** @param {Api.Status} status */
  show(status) {
    const running = LIVE.reduce((sum, state) => sum + (status.counts[state] ?? 0), 0);
    say(this.numbers, `${running} running · ${(status.counts[State.QUEUED] ?? 0).toLocaleString("en")} waiting`);
    show(this.daemon, !status.daemon.running);
    show(this.pause, !READ_ONLY);
    say(this.pause, status.paused ? "Resume" : "Pause");
    this.pause.title = status.paused ? "Let queued jobs start again" : "Start nothing more; running jobs keep running";
    const paused = status.paused_projects.join(", ");
    show(this.paused, status.paused || paused);
    say(this.paused, status.paused ? "paused" : `paused: ${paused}`);
    this.paused.title = status.paused ? "Nothing starts" : `Nothing of ${paused} starts`;
  }

  async togglePause() {
    const isPaused = current.status?.paused;
    await setPause(!isPaused, null);
  }

  /** @param {import("./change_feed.js").Connection} connection */
  showConnection(connection) {
    const text = CONNECTIONS[connection];
    document.documentElement.dataset.connection = connection;
    if (connection === "opening" || connection === "resting") return;
    if (text && (this.connection.hidden || connection === "signed-out")) say(this.connection, text());
    show(this.connection, Boolean(text));
  }
}

/**
 * Pauses or resumes everything or one project, and offers to undo it.
 * @param {boolean} isPaused
 * @param {string | null} project
 */
export async function setPause(isPaused, project) {
  try {
    await post(isPaused ? "/queue/pause" : "/queue/resume", project === null ? {} : { project });
    const whose = project === null ? "The queue" : `Project ${project}`;
    toast(isPaused ? `${whose} is paused: nothing more starts.` : `${whose} continues.`, () =>
      setPause(!isPaused, project),
    );
  } catch (error) {
    failed(error);
  }
  current.refresh();
}
