/** Saves a file of any size to disk. The browser fetches it itself, with a ticket that works once. */

import { apiPath, send } from "./api.js";
import { h } from "./dom.js";
import { address } from "./server.js";
import { failed } from "./toast.js";

/** @param {string} path below /api/v1 @param {import("./api.js").Query} query */
export async function download(path, query = {}) {
  const file = apiPath(path, query);
  try {
    const { ticket } = await send("POST", address("/ticket"), { address: file });
    const link = h("a", { href: address(`${file}${file.includes("?") ? "&" : "?"}ticket=${ticket}`), download: "" });
    document.body.append(link);
    link.click();
    link.remove();
  } catch (error) {
    failed(error);
  }
}
