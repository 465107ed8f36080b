/** What can be done to the job of this page. */

import { ACTIONS, allowed, perform } from "../actions.js";
import { rerunWithChanges } from "../changing.js";
import { button } from "../dom.js";
import { keyed } from "../keyed.js";

const CHANGED = "rerun-changed";
const SHORT = { first: "To the front", before: "Before…" };

/** @param {HTMLElement} place @param {any} job */
export function actionButtons(place, job) {
  place.job = job; // the buttons stay while the job changes
  keyed(
    place,
    allowed([job]).flatMap((action) => (action === "rerun" ? [action, CHANGED] : [action])),
    (action) => action,
    (action) => (action === CHANGED ? changeButton(place) : actionButton(action, place)),
    () => {},
  );
}

function actionButton(action, place) {
  const { title, destroys } = ACTIONS[action];
  const props = { class: `button${destroys ? " is-danger-quiet" : ""}`, data: { action } };
  return button(SHORT[action] ?? title, () => perform(action, { jobs: [place.job] }), props);
}

function changeButton(place) {
  return button("Rerun with changes…", () => rerunWithChanges(place.job), { data: { action: CHANGED } });
}
