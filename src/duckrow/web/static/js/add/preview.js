/** A preview while you type: asks the server a moment after the last key, and ignores late answers. */

const TYPING_MS = 250;

/** @template T */
export class Preview {
  /**
   * @param {() => Promise<T> | null} ask null: there is nothing to ask about
   * @param {(answer: T | null, error: unknown) => void} show error: null if there was none
   */
  constructor(ask, show) {
    this.ask = ask;
    this.show = show;
    this.visit = 0;
    this.timer = 0;
  }

  want() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), TYPING_MS);
  }

  async now() {
    const visit = ++this.visit;
    /** @type {T | null} */
    let answer = null;
    /** @type {unknown} */
    let error = null;
    try {
      answer = await this.ask();
    } catch (caught) {
      error = caught;
    }
    if (visit === this.visit) this.show(answer, error);
  }
}
