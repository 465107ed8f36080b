/**
 * A lock that one window of this browser holds at a time. The next one gets it when it is released, or its window
 * closes. Without locks in the browser (plain HTTP from another machine), every window has its own.
 */

import { BASE } from "./server.js";

export class OneWindow {
  /** @param {string} name */
  constructor(name) {
    this.name = `duckrow.${name}${BASE}`;
    this.leave = () => {};
  }

  /** @param {() => void} granted called when it is this window's turn */
  wait(granted) {
    this.leave();
    const abort = new AbortController();
    this.request({ signal: abort.signal }, () => abort.abort(), granted);
  }

  /** @returns {Promise<boolean>} whether it was free */
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
   * @param {() => void} granted
   * @param {() => void} refused
   */
  request(options, giveUp, granted, refused = () => {}) {
    if (!navigator.locks) {
      granted();
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
        granted();
      });
    };
    navigator.locks.request(this.name, options, held).catch((error) => {
      if (!isLeft && error.name !== "AbortError") granted(); // a browser that does not allow locks for this site
    });
  }
}
