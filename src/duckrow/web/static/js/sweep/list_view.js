/** All sweeps with their progress. */

import { get } from "../api.js";
import { fill, h, partsOf, say, show } from "../dom.js";
import { exactMoment, moment } from "../format.js";
import { READ_ONLY, address } from "../server.js";
import { Table } from "../table.js";
import { Progress } from "./progress.js";

/** @returns {import("../router.js").View} */
export function open() {
  const table = new Table({
    label: "Sweeps",
    columns: COLUMNS,
    keyOf: (sweep) => sweep.id,
    pathOf: (sweep) => `/sweeps/${sweep.id}`,
  });
  const frame = h("div", { class: "table-frame", hidden: true }, table.element);
  const empty = h("div", { class: "empty", hidden: true });
  fill(empty, welcome());
  const refresh = async () => {
    const { items } = await get("/sweeps");
    table.show(items);
    show(frame, items.length);
    show(empty, !items.length);
  };
  const head = h("div", { class: "machine-head" }, h("h1", {}, "Sweeps"));
  return { title: "Sweeps", element: h("div", { class: "sweeps" }, head, frame, empty), refresh };
}

/** @type {import("../table.js").Column<Api.ListedSweep>[]} */
const COLUMNS = [
  { id: "id", title: "Id", isNumber: true, show: (cell, sweep) => say(cell, String(sweep.id)) },
  { id: "name", title: "Sweep", show: showName },
  { id: "project", title: "Project", show: (cell, sweep) => say(cell, sweep.project) },
  { id: "progress", title: "Runs", show: showProgress },
  { id: "since", title: "Begun", show: showBegun },
];

/** @param {HTMLElement} cell @param {Api.ListedSweep} sweep */
function showName(cell, sweep) {
  const { link, pattern } = partsOf(cell, () => ({
    link: h("a", { href: address(`/sweeps/${sweep.id}`), class: "job-link" }),
    pattern: h("span", { class: "job-command" }),
  }));
  say(link, sweep.name);
  say(pattern, sweep.pattern);
  pattern.title = sweep.pattern;
}

/** @type {WeakMap<HTMLElement, Progress>} by the cells that they are in */
const bars = new WeakMap();

/** @param {HTMLElement} cell @param {Api.ListedSweep} sweep */
function showProgress(cell, sweep) {
  const bar = bars.get(cell) ?? new Progress();
  if (!bars.has(cell)) cell.append(bar.element);
  bars.set(cell, bar);
  bar.show(sweep.counts, sweep.total);
}

/** @param {HTMLElement} cell @param {Api.ListedSweep} sweep */
function showBegun(cell, sweep) {
  say(cell, moment(sweep.created_at));
  cell.title = exactMoment(sweep.created_at);
}

function welcome() {
  return [
    h("h2", {}, "No sweeps yet"),
    h("p", {}, "A sweep is one command over every combination of its parameters. Add one here, or in a terminal:"),
    h("pre", {}, "duckrow sweep 'python train.py --lr {lr} --seed {seed}' -p lr 0.1 0.01 -p seed 0..4 --submit"),
    READ_ONLY ? null : h("p", {}, h("a", { href: address("/add?kind=sweep"), class: "button is-main" }, "Add a sweep")),
  ];
}
