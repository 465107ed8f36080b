/** Starts the daemon with the devices that it had last. */

import { post } from "./api.js";
import { current } from "./page_state.js";
import { failed, toast } from "./toast.js";

export async function startDaemon() {
  try {
    await post("/daemon/up", {});
    toast("The daemon is running: queued jobs start.");
  } catch (error) {
    failed(error);
  }
  current.refresh();
}
