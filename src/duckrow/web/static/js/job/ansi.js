/** Terminal colours as spans; all other terminal commands are dropped. */

import { h } from "../dom.js";

// A colour, another control sequence, an operating system command (titles, hyperlinks), a lone escape, a control byte.
const CODES = /\x1b\[([0-9;:]*)([ -/]*[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -_]?|[\x00-\x08\x0b-\x1f\x7f]/g;
const LEVELS = [0, 95, 135, 175, 215, 255];
/**
 * @typedef {{bold: boolean, dim: boolean, italic: boolean, underline: boolean, inverse: boolean}} Marks
 * @typedef {Marks & {ink: string, ground: string}} Style a colour is a number of the palette, or in CSS
 */

/** @type {Readonly<Style>} */
const PLAIN = Object.freeze({
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
  ink: "",
  ground: "",
});

/** Turns lines into nodes, one after the other: a colour lasts until it is reset. */
export class Ansi {
  /** @param {Style | null} style that of the text before */
  constructor(style = null) {
    /** @type {Style} */
    this.style = { ...PLAIN, ...style };
  }

  /** @param {string} line @returns {(Node | string)[]} */
  nodes(line) {
    /** @type {(Node | string)[]} */
    const found = [];
    let from = 0;
    for (const code of line.matchAll(CODES)) {
      this.add(found, line.slice(from, code.index));
      from = code.index + code[0].length;
      this.take(code);
    }
    this.add(found, line.slice(from));
    return found;
  }

  /** Only keeps track of the colours of a text. @param {string} text */
  pass(text) {
    if (!text.includes("\x1b")) return;
    for (const code of text.matchAll(CODES)) this.take(code);
  }

  /** @param {RegExpExecArray} code */
  take([, numbers = "", kind]) {
    if (kind === "m") this.apply(numbers.split(/[;:]/).map(Number));
  }

  /** @param {(Node | string)[]} found @param {string} text */
  add(found, text) {
    if (text) found.push(isPlain(this.style) ? text : styled(text, this.style));
  }

  /** @param {number[]} numbers */
  apply(numbers) {
    for (let at = 0; at < numbers.length; at += 1) {
      const number = numbers[at] ?? 0;
      if (number === 38 || number === 48) {
        const [colour, used] = extended(numbers.slice(at + 1));
        this.style[number === 38 ? "ink" : "ground"] = colour;
        at += used;
      } else this.set(number);
    }
  }

  /** @param {number} number */
  set(number) {
    const style = this.style;
    if (number === 0) Object.assign(style, PLAIN);
    else if (number === 1) style.bold = true;
    else if (number === 2) style.dim = true;
    else if (number === 3) style.italic = true;
    else if (number === 4) style.underline = true;
    else if (number === 7) style.inverse = true;
    else if (number === 22) style.bold = style.dim = false;
    else if (number === 23) style.italic = false;
    else if (number === 24) style.underline = false;
    else if (number === 27) style.inverse = false;
    else if (number === 39) style.ink = "";
    else if (number === 49) style.ground = "";
    else this.setColour(number);
  }

  /** @param {number} number */
  setColour(number) {
    const tens = Math.floor(number / 10);
    const unit = number % 10;
    if (unit > 7) return;
    if (tens === 3) this.style.ink = String(unit);
    if (tens === 9) this.style.ink = String(unit + 8);
    if (tens === 4) this.style.ground = String(unit);
    if (tens === 10) this.style.ground = String(unit + 8);
  }
}

/**
 * Parses what follows 38 or 48: `5;N` or `2;R;G;B`; returns the colour, and how many numbers it used.
 * @param {number[]} numbers
 * @returns {[string, number]}
 */
function extended([kind, ...rest]) {
  if (kind === 5) return [paletteColour(rest[0] ?? 0), 2];
  if (kind === 2) return [rgb(rest.slice(0, 3)), 4];
  return ["", 1];
}

/** @param {number} number */
function paletteColour(number) {
  if (number < 16) return String(number);
  if (number >= 232) return rgb(Array(3).fill(8 + (number - 232) * 10));
  const cube = number - 16;
  return rgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((level) => LEVELS[level] ?? 0));
}

/** @param {number[]} parts */
const rgb = (parts) => `rgb(${[0, 1, 2].map((index) => Math.min(255, Math.trunc(parts[index] ?? 0) || 0)).join(" ")})`;

const KEYS = /** @type {(keyof Style)[]} */ (Object.keys(PLAIN));
/** @type {(keyof Marks)[]} */
const CLASSES = ["bold", "dim", "italic", "underline"];

const isPlain = (/** @type {Style} */ style) => KEYS.every((key) => style[key] === PLAIN[key]);

/** @param {string} text @param {Style} style */
function styled(text, style) {
  const [ink, ground] = style.inverse ? [style.ground || "0", style.ink || "7"] : [style.ink, style.ground];
  /** @type {string[]} */
  const classes = CLASSES.filter((key) => style[key]);
  const span = h("span", {}, text);
  if (/^\d+$/.test(ink)) classes.push(`ink-${ink}`);
  else if (ink) span.style.color = ink;
  if (/^\d+$/.test(ground)) classes.push(`ground-${ground}`);
  else if (ground) span.style.backgroundColor = ground;
  span.className = classes.join(" ");
  return span;
}
