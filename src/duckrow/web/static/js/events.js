/**
 * One stream of news from the server: says when something changed, and whether the connection stands.
 *
 * A tab that nobody sees holds no stream: a browser has only six connections to a server for all its tabs.
 */

import { apiAddress, get } from "./api.js";

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
    const stream = new EventSource(apiAddress("/events"));
    this.stream = stream;
    stream.addEventListener("open", () => this.opened());
    stream.addEventListener("change", (event) => this.onChange(JSON.parse(event.data)));
    stream.addEventListener("error", () => this.lost());
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

  /** The browser's own retry gives up at the first answer that is not 200, so we do it. */
  async lost() {
    this.rest("lost");
    this.timer = setTimeout(() => this.open(), this.wait_ms);
    this.wait_ms = Math.min(this.wait_ms * 2, LONGEST_WAIT_MS);
    if (await isSignedOut()) {
      clearTimeout(this.timer);
      this.onConnection("signed-out");
    }
  }
}

async function isSignedOut() {
  try {
    await get("/status");
    return false;
  } catch (error) {
    return error.status === 401;
  }
}
