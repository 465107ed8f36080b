/** What a row of the queue tells of its job. */

import { countFrom } from "../clock.js";
import { fill, h, say } from "../dom.js";
import { eta, exactMoment, fullName, memory, moment, took } from "../format.js";
import { READ_ONLY, address } from "../site.js";
import { LIVE, colour, remark, status } from "../states.js";

const USUAL_PRIORITY = 30;

/**
 * @param {object} parts
 * @param {(job: any) => boolean} parts.isChosen
 * @param {(job: any, isChosen: boolean, event: MouseEvent) => void} parts.choose
 * @param {HTMLElement} parts.chooseAll what stands above the checkboxes
 * @param {(button: HTMLElement, job: any) => void} parts.menu
 */
export function columns({ isChosen, choose, chooseAll, menu }) {
  const acting = READ_ONLY ? [] : [checkbox(isChosen, choose, chooseAll)];
  const ending = READ_ONLY ? [] : [more(menu)];
  return [...acting, ...FACTS, ...ending];
}

const checkbox = (isChosen, choose, chooseAll) => ({
  id: "choose",
  title: chooseAll,
  show(cell, job) {
    if (!cell.firstChild) {
      const click = (event) => choose(cell.parentElement.item, cell.firstChild.checked, event);
      cell.append(h("input", { type: "checkbox", on: { click } }));
    }
    cell.firstChild.checked = isChosen(job);
    cell.firstChild.setAttribute("aria-label", `Select job ${job.id}`);
  },
});

const more = (menu) => ({
  id: "more",
  title: "",
  show(cell, job) {
    if (!cell.firstChild) {
      const click = () => menu(cell.firstChild, cell.parentElement.item);
      cell.append(h("button", { type: "button", class: "icon", "aria-haspopup": "menu", on: { click } }, "⋯"));
    }
    cell.firstChild.setAttribute("aria-label", `Actions for job ${job.id}`);
  },
});

/** Shows a job's state as a word in its colour. */
export function showState(element, job) {
  const word = status(job);
  const note = remark(job);
  element.className = element.className.replace(/ ?is-state is-[\w-]+/, "") + ` is-state ${colour(word)}`;
  say(element, note ? `${word}, ${note}` : word);
  element.title = job.detail ?? "";
}

const FACTS = [
  { id: "id", title: "Id", sort: "id", isNumber: true, show: (cell, job) => say(cell, String(job.id)) },
  { id: "name", title: "Job", sort: "name", show: showName },
  { id: "project", title: "Project", sort: "project", show: (cell, job) => say(cell, job.project) },
  { id: "state", title: "State", sort: "state", show: showStateCell },
  { id: "devices", title: "GPUs", hint: "The GPUs it has; in brackets how many it asks for", show: showDevices },
  { id: "pid", title: "PID", isNumber: true, show: (cell, job) => say(cell, job.pid ? String(job.pid) : "") },
  { id: "since", title: "Since", sort: "since", hint: "When it was added, started or ended", show: showSince },
  { id: "time", title: "Time", sort: "duration", isNumber: true, hint: "How long it has run", show: showTime },
  { id: "eta", title: "ETA", isNumber: true, hint: "When it will be done, as far as jobs like it tell", show: showEta },
  { id: "exit", title: "Exit", isNumber: true, show: showExit },
  { id: "peak", title: "Memory", sort: "peak", isNumber: true, hint: "Most GPU memory it took", show: showPeak },
  { id: "priority", title: "Prio", sort: "priority", isNumber: true, show: showPriority },
];

function showName(cell, job) {
  if (!cell.firstChild)
    cell.append(h("a", { href: address(`/jobs/${job.id}`), class: "job-link" }), h("span", { class: "job-command" }));
  const [link, command] = cell.children;
  say(link, fullName(job));
  say(command, job.title);
  command.title = job.command;
}

function showStateCell(cell, job) {
  if (!cell.firstChild) cell.append(h("span", {}));
  showState(cell.firstChild, job);
}

function showDevices(cell, job) {
  const isAsking = job.state === "queued" && job.gpus !== null;
  say(cell, job.devices.length ? job.devices.join(", ") : isAsking ? `(${job.gpus})` : "");
}

function showSince(cell, job) {
  const at = job.ended_at ?? (job.state === "queued" ? job.created_at : job.started_at);
  say(cell, moment(at));
  cell.title = exactMoment(at);
}

function showTime(cell, job) {
  const isLive = LIVE.includes(job.state);
  countFrom(cell, isLive ? job.started_at : null);
  if (!isLive) say(cell, took(job.duration_s));
}

function showEta(cell, job) {
  say(cell, eta(job.eta_s));
}

function showExit(cell, job) {
  const text = job.signal ? `signal ${job.signal}` : job.exit_code === null ? "" : String(job.exit_code);
  if (cell.textContent !== text) fill(cell, text);
}

function showPeak(cell, job) {
  say(cell, memory(job.peak_memory_mb));
}

function showPriority(cell, job) {
  say(cell, String(job.priority));
  cell.classList.toggle("soft", job.priority === USUAL_PRIORITY);
}
