/** What is written to a log from now on: goes on by itself where the connection was lost, and rests unseen. */

import { Stream } from "../stream.js";

const RETRY_MS = 2000;

export class LogStream {
  /**
   * @param {string} path
   * @param {number | null} attempt
   * @param {(part: {text: string, from: number, to: number, size: number}) => void} onPart
   */
  constructor(path, attempt, onPart) {
    Object.assign(this, { path, attempt, onPart });
    this.from = null; // null: nobody wants it
    this.retry = 0;
    this.source = null;
  }

  /** @param {number} from the byte to begin at */
  begin(from) {
    this.from = from;
    this.listen();
  }

  stop() {
    this.rest();
    this.from = null;
  }

  listen() {
    this.rest();
    this.source = new Stream(
      `${this.path}/stream`,
      { attempt: this.attempt, from: this.from },
      {
        event: (kind, part) => (kind === "end" ? this.stop() : this.heard(part)), // "end": the attempt is over
        end: () => (this.retry = setTimeout(() => this.wake(), RETRY_MS)),
      },
    );
  }

  heard(part) {
    this.from = part.to;
    this.onPart(part);
  }

  /** Nobody looks: no stream. */
  rest() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  /** Somebody looks again, or the server may be back. */
  wake() {
    const isOpen = this.source !== null && !this.source.isClosed;
    if (this.from !== null && !isOpen && !document.hidden) this.listen();
  }
}
