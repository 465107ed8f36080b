/**
 * The change feed of the server: says when something changed, and whether the connection is up.
 *
 * A browser has only six connections to a server for all its windows. So one visible window listens and tells the
 * others; when it is closed or hidden, the next one listens. The messages are not secret: they say only that
 * something has changed, never what.
 */

import { OneWindow } from "./one_window.js";
import { askOtherTabs, onRefusal } from "./session.js";
import { BASE } from "./server.js";
import { Stream } from "./stream.js";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

/**
 * @typedef {"opening" | "live" | "lost" | "signed-out" | "resting"} Connection
 * @typedef {{jobs: boolean, devices: boolean}} Change
 */

export class ChangeFeed {
  /** @param {(change: Change) => void} onChange @param {(connection: Connection) => void} onConnection */
  constructor(onChange, onConnection) {
    this.onChange = onChange;
    this.onConnection = onConnection;
    this.wait_ms = FIRST_WAIT_MS;
    /** @type {Connection} */
    this.connection = "resting";
    /** @type {Stream | null} */
    this.stream = null;
    this.timer = 0;
    this.lock = new OneWindow("news");
    this.isListening = false; // this is the window that listens
    this.windows = new BroadcastChannel(`duckrow.news${BASE}`);
    this.windows.addEventListener("message", ({ data }) => this.told(data));
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest() : this.open()));
    addEventListener("online", () => this.open());
    addEventListener("pagehide", () => this.rest());
    onRefusal(() => this.refused());
  }

  open() {
    this.rest("opening");
    this.lock.wait(() => {
      this.isListening = true;
      this.listen();
    });
    if (!this.isListening) this.windows.postMessage("how is it?");
  }

  listen() {
    this.stream?.close();
    this.stream = new Stream(
      "/events",
      {},
      {
        open: () => this.opened(),
        event: (kind, data) => {
          if (kind === "change") this.changed(data);
        },
        end: (status) => this.lost(status),
      },
    );
  }

  /** A message from another window. @param {Connection | "how is it?" | {change: Change}} data */
  told(data) {
    if (data === "how is it?") {
      if (this.isListening) this.windows.postMessage(this.connection);
    } else if (!this.isListening && !document.hidden && this.connection !== "signed-out") {
      if (data === "live" && this.connection !== "live") this.isLive();
      else if (data === "lost") this.set("lost");
      else if (typeof data === "object" && data?.change) this.onChange(data.change);
    }
  }

  /** @param {Change} change */
  changed(change) {
    this.windows.postMessage({ change: { jobs: change.jobs, devices: change.devices } });
    this.onChange(change);
  }

  opened() {
    this.wait_ms = FIRST_WAIT_MS;
    this.windows.postMessage("live");
    this.isLive();
  }

  /** We missed what happened meanwhile, so everything is stale. */
  isLive() {
    this.set("live");
    this.onChange({ jobs: true, devices: true });
  }

  /** @param {Connection} connection */
  set(connection) {
    this.connection = connection;
    this.onConnection(connection);
  }

  /** @param {Connection} connection */
  rest(connection = "resting") {
    clearTimeout(this.timer);
    this.stream?.close();
    this.stream = null;
    this.isListening = false;
    this.lock.leave();
    this.set(connection);
  }

  /** Wait for another secret: this one will not become valid. */
  refused() {
    if (this.connection === "signed-out") return;
    this.rest("signed-out");
    askOtherTabs();
  }

  /** @param {number} status */
  lost(status) {
    if (status === 401) return this.refused();
    this.stream = null;
    this.windows.postMessage("lost");
    this.set("lost");
    this.timer = setTimeout(() => this.listen(), this.wait_ms);
    this.wait_ms = Math.min(this.wait_ms * 2, LONGEST_WAIT_MS);
    return undefined;
  }
}
