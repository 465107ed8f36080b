/** One job: everything about it, why it waits, its attempts, its log, its curves. */

import { get } from "../api.js";
import { h, refill, say, show } from "../dom.js";
import { fullName } from "../format.js";
import { showState } from "../queue/columns.js";
import { READ_ONLY, address } from "../server.js";
import { isLive, isWaiting } from "../states.js";
import { noSuch } from "../not_found.js";
import { Attempts } from "./attempts.js";
import { actionButtons } from "./buttons.js";
import { Curves } from "./curves.js";
import { Environment } from "./environment.js";
import { showError } from "./error.js";
import { showFacts } from "./facts.js";
import { Log } from "./log.js";
import { Metrics } from "./metrics.js";
import { showStory } from "./history.js";
import { showWhy } from "./why.js";

const LOOK_MS = 3000;

/** @param {import("../router.js").Place} place @returns {import("../router.js").View} */
export function open(place) {
  return new JobPage(Number(place.words[0]));
}

class JobPage {
  showsReadings = true; // its curves, and why it waits

  /** @type {import("../refresh.js").Refresh | null} */
  refreshing = null;

  /** @param {number} id */
  constructor(id) {
    this.id = id;
    /** @type {Api.JobDetails | null} until the first answer */
    this.job = null;
    this.title = `Job ${id}`;
    this.name = h("h1", {}, `Job ${id}`);
    this.state = h("span", {});
    this.origin = h("p", { class: "soft origin" });
    this.buttons = h("div", { class: "job-buttons" });
    this.why = h("section", { class: "panel why", "aria-label": "Why it is waiting", hidden: true });
    this.error = h("section", { class: "panel job-error", "aria-label": "Error", hidden: true });
    this.facts = h("dl", { class: "facts" });
    this.story = h("ol", { class: "story" });
    this.storyPanel = panel("What happened", this.story);
    this.log = new Log(id);
    this.curves = new Curves(id);
    this.metrics = new Metrics(id);
    this.attempts = new Attempts((number) => this.choose(number));
    this.environment = new Environment(id);
    /** @type {number | null} null: the latest */
    this.attempt = null;
    this.keys = { F: () => this.log.toggleFollow(), G: () => this.log.follow(), 0: () => this.log.toStart() };
    this.seen = () => this.log.seen();
    document.addEventListener("visibilitychange", this.seen);
    // Nothing announces new metrics and memory readings, so we poll a running job.
    this.timer = setInterval(() => this.job && isLive(this.job) && this.refreshing?.want(), LOOK_MS);
    this.element = this.layout();
  }

  layout() {
    const head = h(
      "div",
      { class: "job-head" },
      h("div", { class: "job-title" }, this.name, this.state),
      this.origin,
      this.buttons,
    );
    const side = h(
      "aside",
      { class: "job-side" },
      panel("What it is", this.facts),
      this.attempts.element,
      this.storyPanel,
      this.environment.element,
    );
    const main = h("div", { class: "job-main" }, this.error, this.why, this.log.element);
    main.append(this.metrics.element, this.curves.element);
    return h("div", { class: "job" }, head, main, side);
  }

  async refresh() {
    const job = await get(`/jobs/${this.id}`);
    const reasons = isWaiting(job) ? (await get(`/jobs/${this.id}/why`)).reasons : [];
    this.draw(job, reasons);
    await Promise.all([this.curves.refresh(this.attempt ?? job.attempts, job), this.metrics.refresh(job)]);
  }

  /** @param {Api.JobDetails} job @param {string[]} reasons */
  draw(job, reasons) {
    this.job = job;
    this.title = `${job.id} ${fullName(job)}`;
    say(this.name, fullName(job));
    showError(this.error, job.error);
    showState(this.state, job);
    this.showOrigin(job);
    if (!READ_ONLY) actionButtons(this.buttons, () => this.job ?? job);
    showWhy(this.why, reasons);
    showFacts(this.facts, job);
    this.attempts.show(job.attempts_list, this.attempt ?? job.attempts);
    show(this.storyPanel, job.events.length);
    showStory(this.story, job.events);
    show(this.log.element, job.attempts);
    if (job.attempts) this.log.show(this.attempt ?? job.attempts);
  }

  /** @param {Api.JobDetails} job */
  showOrigin(job) {
    const link = (/** @type {string} */ path, /** @type {string} */ word) => h("a", { href: address(path) }, word);
    refill(this.origin, [job.project, job.sweep, job.detail], () => [
      `job ${job.id} · project `,
      link(`/?project=${encodeURIComponent(job.project)}`, job.project),
      job.sweep ? " · sweep " : "",
      job.sweep ? link(`/sweeps/${encodeURIComponent(job.sweep_id ?? job.sweep)}`, job.sweep) : "",
      job.detail ? ` · ${job.detail}` : "",
    ]);
  }

  /** Shown instead of the view. */
  missing() {
    return noSuch(`There is no job ${this.id}`, "It may have been removed.", "/", "To the queue");
  }

  /** @param {number} number of an attempt */
  choose(number) {
    this.attempt = number;
    if (this.job) this.draw(this.job, []);
    this.refreshing?.want();
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.log.close();
  }
}

/** @param {string} title @param {...HTMLElement} contents */
function panel(title, ...contents) {
  return h("section", { class: "panel" }, h("h2", {}, title), contents);
}
