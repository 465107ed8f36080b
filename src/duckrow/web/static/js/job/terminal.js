/**
 * A log as a terminal would show it: carriage returns and moving up overwrite rows, as progress bars do, nested ones
 * too. Only the last state of a bar is kept, even if it is redrawn for days.
 */

import { Ansi } from "./ansi.js";

const REACH = 50; // rows above the last one that can still be overwritten: about a terminal's height
const LONGEST = 4000;

// A line feed, a carriage return, a cursor move (A B E F G), clearing everything below (J) or a row (K).
const MOVES = /\n|\r|\x1b\[(\d*)([ABEFGJK])/g;
const CUT = /\x1b(\[[\d;:]*)?$/; // an incomplete command

/**
 * @typedef {object} Row
 * @property {string} text with its colours; the rest of a very long line is only counted
 * @property {number} rest this many characters more
 * @property {import("./ansi.js").Style | null} style that of the text before
 * @property {boolean} isEnded a line feed ended it, so it is a line, even if empty
 * @property {boolean} isChanged since it was last drawn
 * @property {HTMLElement | null} element where it is drawn, if it is
 */

/** @returns {Row} */
const newRow = () => ({ text: "", rest: 0, style: null, isEnded: false, isChanged: false, element: null });

export class Terminal {
  /** @type {Row[]} never empty */
  rows = [newRow()];

  at = 0; // the row of the cursor

  isAtStart = true; // of its row: what is printed next replaces the row

  /** @type {Row | null} the last one that the cursor went back to */
  turn = null;

  ink = new Ansi();

  cut = "";

  /** @param {string} text what was printed */
  write(text) {
    const all = this.cut + text;
    this.cut = CUT.exec(all)?.[0] ?? "";
    const whole = all.slice(0, all.length - this.cut.length);
    let from = 0;
    for (const move of whole.matchAll(MOVES)) {
      this.print(whole.slice(from, move.index));
      from = move.index + move[0].length;
      this.move(move[2] ?? move[0], Number(move[1] || 0));
    }
    this.print(whole.slice(from));
  }

  get row() {
    return /** @type {Row} */ (this.rows[this.at]);
  }

  /** @param {string} text */
  print(text) {
    if (!text) return;
    const { row } = this;
    if (this.isAtStart) Object.assign(row, { text: "", rest: 0, style: { ...this.ink.style } });
    this.isAtStart = false;
    const room = LONGEST - row.text.length;
    row.text += text.slice(0, room);
    row.rest += Math.max(0, text.length - room);
    row.isChanged = true;
    this.ink.pass(text);
  }

  /** @param {string} how @param {number} count */
  move(how, count) {
    if (how === "\n" || how === "E") this.down(count || 1);
    else if (how === "A" || how === "F") this.up(count || 1);
    else if (how === "B") this.at = Math.min(this.rows.length - 1, this.at + (count || 1));
    else if (how === "J" && count === 0) this.clear(this.rows.slice(this.isAtStart ? this.at : this.at + 1));
    else if (how === "K" && (count === 2 || this.isAtStart)) this.clear([this.row]);
    if ("\n\rEF".includes(how) || (how === "G" && count < 2)) this.isAtStart = true;
  }

  /** @param {number} count */
  down(count) {
    for (let step = 0; step < Math.min(count, REACH); step += 1) {
      if (this.at === this.rows.length - 1) {
        this.row.isEnded = true;
        this.rows.push(newRow());
      }
      this.at += 1;
    }
  }

  /**
   * Rows above the first belong to a part of the log that was not read: they are created when written.
   * @param {number} count
   */
  up(count) {
    const steps = Math.min(count, REACH);
    while (this.at < steps) {
      this.rows.unshift(newRow());
      this.at += 1;
    }
    this.at -= steps;
    this.turn = this.row;
  }

  /** @param {Row[]} rows */
  clear(rows) {
    for (const row of rows) if (row.text) Object.assign(row, { text: "", rest: 0, isChanged: true });
  }

  /** Rows too far up can no longer change. */
  forget() {
    const count = Math.max(0, Math.min(this.at, this.rows.length - REACH));
    this.rows.splice(0, count);
    this.at -= count;
  }

  /** The rows that may still be overwritten move to a new screen; those before them stay here. */
  handOver() {
    const turn = this.rows.findIndex((row) => row === this.turn);
    const first = turn < 0 ? this.at : Math.min(turn, this.at);
    const { at, isAtStart, ink, cut } = this;
    return Object.assign(new Terminal(), {
      rows: this.rows.splice(first),
      at: at - first,
      isAtStart,
      turn: this.turn,
      ink,
      cut,
    });
  }
}
