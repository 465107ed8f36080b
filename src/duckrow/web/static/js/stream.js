/** Server-sent events through `fetch`: EventSource cannot send the secret of this tab. */

import { apiAddress } from "./api.js";
import { noteAnswer, secretHeader } from "./session.js";

const SILENCE_MS = 45_000; // the server says something every 15 s

/**
 * @typedef {object} Handlers
 * @property {() => void} [open]
 * @property {(kind: string, data: any) => void} event
 * @property {(status: number) => void} end it ended without being closed; 0: nobody answered
 */

export class Stream {
  /** @param {string} path @param {import("./api.js").Query} query @param {Handlers} handlers */
  constructor(path, query, handlers) {
    this.handlers = handlers;
    this.isClosed = false;
    this.abort = new AbortController();
    this.timer = 0;
    this.run(apiAddress(path, query));
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.abort.abort();
  }

  /** @param {string} where */
  async run(where) {
    let status = 0;
    try {
      /** @type {Record<string, string>} */
      const headers = { Accept: "text/event-stream", ...secretHeader() };
      /** @type {RequestInit} */
      const options = { headers, cache: "no-store", credentials: "same-origin", signal: this.abort.signal };
      this.heard();
      const answer = await fetch(where, options);
      status = answer.status;
      noteAnswer(status, headers);
      if (answer.ok && answer.body) await this.read(answer.body);
    } catch {
      // The connection is lost, which `end` reports.
    }
    if (this.isClosed) return;
    this.close();
    this.handlers.end(status);
  }

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} body */
  async read(body) {
    this.tell(() => this.handlers.open?.());
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done || this.isClosed) return;
      this.heard();
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) this.take(event);
    }
  }

  /** @param {string} event */
  take(event) {
    const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, "m").exec(event)?.[1];
    const data = field("data"); // without data: only a sign of life
    if (data !== undefined && !this.isClosed)
      this.tell(() => this.handlers.event(field("event") ?? "message", JSON.parse(data)));
  }

  /** An error in a listener does not end the stream, and is not a lost connection. @param {() => void} listener */
  tell(listener) {
    try {
      listener();
    } catch (error) {
      reportError(error);
    }
  }

  heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.abort.abort(), SILENCE_MS);
  }
}
