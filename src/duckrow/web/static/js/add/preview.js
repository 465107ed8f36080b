/** A preview that follows the typing: asks the server a moment after the last key, and forgets late answers. */

const TYPING_MS = 250;

export class Preview {
  /**
   * @param {() => Promise<any> | null} ask null: there is nothing to ask about
   * @param {(answer: any, error: Error | null) => void} show
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
    let [answer, error] = [null, null];
    try {
      answer = await this.ask();
    } catch (caught) {
      error = caught;
    }
    if (visit === this.visit) this.show(answer, error);
  }
}
