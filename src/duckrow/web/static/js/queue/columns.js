/** The columns of the queue. */

import { countFrom } from "../clock.js";
import { fill, h, partsOf, say } from "../dom.js";
import { eta, exactMoment, fullName, memory, moment, took } from "../format.js";
import { READ_ONLY, address } from "../server.js";
import { colour, isLive, isWaiting, remark, status } from "../states.js";

const USUAL_PRIORITY = 30;

/**
 * @typedef {import("../table.js").Column<Api.JobView>} JobColumn
 *
 * @typedef {object} Acting
 * @property {(job: Api.JobView) => boolean} isChosen
 * @property {(job: Api.JobView, isChosen: boolean, event: MouseEvent) => void} choose
 * @property {HTMLElement} chooseAll what is above the checkboxes
 * @property {(button: HTMLElement, job: Api.JobView) => void} menu
 */

/** @param {Acting} acting @returns {JobColumn[]} */
export function columns(acting) {
  return READ_ONLY ? FACTS : [checkbox(acting), ...FACTS, more(acting)];
}

/** @param {Acting} acting @returns {JobColumn} */
const checkbox = ({ isChosen, choose, chooseAll }) => ({
  id: "choose",
  title: chooseAll,
  show(cell, job) {
    const { box } = partsOf(cell, () => ({ box: h("input", { type: "checkbox" }) }));
    box.onclick = (event) => choose(job, box.checked, event);
    box.checked = isChosen(job);
    box.setAttribute("aria-label", `Select job ${job.id}`);
  },
});

/** @param {Acting} acting @returns {JobColumn} */
const more = ({ menu }) => ({
  id: "more",
  title: "",
  show(cell, job) {
    const props = { type: "button", class: "icon", "aria-haspopup": "menu" };
    const { opener } = partsOf(cell, () => ({ opener: h("button", props, "⋯") }));
    opener.onclick = () => menu(opener, job);
    opener.setAttribute("aria-label", `Actions for job ${job.id}`);
  },
});

/**
 * Shows a state as a word in its colour.
 * @param {HTMLElement} element
 * @param {import("../states.js").InLife & Partial<Api.JobView>} job or an attempt, or a run of a sweep
 */
export function showState(element, job) {
  const word = status(job);
  const note = remark(job);
  element.className = element.className.replace(/ ?is-state is-[\w-]+/, "") + ` is-state ${colour(word)}`;
  say(element, note ? `${word}, ${note}` : word);
  element.title = job.detail ?? "";
}

/** @type {JobColumn[]} */
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

/** @typedef {(cell: HTMLElement, job: Api.JobView) => void} Show */

/** @type {Show} */
function showName(cell, job) {
  const { link, command } = partsOf(cell, () => ({
    link: h("a", { href: address(`/jobs/${job.id}`), class: "job-link" }),
    command: h("span", { class: "job-command" }),
  }));
  say(link, fullName(job));
  say(command, job.title);
  command.title = job.command;
}

/** @type {Show} */
function showStateCell(cell, job) {
  showState(partsOf(cell, () => ({ state: h("span", {}) })).state, job);
}

/** @type {Show} */
function showDevices(cell, job) {
  const isAsking = isWaiting(job) && job.gpus !== null;
  say(cell, job.devices.length ? job.devices.join(", ") : isAsking ? `(${job.gpus})` : "");
}

/** @type {Show} */
function showSince(cell, job) {
  const at = job.ended_at ?? (isWaiting(job) ? job.created_at : job.started_at);
  say(cell, moment(at));
  cell.title = exactMoment(at);
}

/** @type {Show} */
function showTime(cell, job) {
  countFrom(cell, isLive(job) ? job.started_at : null);
  if (!isLive(job)) say(cell, took(job.duration_s));
}

/** @type {Show} */
function showEta(cell, job) {
  say(cell, eta(job.eta_s));
}

/** @type {Show} */
function showExit(cell, job) {
  const text = job.signal ? `signal ${job.signal}` : job.exit_code === null ? "" : String(job.exit_code);
  if (cell.textContent !== text) fill(cell, text);
}

/** @type {Show} */
function showPeak(cell, job) {
  say(cell, memory(job.peak_memory_mb));
}

/** @type {Show} */
function showPriority(cell, job) {
  say(cell, String(job.priority));
  cell.classList.toggle("soft", job.priority === USUAL_PRIORITY);
}
