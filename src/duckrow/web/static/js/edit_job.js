/** Changes a job: a queued one in place, a done one for its next attempt. */

import { patch, post } from "./api.js";
import { current } from "./page_state.js";
import { ask } from "./dialog.js";
import { toast } from "./toast.js";

/** @typedef {import("./dialog.js").Field} Field */

/** @type {Field[]} */
const FIELDS = [
  { name: "command", label: "Command", kind: "area", required: true },
  { name: "name", label: "Name" },
  { name: "gpus", label: "GPUs", kind: "number", hint: "Empty: as the machine has it." },
  { name: "priority", label: "Priority", kind: "number" },
  { name: "timeout", label: "Time limit", hint: "For example 2h; empty: no limit." },
  { name: "retries", label: "Retries", kind: "number" },
];

/** Changes a queued job. @param {Api.JobView} job */
export function edit(job) {
  const words = { title: `Edit job ${job.id}`, yes: "Save", told: `Job ${job.id} was changed.` };
  return change(job, words, FIELDS, (changes) => patch(`/jobs/${job.id}`, changes));
}

/** Runs a done job again, with changes. @param {Api.JobView} job */
export function rerunWithChanges(job) {
  const words = {
    title: `Rerun job ${job.id} with changes`,
    yes: "Rerun",
    told: `Job ${job.id} is back in the queue.`,
  };
  const fields = FIELDS.filter(({ name }) => name !== "name");
  return change(job, words, fields, (changes) => post(`/jobs/${job.id}/rerun`, { changes }));
}

/**
 * @param {Api.JobView} job
 * @param {{title: string, yes: string, told: string}} words
 * @param {Field[]} fields
 * @param {(changes: Record<string, string | number | null>) => Promise<unknown>} send
 */
async function change(job, { title, yes, told }, fields, send) {
  /** @type {Record<string, unknown>} */
  const before = { ...job, timeout: job.timeout_s === null ? "" : `${job.timeout_s}s` };
  const shown = fields.map((field) => ({ ...field, value: String(before[field.name] ?? "") }));
  const answer = await ask({ title, yes, fields: shown, send: (values) => send(changesIn(values, shown)) });
  if (answer) toast(told);
  current.refresh();
}

/**
 * Sends only what was changed: the rest keeps its current value.
 * @param {Record<string, string>} values
 * @param {Field[]} fields
 */
function changesIn(values, fields) {
  const now = (/** @type {string} */ name) => (values[name] ?? "").replaceAll("\r\n", "\n");
  const changed = fields.filter(({ name, value }) => now(name) !== String(value));
  return Object.fromEntries(changed.map(({ name, kind }) => [name, typed(now(name), kind)]));
}

/** @param {string} text @param {Field["kind"]} kind */
function typed(text, kind) {
  if (text === "") return null;
  return kind === "number" ? Number(text) : text;
}
