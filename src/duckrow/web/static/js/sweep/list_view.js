/** All sweeps, each with how far it is. */

import { get } from "../api.js";
import { fill, h, say, show } from "../dom.js";
import { exactMoment, moment } from "../format.js";
import { READ_ONLY, address } from "../site.js";
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

const COLUMNS = [
  { id: "id", title: "Id", isNumber: true, show: (cell, sweep) => say(cell, String(sweep.id)) },
  { id: "name", title: "Sweep", show: showName },
  { id: "project", title: "Project", show: (cell, sweep) => say(cell, sweep.project) },
  { id: "progress", title: "Runs", show: showProgress },
  { id: "since", title: "Begun", show: showBegun },
];

function showName(cell, sweep) {
  if (!cell.firstChild)
    cell.append(
      h("a", { href: address(`/sweeps/${sweep.id}`), class: "job-link" }),
      h("span", { class: "job-command" }),
    );
  say(cell.firstChild, sweep.name);
  say(cell.lastChild, sweep.pattern ?? "");
  cell.lastChild.title = sweep.pattern ?? "";
}

function showProgress(cell, sweep) {
  cell.progress ??= new Progress();
  if (!cell.firstChild) cell.append(cell.progress.element);
  cell.progress.show(sweep.counts, sweep.total);
}

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
