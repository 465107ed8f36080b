/**
 * What is written to a log from now on: reconnects by itself, and rests while hidden.
 *
 * One window of a browser has a stream for this; the others poll each second. With a stream each, they would use up the
 * browser's six connections to a server.
 */

import { get } from "../api.js";
import { OneWindow } from "../one_window.js";
import { Stream } from "../stream.js";

const RETRY_MS = 2000;
const ASK_MS = 1000;
const PIECE = 128 * 1024;

export class LogStream {
  /**
   * @param {`/jobs/${number}/log`} path
   * @param {number | null} attempt
   * @param {(part: import("./whole_lines.js").Piece) => void} onPart
   */
  constructor(path, attempt, onPart) {
    this.path = path;
    this.attempt = attempt;
    this.onPart = onPart;
    /** @type {number | null} null: nobody wants it */
    this.from = null;
    this.retry = 0;
    /** @type {Stream | null} */
    this.source = null;
    this.lock = new OneWindow("log");
    this.visit = 0;
  }

  /** @param {number} from the byte to start at */
  begin(from) {
    this.from = from;
    this.listen();
  }

  stop() {
    this.rest();
    this.from = null;
  }

  async listen() {
    this.rest();
    const visit = ++this.visit;
    const isGranted = await this.lock.takeIfFree();
    if (visit !== this.visit) return;
    if (isGranted) this.open();
    else this.ask(visit);
  }

  open() {
    this.source = new Stream(
      `${this.path}/stream`,
      { attempt: this.attempt, from: this.from },
      {
        event: (kind, part) => (kind === "end" ? this.stop() : this.heard(part)), // "end": the attempt is over
        end: () => (this.retry = setTimeout(() => this.wake(), RETRY_MS)),
      },
    );
  }

  /** @param {number} visit */
  async ask(visit) {
    const from = this.from ?? 0;
    const piece = await get(this.path, { attempt: this.attempt, from, bytes: PIECE }).catch(() => null);
    if (visit !== this.visit) return;
    if (piece && piece.size < from)
      this.from = piece.size; // cut in the middle by --max-log
    else if (piece?.text) this.heard(piece);
    if (piece?.ended && piece.to >= piece.size) this.stop();
    else this.retry = setTimeout(() => this.wake(), piece && piece.to < piece.size ? 0 : ASK_MS);
  }

  /** @param {import("./whole_lines.js").Piece} part */
  heard(part) {
    this.from = part.to;
    this.onPart(part);
  }

  /** Hidden: close the stream. */
  rest() {
    this.visit += 1;
    clearTimeout(this.retry);
    this.lock.leave();
    this.source?.close();
    this.source = null;
  }

  /** Visible again, or the server may be back. */
  wake() {
    const isOpen = this.source !== null && !this.source.isClosed;
    if (this.from !== null && !isOpen && !document.hidden) this.listen();
  }
}
