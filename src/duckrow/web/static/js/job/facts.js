/** The facts of a job, each with its label; unknown ones are left out. */

import { countFrom } from "../clock.js";
import { button, h, refill } from "../dom.js";
import { counted, duration, eta, exactMoment, memory, moment, took, value } from "../format.js";
import { isLive } from "../states.js";
import { failed, toast } from "../toast.js";

/** @typedef {HTMLElement | string | number | null} Told "" or null: nothing */

/** @param {HTMLElement} list @param {Api.JobDetails} job */
export function showFacts(list, job) {
  const facts = factsOf(job).filter(([, told]) => told !== "" && told !== null);
  // A text that only counts up has not changed.
  const text = (/** @type {Told} */ told) =>
    told instanceof HTMLElement ? (told.dataset.since ?? told.textContent) : told;
  const shown = facts.map(([word, told]) => [word, text(told)]);
  refill(list, shown, () =>
    facts.map(([word, told]) => h("div", { class: "fact" }, h("dt", {}, word), h("dd", {}, told))),
  );
}

/** @param {Api.JobDetails} job @returns {[string, Told][]} */
function factsOf(job) {
  return [
    ["Command", command(job)],
    ["Folder", job.cwd],
    ["GPUs", job.devices.length ? job.devices.join(", ") : job.gpus === null ? "" : `${job.gpus} wanted`],
    ["Needs", needs(job)],
    ["PID", job.pid],
    ["Exit", job.signal ? `signal ${job.signal}` : job.exit_code],
    [isLive(job) ? "Runs for" : "Ran for", runs(job)],
    ["Done in", eta(job.eta_s)],
    ["Peak memory", memory(job.peak_memory_mb)],
    ["GPU busy", typeof job.utilization === "number" ? `${Math.round(job.utilization)} %` : ""],
    ["Added", time(job.created_at)],
    ["Started", time(job.started_at)],
    ["Ended", time(job.ended_at)],
    ["Not before", time(job.not_before)],
    ["After", job.after.map(({ id, condition }) => `${id} ${condition}`).join(", ")],
    ["Priority", job.priority],
    ["Retries", job.retries || ""],
    ["If it is lost", job.requeue_lost ? "requeue" : ""],
    ["Time limit", job.timeout_s ? duration(job.timeout_s) : ""],
    ["Host", job.host],
    ["Parameters", parameters(job.parameters)],
    ["Array", job.array_index === null ? "" : `index ${job.array_index} of the array from job ${job.array_id} on`],
    ["Code", job.code ? `${job.code.commit}${job.code.dirty ? ", with changes" : ""}` : ""],
    ["Run folder", job.folder],
    ["Log file", job.log],
  ];
}

/**
 * Each need in words; those that are not set are left out.
 * @type {Partial<Record<keyof Api.Needs, (amount: number) => string>>}
 */
const NEEDS = {
  gpu_mem_mb: (mb) => `${memory(mb)} of GPU memory`,
  total_gpu_mem_mb: (mb) => `${memory(mb)} of GPU memory in total`,
  auto: () => "as much GPU memory as similar jobs used",
  cpus: (count) => counted(count, "CPU"),
  mem_mb: (mb) => `${memory(mb)} of memory`,
  mem_limit: () => "not a byte more",
  alone: () => "a GPU to itself",
  larger_than_mb: (mb) => `a GPU with more than ${memory(mb)}`,
  ooms: (count) => `it ran out of memory ${count === 1 ? "once" : `${count} times`}`,
};

/** @param {Api.JobDetails} job */
function needs(job) {
  /** @type {Record<string, unknown>} */
  const wanted = { ...job.needs };
  return Object.entries(NEEDS)
    .filter(([word]) => wanted[word])
    .map(([word, told]) => told(Number(wanted[word])))
    .join(", ");
}

/** @param {Api.JobDetails} job */
function command(job) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(job.command);
      toast("The command was copied.");
    } catch {
      failed(new Error("This browser does not allow copying; select the text instead."));
    }
  };
  return h(
    "span",
    { class: "fact-command" },
    h("code", { title: job.command }, job.title),
    button("Copy", copy, { class: "button is-link" }),
  );
}

/** @param {Api.JobDetails} job */
function runs(job) {
  if (!isLive(job)) return took(job.duration_s);
  const element = h("span", {});
  countFrom(element, job.started_at);
  return element;
}

/** @param {number | null} at */
function time(at) {
  return at ? h("time", { title: exactMoment(at) }, moment(at)) : "";
}

/** @param {Record<string, unknown> | null} told */
function parameters(told) {
  if (!told || !Object.keys(told).length) return "";
  return h(
    "span",
    { class: "words" },
    Object.entries(told).map(([name, one]) => h("code", { class: "word" }, `${name}=${value(one)}`)),
  );
}
