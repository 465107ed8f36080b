/**
 * One stream of news from the server: says when something changed, and whether the connection stands.
 *
 * A tab that nobody sees holds no stream: a browser has only six connections to a server for all its tabs.
 */

import { askOtherTabs } from "./session.js";
import { Stream } from "./stream.js";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

/**
 * @typedef {"opening" | "live" | "lost" | "signed-out" | "resting"} Connection
 * @typedef {{jobs: boolean, devices: boolean}} Change
 */

export class News {
  /** @param {(change: Change) => void} onChange @param {(connection: Connection) => void} onConnection */
  constructor(onChange, onConnection) {
    this.onChange = onChange;
    this.onConnection = onConnection;
    this.wait_ms = FIRST_WAIT_MS;
    this.stream = null;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest() : this.open()));
    addEventListener("online", () => this.open());
    addEventListener("pagehide", () => this.rest());
  }

  open() {
    this.rest("opening");
    this.stream = new Stream(
      "/events",
      {},
      {
        open: () => this.opened(),
        event: (kind, data) => kind === "change" && this.onChange(data),
        end: (status) => this.lost(status),
      },
    );
  }

  /** Whatever happened meanwhile was not told: all is stale. */
  opened() {
    this.wait_ms = FIRST_WAIT_MS;
    this.onConnection("live");
    this.onChange({ jobs: true, devices: true });
  }

  rest(connection = "resting") {
    clearTimeout(this.timer);
    this.stream?.close();
    this.stream = null;
    this.onConnection(connection);
  }

  lost(status) {
    if (status === 401) {
      this.rest("signed-out"); // until there is another secret: this one will not get better
      askOtherTabs();
      return;
    }
    this.rest("lost");
    this.timer = setTimeout(() => this.open(), this.wait_ms);
    this.wait_ms = Math.min(this.wait_ms * 2, LONGEST_WAIT_MS);
  }
}
