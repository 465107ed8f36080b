/** The log of an attempt with its tools: follow, search, jump, download. */

import { button, h, say, show } from "../dom.js";
import { download } from "../download.js";
import { bytes } from "../format.js";
import { failed } from "../toast.js";
import { LogSearch } from "./log_search.js";
import { LogWindow } from "./log_window.js";

const SLIDER_FROM = 256 * 1024;
const STEPS = 1000;

export class Log {
  /** @param {number} job */
  constructor(job) {
    this.job = job;
    /** @type {number | null} */
    this.attempt = null;
    /** @type {LogWindow | null} */
    this.window = null;
    this.followButton = button("Follow", () => this.toggleFollow(), {
      "aria-pressed": "false",
      title: "Show new output as it comes (F)",
    });
    this.position = h("span", { class: "soft log-position" });
    /** @type {HTMLInputElement} */
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: STEPS,
      "aria-label": "Position in the log",
      hidden: true,
      on: { change: () => this.slide() },
    });
    this.search = new LogSearch(
      job,
      () => this.attempt,
      (hit) => this.jump(hit),
    );
    this.download = button("Download", () => download(`/jobs/${this.job}/log/download`, { attempt: this.attempt }));
    this.frame = h("div", { class: "log-frame" });
    this.empty = h("p", { class: "soft log-empty" }, "No output yet.");
    this.element = h(
      "section",
      { class: "panel log", "aria-label": "Log", hidden: true },
      this.tools(),
      this.search.results,
      this.frame,
      this.empty,
    );
  }

  tools() {
    const wrap = button("Wrap", () => this.toggleWrap(wrap), { "aria-pressed": "true", title: "Break long lines" });
    return h(
      "div",
      { class: "log-tools" },
      h("h2", {}, "Log"),
      this.search.input,
      h("span", { class: "spread" }),
      this.position,
      this.slider,
      button("Start", () => this.toStart(), { title: "To the beginning (0)" }),
      button("End", () => this.follow(), { title: "To the end (G)" }),
      this.followButton,
      wrap,
      this.download,
    );
  }

  /** @param {number} attempt the attempt to show; the same one again changes nothing */
  show(attempt) {
    if (attempt === this.attempt) return;
    this.close();
    this.attempt = attempt;
    this.window = new LogWindow(this.job, attempt, () => this.changed());
    this.frame.replaceChildren(this.window.element);
    this.follow();
  }

  follow() {
    return this.moved(this.window?.follow());
  }

  toStart() {
    return this.moved(this.window?.toStart());
  }

  toggleFollow() {
    if (!this.window?.isFollowing) {
      this.follow();
      return;
    }
    this.window.stop();
    this.changed();
  }

  /** @param {HTMLElement} wrap its button */
  toggleWrap(wrap) {
    const isWrapped = !this.element.classList.toggle("is-unwrapped");
    wrap.setAttribute("aria-pressed", String(isWrapped));
  }

  slide() {
    const share = Number(this.slider.value) / STEPS;
    return this.moved(this.window?.goTo(Math.floor(this.window.size * share)));
  }

  /** @param {{at: number}} hit */
  async jump(hit) {
    const line = await this.moved(this.window?.goTo(hit.at));
    line?.classList.add("is-hit");
  }

  /**
   * @template T
   * @param {Promise<T> | undefined} moving
   * @returns {Promise<T | undefined>}
   */
  async moved(moving) {
    try {
      return await moving;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  changed() {
    if (!this.window) return;
    const { size, to, isFollowing } = this.window;
    this.followButton.setAttribute("aria-pressed", String(isFollowing));
    say(this.position, size ? `${bytes(to)} of ${bytes(size)}` : "");
    show(this.empty, !size);
    show(this.slider, size > SLIDER_FROM);
    if (document.activeElement !== this.slider || isFollowing)
      this.slider.value = String(size ? (to / size) * STEPS : 0);
  }

  /** The tab was shown or hidden. */
  seen() {
    if (document.hidden) this.window?.stream.rest();
    else this.window?.stream.wake();
  }

  close() {
    this.window?.stop();
  }
}
