/** What can be done to the job of this page. */

import { ACTIONS, allowed, perform } from "../actions.js";
import { rerunWithChanges } from "../changing.js";
import { button, fill } from "../dom.js";

const SHORT = { first: "To the front", before: "Before…" };

/** @param {HTMLElement} place @param {any} job */
export function actionButtons(place, job) {
  const actions = allowed([job]);
  place.job = job; // the buttons stay while the job changes
  if (place.dataset.actions === actions.join()) return;
  place.dataset.actions = actions.join();
  const made = actions.map((action) => {
    const { title, destroys } = ACTIONS[action];
    const props = { class: `button${destroys ? " is-danger-quiet" : ""}`, data: { action } };
    return button(SHORT[action] ?? title, () => perform(action, { jobs: [place.job] }), props);
  });
  const change = button("Rerun with changes…", () => rerunWithChanges(place.job), {
    data: { action: "rerun-changed" },
  });
  fill(
    place,
    made.flatMap((one) => (one.dataset.action === "rerun" ? [one, change] : [one])),
  );
}
