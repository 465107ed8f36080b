/**
 * The secret of this tab, which the server asks for and no browser sends by itself.
 *
 * It is kept for this tab at this address: a reload keeps it, closing the tab forgets it. A new tab asks the others of
 * this browser. It is good at one server, for as long as that one lives: whoever answers at its port later, and is told
 * it by a tab that tries again, has nothing.
 */

import { BASE, address } from "./server.js";

const KEY = `duckrow.session${BASE}`;
const others = new BroadcastChannel(KEY); // tabs with the same origin, and no one else
const HEADER = "X-Duckrow";
const LINK = /^#login=([\w-]+)$/;

let session = stored();
let isGood = false; // as far as the server has said
let arrived = () => {};
let refused = () => {};

others.addEventListener("message", ({ data }) => {
  if (data === "ask" && isGood) others.postMessage({ session });
  if (typeof data?.session === "string" && !isGood && data.session !== session) take(data.session);
});

function stored() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null; // a browser that keeps nothing: the secret lasts until the page is loaded again
  }
}

/** @param {string} given */
function take(given) {
  session = given;
  try {
    sessionStorage.setItem(KEY, given);
  } catch {
    // As above.
  }
  arrived();
}

/** @returns {Record<string, string>} what a request to the server has to bring */
export function secretHeader() {
  return session === null ? {} : { [HEADER]: session };
}

/**
 * @param {number} status what the server answered
 * @param {Record<string, string>} sent what the request had brought: a secret that was replaced since says nothing
 */
export function noteAnswer(status, sent) {
  if (sent[HEADER] !== secretHeader()[HEADER]) return;
  isGood = status !== 401;
  if (!isGood) refused();
}

/** @param {() => void} listener called when the server does not know the secret of this tab */
export function onRefusal(listener) {
  refused = listener;
}

export function hasSession() {
  return session !== null;
}

/** @param {() => void} listener called when this tab was given another secret */
export function onSession(listener) {
  arrived = listener;
}

/** Somewhere in this browser may be a tab that is logged in; it answers in its own time. */
export function askOtherTabs() {
  others.postMessage("ask");
}

/**
 * Logs in by the link in an address, if there is one. It leaves the address at once.
 * @param {string} url @returns {Promise<string | null>} why it did not work
 */
export async function useLink(url) {
  const link = LINK.exec(new URL(url).hash)?.[1];
  if (!link) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  let answer;
  try {
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    answer = await fetch(address("/login"), { method: "POST", headers, body: JSON.stringify({ link }) });
  } catch {
    return "The server does not answer. Is `duckrow web` still running, and the ssh tunnel open?";
  }
  if (!answer.ok) return "This link no longer works: each works once, within an hour, on its own server.";
  const given = String((await answer.json()).session);
  take(given);
  others.postMessage({ session: given }); // to tabs that were logged out
  return null;
}
