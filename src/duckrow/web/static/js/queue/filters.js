/** The filters above the queue: groups of states, a search, project, sweep, state; kept in the URL. */

import { get } from "../api.js";
import { current } from "../page_state.js";
import { button, fill, h, refill, say, show } from "../dom.js";
import { READ_ONLY } from "../server.js";
import { setPause } from "../shell.js";
import { GROUPS, STATUSES, isPaused } from "../states.js";

const TYPING_MS = 200;
const MOST_SWEEPS = 100;

/**
 * @typedef {object} Filter
 * @property {readonly string[]} status
 * @property {string} project
 * @property {string} sweep
 * @property {string} q
 * @property {string} sort
 * @property {number} page
 */

/** @param {URLSearchParams} query @returns {Filter} */
export function filterFrom(query) {
  const word = (/** @type {string} */ name) => query.get(name) ?? "";
  const page = Math.max(1, Number(word("page")) || 1);
  return {
    status: query.getAll("status"),
    project: word("project"),
    sweep: word("sweep"),
    q: word("q"),
    sort: word("sort"),
    page,
  };
}

const WORDS = /** @type {const} */ (["project", "sweep", "q", "sort"]);

/** @param {Filter} filter @returns {URLSearchParams} */
export function queryFrom(filter) {
  const query = new URLSearchParams();
  for (const status of filter.status) query.append("status", status);
  for (const name of WORDS) if (filter[name]) query.set(name, filter[name]);
  if (filter.page > 1) query.set("page", String(filter.page));
  return query;
}

export class Filters {
  /** @param {(change: Partial<Filter>) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.typing = 0;
    this.filter = filterFrom(new URLSearchParams());
    this.tabs = GROUPS.map((group) => this.tab(group));
    this.search = this.searchBox();
    this.project = select("Project", (value) => onChange({ project: value }));
    this.status = select("State", (value) => onChange({ status: value ? [value] : [] }));
    fill(
      this.status,
      option("", "any state"),
      STATUSES.map((status) => option(status, status)),
    );
    this.sweep = select("Sweep", (value) => onChange({ sweep: value }));
    /** @type {Api.ListedSweep[]} the newest first */
    this.sweeps = [];
    this.loadSweeps();
    this.pause = button("", () => this.togglePause(), { class: "button is-quiet", hidden: true });
    const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Groups of jobs" });
    tabs.append(...this.tabs.map(({ element }) => element));
    this.element = h("div", { class: "filters" }, tabs, this.search, this.project, this.status, this.sweep, this.pause);
  }

  /** @param {(typeof GROUPS)[number]} group */
  tab(group) {
    const props = {
      type: "button",
      class: `tab tab-${group.id}`,
      on: { click: () => this.onChange({ status: group.statuses }) },
    };
    const count = h("span", { class: "count" });
    return { group, count, element: h("button", props, h("span", {}, group.title), count) };
  }

  /** @returns {HTMLInputElement} */
  searchBox() {
    const typed = () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.onChange({ q: this.search.value.trim() }), TYPING_MS);
    };
    return h("input", { type: "search", placeholder: "Search  /", "aria-label": "Search jobs", on: { input: typed } });
  }

  /** A pending search must not change the URL of another view. */
  close() {
    clearTimeout(this.typing);
  }

  /** @param {Filter} filter @param {Record<string, number>} counts of each state and outcome */
  show(filter, counts) {
    this.filter = filter;
    for (const tab of this.tabs) this.showTab(tab, counts);
    if (document.activeElement !== this.search) this.search.value = filter.q;
    this.showProjects(current.status?.projects ?? []);
    this.status.value = (filter.status.length === 1 && filter.status[0]) || "";
    this.showSweeps();
  }

  async loadSweeps() {
    const { items } = await get("/sweeps").catch(() => ({ items: [] }));
    this.sweeps = items.slice(0, MOST_SWEEPS);
    this.showSweeps();
  }

  /** The URL may contain a sweep's name, or a sweep too old to be listed. */
  showSweeps() {
    const wanted = this.filter.sweep;
    const chosen = this.sweeps.find(({ id, name }) => wanted === String(id) || wanted === name);
    const listed = this.sweeps.map(({ id, name }) => /** @type {[string, string]} */ ([String(id), name]));
    if (wanted && !chosen) listed.unshift([wanted, wanted]);
    show(this.sweep, listed.length);
    refill(this.sweep, listed, () => [option("", "all sweeps"), ...listed.map(([id, name]) => option(id, name))]);
    this.sweep.value = chosen ? String(chosen.id) : wanted;
  }

  /** @param {ReturnType<Filters["tab"]>} tab @param {Record<string, number>} counts */
  showTab({ group, count, element }, counts) {
    const words = group.statuses.length ? group.statuses : Object.keys(counts);
    const total = words.reduce((sum, word) => sum + (counts[word] ?? 0), 0);
    say(count, total.toLocaleString("en"));
    element.setAttribute("aria-pressed", String(group.statuses.join() === this.filter.status.join()));
  }

  /** @param {Api.Project[]} projects */
  showProjects(projects) {
    const names = projects.map((project) => project.name);
    if (this.filter.project && !names.includes(this.filter.project)) names.push(this.filter.project);
    const shown = names.map((name) => ({ name, text: isPaused(name) ? `${name} (paused)` : name }));
    const options = () => [option("", "all projects"), ...shown.map(({ name, text }) => option(name, text))];
    refill(this.project, shown, options);
    this.project.value = this.filter.project;
    show(this.pause, this.filter.project && !READ_ONLY);
    say(this.pause, `${isPaused(this.filter.project) ? "Resume" : "Pause"} ${this.filter.project}`);
  }

  togglePause() {
    return setPause(!isPaused(this.filter.project), this.filter.project);
  }
}

const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, text);

/** @param {string} label @param {(value: string) => void} chosen */
function select(label, chosen) {
  /** @type {HTMLSelectElement} */
  const element = h("select", { "aria-label": label, on: { change: () => chosen(element.value) } });
  return element;
}
