/** Drag rows to move queued jobs: dropped on another queued job, they start before it. */

import { run } from "../actions.js";
import { isWaiting } from "../states.js";

/** @typedef {import("../table.js").Table<Api.JobView>} JobTable */

/** @param {JobTable} table @param {() => Map<number, Api.JobView>} chosen */
export function dragRows(table, chosen) {
  const { body } = table;
  /** @type {Api.JobView | null} */
  let dragged = null;
  body.addEventListener("dragstart", (event) => {
    dragged = table.itemOf(table.rowAt(event.target)) ?? null;
    if (!event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", String(dragged?.id ?? ""));
  });
  body.addEventListener("dragover", (event) => {
    const row = table.rowAt(event.target);
    const isTarget = dragged !== null && targetOf(table, row, dragged) !== null;
    mark(body, isTarget ? row : null);
    if (isTarget) event.preventDefault();
  });
  body.addEventListener("drop", (event) => {
    const before = dragged && targetOf(table, table.rowAt(event.target), dragged);
    if (!before || !dragged) return;
    event.preventDefault();
    const together = chosen().has(dragged.id) ? [...chosen().values()].filter(isWaiting) : [dragged];
    const ids = together.map((job) => job.id).filter((id) => id !== before.id);
    run({ action: "before", ids, before: before.id });
  });
  body.addEventListener("dragend", () => {
    dragged = null;
    mark(body, null);
  });
}

/** @param {JobTable} table @param {Element | null} row @param {Api.JobView} dragged @returns {Api.JobView | null} */
function targetOf(table, row, dragged) {
  const job = table.itemOf(row);
  return job && isWaiting(job) && job.id !== dragged.id ? job : null;
}

/** @param {HTMLElement} body @param {Element | null} target */
function mark(body, target) {
  for (const row of body.children) row.classList.toggle("is-drop", row === target);
}
