/** The actions for the job of this page. */

import { ACTIONS, allowed, perform } from "../actions.js";
import { rerunWithChanges } from "../edit_job.js";
import { button } from "../dom.js";
import { keyed } from "../keyed_list.js";

/** @typedef {import("../states.js").ActionName} ActionName */

const CHANGED = "rerun-changed";
/** @type {Partial<Record<ActionName, string>>} */
const SHORT = { first: "To the front", before: "Before…" };

/** @param {HTMLElement} place @param {() => Api.JobView} job a function, as the buttons outlive changes of it */
export function actionButtons(place, job) {
  /** @type {(ActionName | typeof CHANGED)[]} */
  const actions = allowed([job()]).flatMap((action) => (action === "rerun" ? [action, CHANGED] : [action]));
  keyed(
    place,
    actions,
    (action) => action,
    (action) => (action === CHANGED ? changeButton(job) : actionButton(action, job)),
    () => {},
  );
}

/** @param {ActionName} action @param {() => Api.JobView} job */
function actionButton(action, job) {
  const { title, destroys } = ACTIONS[action];
  const props = { class: `button${destroys ? " is-danger-quiet" : ""}`, data: { action } };
  return button(SHORT[action] ?? title, () => perform(action, { jobs: [job()] }), props);
}

/** @param {() => Api.JobView} job */
function changeButton(job) {
  return button("Rerun with changes…", () => rerunWithChanges(job()), { data: { action: CHANGED } });
}
