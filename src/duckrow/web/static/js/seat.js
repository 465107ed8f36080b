/**
 * A seat that one window of this browser has at a time, and the next in line gets when it is left or its window closes.
 * Where the browser knows no locks (a page over plain HTTP from another machine), every window has a seat of its own.
 */

import { BASE } from "./site.js";

export class Seat {
  /** @param {string} name */
  constructor(name) {
    this.name = `duckrow.${name}${BASE}`;
    this.leave = () => {};
  }

  /** @param {() => void} seated called when it is this window's turn */
  wait(seated) {
    this.leave();
    const abort = new AbortController();
    this.request({ signal: abort.signal }, () => abort.abort(), seated);
  }

  /** @returns {Promise<boolean>} whether nobody had it */
  takeIfFree() {
    this.leave();
    return new Promise((resolve) =>
      this.request(
        { ifAvailable: true },
        () => {},
        () => resolve(true),
        () => resolve(false),
      ),
    );
  }

  /**
   * @param {LockOptions} options
   * @param {() => void} giveUp
   * @param {() => void} seated
   * @param {() => void} refused
   */
  request(options, giveUp, seated, refused = () => {}) {
    if (!navigator.locks) {
      seated();
      return;
    }
    let isLeft = false;
    let letGo = () => {};
    this.leave = () => {
      isLeft = true;
      giveUp();
      letGo();
    };
    const held = (/** @type {Lock | null} */ lock) => {
      if (!lock || isLeft) return refused();
      return new Promise((resolve) => {
        letGo = () => resolve(null);
        seated();
      });
    };
    navigator.locks.request(this.name, options, held).catch((error) => {
      if (!isLeft && error.name !== "AbortError") seated(); // a browser that allows this site no locks
    });
  }
}
