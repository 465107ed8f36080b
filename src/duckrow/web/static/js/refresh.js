/** Refreshes a view again and again, never twice at a time, and never in a hidden tab. */

const GAP_MS = 300;

export class Refresh {
  /** @param {() => Promise<void>} fetchAndShow @param {(error: unknown) => void} tell null: it went well */
  constructor(fetchAndShow, tell) {
    this.fetchAndShow = fetchAndShow;
    this.tell = tell;
    this.isBusy = false;
    this.isWanted = false;
    this.isClosed = false;
    this.timer = 0;
  }

  /** Ask for a refresh; several requests at once become one. */
  want() {
    if (this.isClosed || document.hidden) return;
    if (this.isBusy) {
      this.isWanted = true;
      return;
    }
    this.now();
  }

  /** @returns {Promise<void>} */
  async now() {
    this.isBusy = true;
    this.isWanted = false;
    try {
      await this.fetchAndShow();
      if (!this.isClosed) this.tell(null);
    } catch (error) {
      if (!this.isClosed) this.tell(error);
    }
    this.timer = setTimeout(() => this.rested(), GAP_MS);
  }

  rested() {
    this.isBusy = false;
    if (this.isWanted) this.want();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }
}
