/** Calls the server's HTTP interface: one function for each method, one kind of error. */

import { ApiError } from "./errors.js";
import { noteAnswer, secretHeader } from "./session.js";
import { address } from "./server.js";

const LIMIT_MS = 30_000;

/** @typedef {Record<string, unknown>} Query a list repeats the name; empty values are left out */

/** @param {Query} query */
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

/**
 * @template {keyof Api.Get} P
 * @param {P} path below /api/v1
 * @param {Api.Get[P]["query"]} [query]
 * @returns {Promise<Api.Get[P]["answer"]>}
 */
export function get(path, query = {}) {
  return send("GET", apiAddress(path, query));
}

/**
 * @template {keyof Api.Post} P
 * @param {P} path
 * @param {Api.Post[P]["body"]} body
 * @returns {Promise<Api.Post[P]["answer"]>}
 */
export function post(path, body) {
  return send("POST", apiAddress(path), body);
}

/**
 * @template {keyof Api.Patch} P
 * @param {P} path
 * @param {Api.Patch[P]["body"]} body
 * @returns {Promise<Api.Patch[P]["answer"]>}
 */
export function patch(path, body) {
  return send("PATCH", apiAddress(path), body);
}

/** The path on the server, without a proxy's base path. @param {string} path @param {Query} query */
export function apiPath(path, query = {}) {
  return `/api/v1${path}${queryText(query)}`;
}

/** @param {string} path @param {Query} query */
export function apiAddress(path, query = {}) {
  return address(apiPath(path, query));
}

/**
 * @param {"GET" | "POST" | "PATCH"} method
 * @param {string} where an address
 * @param {unknown} [body]
 * @returns {Promise<any>} as the description of the interface says
 */
export async function send(method, where, body) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...secretHeader() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  /** @type {RequestInit} */
  const options = { method, credentials: "same-origin", cache: "no-store", headers };
  let answer;
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    answer = await fetch(where, { ...options, body: JSON.stringify(body), signal });
  } catch {
    throw new ApiError(0, "The server does not answer.", "Is `duckrow web` still running, and the ssh tunnel open?");
  }
  noteAnswer(answer.status, headers);
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw await errorOf(answer);
}

/** @param {Response} answer */
async function errorOf(answer) {
  /** @type {Api.Error["error"] | null} */
  let told = null;
  try {
    told = (await answer.json()).error;
  } catch {
    // A proxy in between may answer with its own page.
  }
  const sentence = told?.sentence ?? `The server answered ${answer.status} ${answer.statusText}.`;
  return new ApiError(answer.status, sentence, told?.hint ?? null);
}
