/**
 * The secret of this tab, which the server requires and no browser sends by itself.
 *
 * It belongs to this tab and origin: a reload keeps it, closing the tab forgets it. A new tab asks the other tabs of
 * this browser. It is valid for one server, while that one is alive: a later program on the same port may get it from a
 * tab that tries again, but cannot use it.
 */

import { BASE, address } from "./server.js";

const KEY = `duckrow.session${BASE}`;
const others = new BroadcastChannel(KEY); // only tabs of the same origin
const HEADER = "X-Duckrow";
const LINK = /^#login=([\w-]+)$/;

let session = stored();
let isGood = false; // as far as we know from the server
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
    return null; // a browser without storage: the secret lasts until the page is reloaded
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

/** @returns {Record<string, string>} the header that every request needs */
export function secretHeader() {
  return session === null ? {} : { [HEADER]: session };
}

/**
 * @param {number} status what the server answered
 * @param {Record<string, string>} sent the headers of the request: a secret that was replaced meanwhile does not count
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

/** @param {() => void} listener called when this tab gets another secret */
export function onSession(listener) {
  arrived = listener;
}

/** Another tab of this browser may be logged in; it will answer later. */
export function askOtherTabs() {
  others.postMessage("ask");
}

/**
 * Logs in by the link in a URL, if there is one. It is removed from the URL at once.
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
  others.postMessage({ session: given }); // for tabs that were logged out
  return null;
}
