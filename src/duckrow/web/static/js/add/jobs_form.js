/** Jobs from text: a command per line, or GPUPeasy's NAME;;OUTFILE;;COMMAND;;; */

import { post } from "../api.js";
import { h } from "../dom.js";
import { counted } from "../format.js";
import { drafts } from "./drafts.js";
import { AddForm } from "./form.js";

const EXAMPLE = "python train.py --lr 0.1\npython train.py --lr 0.01";
const HINT = "One command per line, as in a shell. Or GPUPeasy's blocks: NAME;;OUTFILE;;COMMAND;;;";

/** @param {() => void} onAdded @returns {AddForm} */
export function jobsForm(onAdded) {
  const text = h("textarea", {
    rows: 10,
    placeholder: EXAMPLE,
    "aria-label": "Commands",
    spellcheck: "false",
    on: { input: () => form.preview.want() },
  });
  /** @type {import("./form.js").Kind} */
  const kind = {
    label: "Commands",
    nothing: "Type a command and see how duckrow reads it before you add anything.",
    isEmpty: () => !text.value.trim(),
    preview: async (options) => draftOf(await post("/jobs/preview", { text: text.value, options })),
    add: async (options) => [told((await post("/jobs", { text: text.value, options })).ids), "/"],
  };
  const form = new AddForm(kind, text, [h("p", { class: "hint" }, HINT)], onAdded);
  return form;
}

/** @param {Api.JobsPreview} preview @returns {import("./form.js").Draft} */
function draftOf({ jobs, problems }) {
  return {
    count: jobs.length ? counted(jobs.length, "job") : "",
    isBad: problems.length > 0 || jobs.some((job) => job.problems.length),
    problems,
    drafts: drafts(jobs),
  };
}

/** @param {number[]} ids */
function told(ids) {
  return ids.length === 1 ? `Added job ${ids[0]}.` : `Added ${counted(ids.length, "job")}: ${ids[0]}–${ids.at(-1)}.`;
}
