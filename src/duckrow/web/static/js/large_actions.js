/** One action on more jobs than the server accepts at once: found page by page, and sent in parts. */

import { get, post } from "./api.js";

const MOST_AT_ONCE = 10_000; // the server refuses more
const PART = 2000;
const PER_PAGE = 500;

/**
 * @typedef {object} Done
 * @property {number[]} done
 * @property {Api.RefusedJob[]} refused
 * @property {Api.JobAction[]} undo the actions that undo it, in order
 *
 * @param {Api.JobAction} body
 * @param {number} count how many jobs match its `select`
 * @param {(done: number) => void} tell how many are done so far
 * @returns {Promise<Done>}
 */
export async function act(body, count, tell) {
  /** @type {Done} */
  const all = { done: [], refused: [], undo: [] };
  for await (const { done, refused, undo } of deeds(body, count)) {
    all.done.push(...done);
    all.refused.push(...refused);
    if (undo) all.undo.push(/** @type {any} */ (undo)); // an action, to be sent unchanged
    if (count > MOST_AT_ONCE) tell(all.done.length);
  }
  return all;
}

/** @param {Api.JobAction} body @param {number} count */
async function* deeds(body, count) {
  const { select, ...action } = body;
  if (typeof select !== "string" || count <= MOST_AT_ONCE) {
    yield await post("/jobs/actions", body);
    return;
  }
  const ids = await idsOf(select);
  for (let at = 0; at < ids.length; at += PART)
    yield await post("/jobs/actions", { ...action, ids: ids.slice(at, at + PART) });
}

/** Finds all of them before the first is changed: a change may make the filter match others. @param {string} select */
async function idsOf(select) {
  const words = new URLSearchParams(select);
  const filter = Object.fromEntries([...words.keys()].map((name) => [name, words.getAll(name)]));
  /** @type {number[]} */
  const ids = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await get("/jobs", { ...filter, sort: "id", page, per_page: PER_PAGE });
    ids.push(...items.map((job) => job.id));
    if (!items.length || page * PER_PAGE >= total) return ids;
  }
}
