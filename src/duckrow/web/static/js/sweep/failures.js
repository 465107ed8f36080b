/** Why runs failed: grouped by error, each with a button that runs them again. */

import { post } from "../api.js";
import { current } from "../page_state.js";
import { button, h, refill, show } from "../dom.js";
import { counted } from "../format.js";
import { READ_ONLY, address } from "../server.js";
import { failed, toast } from "../toast.js";

export class Failures {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    this.list = h("ul", { class: "failures" });
    this.head = h("div", { class: "panel-tools" });
    this.element = h("section", { class: "panel", "aria-label": "Failures", hidden: true }, this.head, this.list);
  }

  /** @param {Api.SweepFailure[]} failures */
  show(failures) {
    show(this.element, failures.length);
    const total = failures.reduce((sum, failure) => sum + failure.count, 0);
    const all =
      READ_ONLY || failures.length < 2
        ? null
        : button(`Rerun all ${total}`, () => this.rerun({ failed: true }), { data: { action: "rerun-failed" } });
    refill(this.head, failures, () => [
      h("h2", {}, `${counted(total, "run")} failed`),
      h("span", { class: "spread" }),
      all,
    ]);
    refill(this.list, failures, () => failures.map((failure) => this.row(failure)));
  }

  /** @param {Api.SweepFailure} failure */
  row(failure) {
    const again = READ_ONLY
      ? null
      : button(`Rerun ${failure.count === 1 ? "it" : `these ${failure.count}`}`, () =>
          this.rerun({ ids: failure.ids }),
        );
    const example = failure.ids.length
      ? h("a", { href: address(`/jobs/${failure.ids[0]}`) }, `job ${failure.ids[0]}`)
      : null;
    return h("li", {}, h("b", {}, `${failure.count} ×`), h("code", {}, failure.text), example, again);
  }

  /** @param {Api.RerunRuns} which */
  async rerun(which) {
    try {
      const { done } = await post(`/sweeps/${this.id}/rerun`, which);
      toast(`Back in the queue: ${counted(done.length, "run")}.`);
    } catch (error) {
      failed(error);
    }
    current.refresh();
  }
}
