/** Speaks to the server's HTTP interface: one function for reading, one for changing, one kind of error. */

import { noteAnswer, secretHeader } from "./session.js";
import { address } from "./site.js";

const LIMIT_MS = 30_000;

/** What the server, or the way to it, said against a request: a sentence, and what to do about it. */
class ApiError extends Error {
  /** @param {number} status 0: nobody answered @param {string} sentence @param {string | null} hint */
  constructor(status, sentence, hint = null) {
    super(sentence);
    this.status = status;
    this.hint = hint;
  }
}

/** @param {Record<string, any>} query lists give a name several times; empty values are left out */
function queryText(query) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") words.append(name, String(one));
    }
  }
  const text = words.toString();
  return text ? `?${text}` : "";
}

/** @param {string} path below /api/v1 @param {Record<string, any>} [query] @returns {Promise<any>} */
export function get(path, query = {}, signal = undefined) {
  return send("GET", apiAddress(path, query), undefined, signal);
}

/** @param {string} path @param {any} [body] @returns {Promise<any>} */
export function post(path, body = {}) {
  return send("POST", apiAddress(path), body);
}

/** @param {string} path @param {any} body @returns {Promise<any>} */
export function patch(path, body) {
  return send("PATCH", apiAddress(path), body);
}

/** As the server calls it, whatever proxy is in front of it. */
export function apiPath(path, query = {}) {
  return `/api/v1${path}${queryText(query)}`;
}

export function apiAddress(path, query = {}) {
  return address(apiPath(path, query));
}

/** @param {string} where an address @returns {Promise<any>} */
export async function send(method, where, body, signal) {
  const headers = { Accept: "application/json", ...secretHeader() };
  const options = { method, credentials: "same-origin", cache: "no-store", headers };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  options.signal = withLimit(signal);
  let answer;
  try {
    answer = await fetch(where, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.", "Is `duckrow web` still running, and the ssh tunnel open?");
  }
  noteAnswer(answer.status);
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw await errorOf(answer);
}

function withLimit(signal) {
  const limit = AbortSignal.timeout(LIMIT_MS);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

async function errorOf(answer) {
  let told = null;
  try {
    told = (await answer.json()).error;
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const sentence = told?.sentence ?? `The server answered ${answer.status} ${answer.statusText}.`;
  return new ApiError(answer.status, sentence, told?.hint ?? null);
}
