/** The actions on jobs: confirmed if they destroy something, done, and reported with an undo. */

import { post } from "./api.js";
import { edit } from "./edit_job.js";
import { current } from "./page_state.js";
import { ask } from "./dialog.js";
import { counted } from "./format.js";
import { act } from "./large_actions.js";
import { MAY, isLive } from "./states.js";
import { Progress, failed, toast } from "./toast.js";

/**
 * @typedef {import("./states.js").ActionName} ActionName
 * @typedef {import("./states.js").ServerAction} ServerAction
 *
 * @typedef {Api.JobAction & {action: ServerAction}} SentAction
 *
 * @typedef {object} ActionWords
 * @property {string} title
 * @property {string} past what was done
 * @property {string} [key]
 * @property {boolean} [destroys]
 *
 * @typedef {object} Targets which jobs: those known here, or all that match a filter
 * @property {Api.JobView[]} jobs
 * @property {string} [select] a query like that of GET /jobs
 * @property {number} [count] how many match it
 */

/** In the order of menus and bars. @type {Record<ActionName, ActionWords>} */
export const ACTIONS = {
  kill: { title: "Kill", key: "K", past: "Killed", destroys: true },
  rerun: { title: "Rerun", key: "r", past: "Back in the queue:" },
  pause: { title: "Pause job", past: "Suspended" },
  resume: { title: "Resume job", past: "Running again:" },
  hold: { title: "Hold", key: "h", past: "Held" },
  release: { title: "Release", key: "l", past: "Released" },
  priority: { title: "Priority", key: "c", past: "Changed the priority of" },
  first: { title: "Move to the front", key: "f", past: "Moved to the front:" },
  before: { title: "Move before…", past: "Moved" },
  edit: { title: "Edit…", key: "e", past: "Changed" },
  remove: { title: "Remove", key: "Delete", past: "Removed", destroys: true },
};

export const NAMES = /** @type {ActionName[]} */ (Object.keys(ACTIONS));

/** @param {Api.JobView[]} jobs @returns {ActionName[]} the actions that at least one of them allows */
export function allowed(jobs) {
  return NAMES.filter((action) => jobs.some(MAY[action]) && (action !== "edit" || jobs.length === 1));
}

/** @param {ActionName} action @param {Targets} targets */
export async function perform(action, targets) {
  if (action === "edit") {
    const [job] = targets.jobs;
    return job && edit(job);
  }
  const body = await prepared(action, targets);
  return body ? run(body, targets.count) : undefined;
}

/**
 * The request, with the user's answers; null if the user said no.
 * @param {ServerAction} action
 * @param {Targets} targets
 * @returns {Promise<SentAction | null>}
 */
async function prepared(action, targets) {
  const ids = targets.jobs.filter(MAY[action]).map((job) => job.id);
  if (!targets.select && !ids.length) return nothing(action);
  /** @type {SentAction} */
  const body = targets.select === undefined ? { action, ids } : { action, select: targets.select };
  const whom = subject(targets, ids);
  if (needsQuestion(action, targets)) return (await ask(question(action, whom, targets))) && body;
  if (action === "priority") return withAnswer(body, priorityQuestion(whom, targets.jobs), "priority");
  if (action === "before") return withAnswer(body, beforeQuestion(whom), "before");
  return body;
}

/** @param {ActionName} action */
function nothing(action) {
  toast(`${ACTIONS[action].title}: not possible for any of the selected jobs.`);
  return null;
}

const subject = (/** @type {Targets} */ targets, /** @type {number[]} */ ids) =>
  targets.select === undefined
    ? ids.length === 1
      ? `job ${ids[0]}`
      : counted(ids.length, "job")
    : `all ${counted(targets.count ?? 0, "job")} found`;

/**
 * Killing a queued job can be undone; a running one loses its work.
 * @param {ActionName} action
 * @param {Targets} targets
 * @returns {action is keyof typeof QUESTIONS}
 */
function needsQuestion(action, targets) {
  if (action === "remove") return true;
  if (action === "kill") return targets.select !== undefined || targets.jobs.some(isLive);
  return action === "rerun" && targets.select !== undefined;
}

const QUESTIONS = {
  kill: "Stops all processes: SIGTERM first, SIGKILL after a grace time. Unsaved work is lost.",
  remove: "duckrow forgets them, with their attempts and logs. This cannot be undone.",
  rerun: "They go back into the queue, as another attempt.",
};

/** @param {keyof typeof QUESTIONS} action @param {string} whom @param {Targets} targets */
function question(action, whom, targets) {
  const { title, destroys } = ACTIONS[action];
  const list =
    targets.select === undefined
      ? targets.jobs
          .filter(MAY[action])
          .slice(0, 6)
          .map((job) => `${job.id} ${job.name}`)
      : [];
  return { title: `${title} ${whom}?`, text: QUESTIONS[action], list, yes: title, destroys };
}

/** @param {string} whom @param {Api.JobView[]} jobs @returns {import("./dialog.js").Question} */
const priorityQuestion = (whom, jobs) => ({
  title: `Priority of ${whom}`,
  fields: [
    {
      name: "priority",
      label: "Priority",
      kind: "number",
      value: jobs[0]?.priority ?? 0,
      required: true,
      hint: "Higher ones start first.",
    },
  ],
  yes: "Change",
});

/** @param {string} whom @returns {import("./dialog.js").Question} */
const beforeQuestion = (whom) => ({
  title: `Move ${whom}`,
  fields: [
    { name: "before", label: "Before job", kind: "number", required: true, hint: "The number of a queued job." },
  ],
  yes: "Move",
});

/** @param {SentAction} body @param {import("./dialog.js").Question} asked @param {"priority" | "before"} name */
async function withAnswer(body, asked, name) {
  const answers = await ask(asked);
  return answers && { ...body, [name]: Number(answers[name]) };
}

/**
 * Sends a request, reports the result, and offers to undo it.
 * @param {SentAction} body
 * @param {number} [count] if it has a `select`
 */
export async function run(body, count = 0) {
  const progress = new Progress((done) => `${ACTIONS[body.action].title}: ${done} of ${counted(count, "job")} …`);
  try {
    const { done, refused, undo } = await act(body, count, (number) => progress.tell(number));
    if (done.length)
      toast(
        `${ACTIONS[body.action].past} ${done.length === 1 ? `job ${done[0]}` : counted(done.length, "job")}.`,
        undo.length ? () => takeBack(undo) : null,
      );
    if (refused[0]) toast(refusal(refused[0], refused.length - 1), null, "is-problem");
  } catch (error) {
    failed(error);
  }
  progress.close();
  current.refresh();
}

/** @param {Api.RefusedJob} first @param {number} others */
function refusal(first, others) {
  const rest = others ? ` The same goes for ${counted(others, "other")}.` : "";
  return `Job ${first.id} was not changed: ${first.why}${rest}`;
}

/** @param {Api.JobAction[]} undo */
async function takeBack(undo) {
  try {
    for (const body of undo) await post("/jobs/actions", body);
    toast("Undone.");
  } catch (error) {
    failed(error);
  }
  current.refresh();
}
