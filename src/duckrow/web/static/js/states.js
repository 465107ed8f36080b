/** The states and outcomes of jobs: their words, their groups, and what may be done in each. */

import { current } from "./current.js";

export const LIVE = ["starting", "running", "stopping"];
const UNSUCCESSFUL = ["failed", "out-of-memory", "timed-out", "killed", "lost", "skipped"];

/** The tabs of the queue: what they are called, and which states and outcomes they gather. */
export const GROUPS = [
  { id: "all", title: "All", statuses: [] },
  { id: "running", title: "Running", statuses: LIVE },
  { id: "waiting", title: "Waiting", statuses: ["queued"] },
  { id: "succeeded", title: "Succeeded", statuses: ["succeeded"] },
  { id: "failed", title: "Not succeeded", statuses: UNSUCCESSFUL },
];

/** @param {{state: string, outcome: string | null}} job @returns {string} how it ended, or where it is */
export function status(job) {
  return job.outcome ?? job.state;
}

/** @param {string} word a state or an outcome @returns {string} the class that colours it */
export function colour(word) {
  return LIVE.includes(word) ? "is-active" : `is-${word}`;
}

/** What is said of a job beside its state. */
export function remark(job) {
  if (job.held) return "held";
  if (job.suspended) return "suspended";
  if (job.state === "queued" && isPaused(job.project)) return "paused";
  if (job.run_ended) return "its run has ended";
  return "";
}

/** @param {string} project @returns {boolean} whether it was paused by itself */
export function isPaused(project) {
  return (current.status?.paused_projects ?? []).includes(project);
}

const isWaiting = (job) => job.state === "queued";
const isRunning = (job) => job.state === "starting" || job.state === "running";
const isDone = (job) => job.state === "done";

/** For each action: may it be done to this job? The server decides; this is what is offered. */
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
