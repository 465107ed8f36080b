/** Jobs that wait are moved by dragging their rows: dropped on another that waits, they start before it. */

import { run } from "../actions.js";

/** @param {HTMLElement} body of the table @param {() => Map<number, any>} chosen */
export function dragRows(body, chosen) {
  let dragged = null;
  body.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("tr")?.item ?? null;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", String(dragged?.id ?? ""));
  });
  body.addEventListener("dragover", (event) => {
    const row = rowUnder(event, dragged);
    mark(body, row);
    if (row) event.preventDefault();
  });
  body.addEventListener("drop", (event) => {
    const row = rowUnder(event, dragged);
    if (!row) return;
    event.preventDefault();
    const together = chosen().has(dragged.id)
      ? [...chosen().values()].filter((job) => job.state === "queued")
      : [dragged];
    run({
      action: "before",
      ids: together.map((job) => job.id).filter((id) => id !== row.item.id),
      before: row.item.id,
    });
  });
  body.addEventListener("dragend", () => {
    dragged = null;
    mark(body, null);
  });
}

function rowUnder(event, dragged) {
  const row = event.target.closest("tr");
  return dragged && row && row.item.state === "queued" && row.item.id !== dragged.id ? row : null;
}

function mark(body, target) {
  for (const row of body.children) row.classList.toggle("is-drop", row === target);
}
