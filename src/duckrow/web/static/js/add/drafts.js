/** A preview of jobs before they are added. */

import { h } from "../dom.js";
import { counted } from "../format.js";

const MOST = 50;

/** @param {string[]} list */
export function problems(list) {
  return list.length
    ? h(
        "ul",
        { class: "problems is-problem", role: "alert" },
        list.map((problem) => h("li", {}, problem)),
      )
    : null;
}

/** @param {Api.PreviewedJob[]} jobs */
export function drafts(jobs) {
  const more =
    jobs.length > MOST
      ? h("p", { class: "soft" }, `and ${counted(jobs.length - MOST, "more job", "more jobs")}`)
      : null;
  return [h("ol", { class: "draft-list" }, jobs.slice(0, MOST).map(draft)), more];
}

/** @param {Api.PreviewedJob} job */
function draft(job) {
  const words = job.words.length
    ? h(
        "span",
        { class: "words" },
        job.words.map((word) => h("code", { class: "word" }, word)),
      )
    : h("code", {}, job.command);
  const facts = [job.placement, job.note, job.outfile ? `output to ${job.outfile}` : ""].filter(Boolean);
  return h(
    "li",
    { class: "draft" },
    h("b", {}, job.name),
    words,
    h("span", { class: "soft" }, facts.join(" · ")),
    problems(job.problems),
  );
}
