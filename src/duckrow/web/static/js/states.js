/** The states and outcomes of jobs: their words, their groups, and what may be done in each. */

import { current } from "./page_state.js";
import { LIVE, Outcome, State } from "./lifecycle.js";

/**
 * @typedef {Api.State | Api.Outcome} Status the outcome of a job, or its state
 * @typedef {{state: Api.State, outcome: Api.Outcome | null}} InLife a job, an attempt, a run of a sweep
 */

/** @type {Api.Outcome[]} */
export const OUTCOMES = Object.values(Outcome);
const UNSUCCESSFUL = OUTCOMES.filter((outcome) => outcome !== Outcome.SUCCEEDED);

/** @type {Status[]} in the order of a job's life; a done job shows its outcome */
export const STATUSES = [...Object.values(State).filter((state) => state !== State.DONE), ...OUTCOMES];

/** @type {Status[]} from finished to still queued */
export const BY_PROGRESS = [Outcome.SUCCEEDED, ...LIVE, ...UNSUCCESSFUL, State.QUEUED];

/**
 * The tabs of the queue: their titles, and the states and outcomes that they show.
 * @type {{id: string, title: string, statuses: readonly Status[]}[]}
 */
export const GROUPS = [
  { id: "all", title: "All", statuses: [] },
  { id: "running", title: "Running", statuses: LIVE },
  { id: "waiting", title: "Waiting", statuses: [State.QUEUED] },
  { id: "succeeded", title: "Succeeded", statuses: [Outcome.SUCCEEDED] },
  { id: "failed", title: "Not succeeded", statuses: UNSUCCESSFUL },
];

/** @param {InLife} job @returns {Status} */
export function status(job) {
  return job.outcome ?? job.state;
}

/** @param {{outcome: Api.Outcome | null}} attempt one that has begun @returns {Status} */
export function attemptStatus(attempt) {
  return attempt.outcome ?? State.RUNNING;
}

/** @param {Status} word @returns {string} the class that colours it */
export function colour(word) {
  return LIVE.some((state) => state === word) ? "is-active" : `is-${word}`;
}

/** A remark beside the state of a job. @param {Partial<Api.JobView>} job or an attempt, which has fewer fields */
export function remark(job) {
  if (job.held) return "held";
  if (job.suspended) return "suspended";
  if (job.state === State.QUEUED && job.project !== undefined && isPaused(job.project)) return "paused";
  if (job.run_ended) return "its run has ended";
  return "";
}

/** @param {string} project @returns {boolean} whether it was paused by itself */
export function isPaused(project) {
  return (current.status?.paused_projects ?? []).includes(project);
}

/** @param {{state: Api.State}} job @returns {boolean} whether it holds devices */
export function isLive(job) {
  return LIVE.includes(job.state);
}

/** @param {{state: Api.State}} job @returns {boolean} */
export function isWaiting(job) {
  return job.state === State.QUEUED;
}

const isRunning = (/** @type {Api.JobView} */ job) => isLive(job) && job.state !== State.STOPPING;
const isDone = (/** @type {Api.JobView} */ job) => job.state === State.DONE;

/**
 * @typedef {Exclude<Api.JobAction["action"], "last" | "place">} ServerAction those that the page offers
 * @typedef {ServerAction | "edit"} ActionName
 */

/**
 * For each action: is it possible for this job? The server decides; this is what the page offers.
 * @type {Record<ActionName, (job: Api.JobView) => boolean>}
 */
export const MAY = {
  kill: (job) => !isDone(job),
  rerun: isDone,
  pause: (job) => isRunning(job) && !job.suspended,
  resume: (job) => isRunning(job) && job.suspended,
  hold: (job) => isWaiting(job) && !job.held,
  release: (job) => isWaiting(job) && job.held,
  priority: isWaiting,
  first: isWaiting,
  before: isWaiting,
  edit: isWaiting,
  remove: (job) => isWaiting(job) || isDone(job),
};
