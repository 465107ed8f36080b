/** Logging in: by a link, from another tab, or with this tab's own secret; and what is shown until then. */

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { ApiError, inWords } from "./errors.js";
import { askOtherTabs, hasSession, onSession, secretHeader, useLink } from "./session.js";
import { learn } from "./server.js";
import { toast } from "./toast.js";

const OTHERS_MS = 1000; // how long another tab of this browser may take to answer
const AGAIN_MS = 3000;

/** Resolves when the server has let this tab in. @param {HTMLElement} main where to say what is missing */
export async function logIn(main) {
  const problem = await useLink(location.href);
  addEventListener("hashchange", useLinkOfOpenTab);
  for (let refusal; (refusal = await refused());) {
    if (refusal.status !== 401) {
      tell(main, inWords(refusal));
      await nextSession(AGAIN_MS);
    } else {
      askOtherTabs();
      if (await nextSession(OTHERS_MS)) continue; // before we show anything, which would flash in every new tab
      tell(main, problem ?? (hasSession() ? "The server was restarted after you logged in." : null));
      await nextSession();
    }
  }
  main.replaceChildren();
}

/**
 * Somebody pasted a link into an open tab, so the page is not reloaded.
 * @param {HashChangeEvent} event
 */
async function useLinkOfOpenTab(event) {
  const problem = await useLink(event.newURL); // a view may have changed the URL by now
  if (problem) toast(problem, null, "is-problem");
}

/** @returns {Promise<ApiError | null>} null: the server knows this tab */
async function refused() {
  for (;;) {
    const tried = secretHeader()["X-Duckrow"];
    if (!tried) return new ApiError(401, "");
    try {
      learn(await get("/status"));
      return null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (secretHeader()["X-Duckrow"] === tried) return error; // else there is a newer secret
    }
  }
}

/** @param {number | null} [at_most_ms] null: for ever @returns {Promise<boolean>} whether there is another secret */
function nextSession(at_most_ms = null) {
  return new Promise((resolve) => {
    onSession(() => resolve(true));
    if (at_most_ms !== null) setTimeout(() => resolve(false), at_most_ms);
  });
}

/** @param {HTMLElement} main @param {string | null} problem */
function tell(main, problem) {
  const tunnel = `ssh -L ${location.port || 8787}:127.0.0.1:${location.port || 8787} machine`;
  document.title = "Log in · duckrow";
  fill(
    main,
    h(
      "div",
      { class: "empty", data: { login: "" } },
      h("h2", {}, hasSession() ? "Log in again" : "Log in"),
      problem ? h("p", { role: "alert" }, problem) : null,
      h("p", {}, "In a terminal, on the machine where duckrow runs and as its user, type"),
      h("pre", {}, "duckrow web --url"),
      h("p", {}, "and open the address that it prints. It works once, and logs in the tabs of this browser."),
      h("p", { class: "soft" }, "Over ssh, forward the port first: ", h("code", {}, tunnel)),
    ),
  );
}
