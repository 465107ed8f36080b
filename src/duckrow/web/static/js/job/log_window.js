/**
 * A window onto a log: only some blocks of lines are on the page. Scrolling fetches those before and after, so that a
 * gigabyte is as quick as a kilobyte.
 */

import { get } from "../api.js";
import { h } from "../dom.js";
import { Lines } from "./lines.js";
import { LogStream } from "./log_stream.js";
import { wholeLines } from "./whole_lines.js";

const BLOCK = 64 * 1024;
const MOST_BLOCKS = 6;
const NEAR_PX = 400;

/** @typedef {import("./whole_lines.js").Piece} Piece */

export class LogWindow {
  /** @param {number} job @param {number | null} attempt @param {() => void} onChange */
  constructor(job, attempt, onChange) {
    /** @type {`/jobs/${number}/log`} */
    this.path = `/jobs/${job}/log`;
    this.attempt = attempt;
    this.onChange = onChange;
    this.size = 0;
    this.isFollowing = false;
    this.isBusy = false;
    this.visit = 0;
    this.stream = new LogStream(this.path, attempt, (part) => this.grow(part));
    /** @type {{from: number, to: number, lines: Lines}[]} */
    this.blocks = [];
    this.element = h("div", {
      class: "log-text",
      tabindex: 0,
      role: "log",
      "aria-label": "Log",
      "aria-live": "off", // a screen reader would read out a training run all day
      on: { scroll: () => this.scrolled() },
    });
    // A narrower window wraps lines again: if you follow the log, you still see its end.
    new ResizeObserver(() => this.isFollowing && this.toEnd()).observe(this.element);
  }

  get from() {
    return this.blocks[0]?.from ?? 0;
  }

  get to() {
    return this.blocks.at(-1)?.to ?? 0;
  }

  // -- moving ------------------------------------------------------------------------------------------------------

  /** Shows the end and what is written from now on. */
  async follow() {
    await this.restart(async () => {
      this.append(await this.read(-BLOCK, BLOCK));
      this.isFollowing = true;
      this.toEnd();
      this.stream.begin(this.to);
      await this.fillScreen();
    });
  }

  /** Folded progress bars may leave too few lines to scroll: then read what comes before, too. */
  async fillScreen() {
    const { element } = this;
    while (this.from > 0 && this.blocks.length < MOST_BLOCKS && element.scrollHeight <= element.clientHeight)
      if (!(await this.more("before"))) return;
  }

  async toStart() {
    await this.restart(async () => this.append(await this.read(0, BLOCK)));
  }

  /** @param {number} byte where a line begins @returns {Promise<Element | null>} that line */
  async goTo(byte) {
    /** @type {Element | null} */
    let line = null;
    await this.restart(async () => {
      const start = Math.max(0, byte - BLOCK / 2);
      if (byte > start) this.append(await this.read(start, byte - start));
      this.append(await this.read(this.blocks.length ? this.to : byte, BLOCK));
      line = this.blocks.at(-1)?.lines.element.firstElementChild ?? null;
      line?.scrollIntoView({ block: "center" });
    });
    return line;
  }

  /** @param {() => Promise<void>} load */
  async restart(load) {
    this.stop();
    this.blocks = [];
    this.element.replaceChildren();
    await load();
    this.onChange();
  }

  stop() {
    this.visit += 1;
    this.isFollowing = false;
    this.stream.stop();
  }

  toEnd() {
    this.element.scrollTop = this.element.scrollHeight;
  }

  // -- reading -----------------------------------------------------------------------------------------------------

  /** @param {number} from @param {number} bytes @returns {Promise<Piece | null>} null: no longer wanted */
  async read(from, bytes) {
    const visit = this.visit;
    const early = from > 0 ? 1 : 0;
    const wanted = { attempt: this.attempt, from: from - early, bytes: Math.min(bytes, BLOCK * 2) + early };
    const piece = await get(this.path, wanted);
    return visit === this.visit ? wholeLines(piece, from) : null;
  }

  /** @param {Piece | null} part */
  append(part) {
    if (!part) return;
    this.size = part.size;
    if (part.to > part.from) this.element.append(this.block(part).lines.element);
  }

  /** @param {{from: number, to: number, text: string}} part */
  block(part, isFirst = false) {
    const block = { from: part.from, to: part.to, lines: new Lines() };
    block.lines.push(part.text);
    if (isFirst) this.blocks.unshift(block);
    else this.blocks.push(block);
    return block;
  }

  /** @param {Piece} part */
  grow(part) {
    let last = this.blocks.at(-1);
    if (!last || last.to - last.from > BLOCK) last = this.newTail(part);
    last.lines.push(part.text);
    last.to = part.to;
    this.size = part.size;
    this.drop("first");
    this.toEnd();
    this.onChange();
  }

  /** A new block continues the unfinished rows of the last one. @param {Piece} part */
  newTail(part) {
    const before = this.blocks.at(-1)?.lines;
    const tail = this.block({ from: part.from, to: part.from, text: "" });
    if (before) tail.lines.takeOver(before);
    this.element.append(tail.lines.element);
    return tail;
  }

  // -- scrolling ---------------------------------------------------------------------------------------------------

  async scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const below = scrollHeight - clientHeight - scrollTop;
    if (this.isFollowing && below > NEAR_PX / 4) {
      this.stop();
      this.onChange();
    }
    if (this.isBusy || this.isFollowing || !this.blocks.length) return;
    const where =
      scrollTop < NEAR_PX && this.from > 0 ? "before" : below < NEAR_PX && this.to < this.size ? "behind" : null;
    if (!where) return;
    this.isBusy = true;
    const isMore = await this.more(where).finally(() => (this.isBusy = false));
    if (isMore) requestAnimationFrame(() => this.scrolled()); // the user may have scrolled on meanwhile
  }

  /** @param {"before" | "behind"} where @returns {Promise<boolean>} whether there was more */
  async more(where) {
    const from = where === "before" ? Math.max(0, this.from - BLOCK) : this.to;
    const part = await this.read(from, where === "before" ? this.from - from : BLOCK);
    if (!part || part.to <= part.from) return false;
    if (where === "behind") this.append(part);
    else this.prepend(part);
    this.drop(where === "behind" ? "first" : "last");
    this.onChange();
    return true;
  }

  /** The visible lines stay where they are on the screen. @param {Piece} part */
  prepend(part) {
    const before = this.element.scrollHeight;
    this.element.prepend(this.block(part, true).lines.element);
    this.element.scrollTop += this.element.scrollHeight - before;
  }

  /** @param {"first" | "last"} which */
  drop(which) {
    while (this.blocks.length > MOST_BLOCKS) {
      const block = which === "first" ? this.blocks.shift() : this.blocks.pop();
      const before = this.element.scrollHeight;
      block?.lines.element.remove();
      if (which === "first" && !this.isFollowing) this.element.scrollTop -= before - this.element.scrollHeight;
    }
  }
}
