/** One action on more jobs than the server takes at once: they are found page by page, and acted on part by part. */

import { get, post } from "./api.js";

const MOST_AT_ONCE = 10_000; // the server refuses more
const PART = 2000;
const PER_PAGE = 500;

/**
 * @param {any} body as for POST /jobs/actions
 * @param {number} count how many jobs its `select` finds
 * @param {(done: number) => void} tell how many are done so far
 * @returns {Promise<{done: number[], refused: {id: number, why: string}[], undo: any}>}
 */
export async function act(body, count, tell) {
  if (body.select === undefined || count <= MOST_AT_ONCE) return post("/jobs/actions", body);
  const { select, ...action } = body;
  const ids = await idsOf(select);
  const all = { done: [], refused: [], undo: [] };
  for (let at = 0; at < ids.length; at += PART) {
    const { done, refused, undo } = await post("/jobs/actions", { ...action, ids: ids.slice(at, at + PART) });
    all.done.push(...done);
    all.refused.push(...refused);
    if (undo) all.undo.push(undo);
    tell(all.done.length);
  }
  return { ...all, undo: all.undo.length ? all.undo : null };
}

/** All of them before the first is changed: a change may make the filter find others. */
async function idsOf(select) {
  const ids = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await get(`/jobs?${select}&sort=id&page=${page}&per_page=${PER_PAGE}`);
    ids.push(...items.map((job) => job.id));
    if (!items.length || page * PER_PAGE >= total) return ids;
  }
}
