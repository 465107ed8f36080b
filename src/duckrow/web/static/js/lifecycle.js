/** The states and outcomes of jobs, written by `python -m tests.web.page_types` from duckrow/core/life/states.py. */

export const State = Object.freeze(
  /** @type {const} */ ({
    QUEUED: "queued",
    STARTING: "starting",
    RUNNING: "running",
    STOPPING: "stopping",
    DONE: "done",
  }),
);

export const Outcome = Object.freeze(
  /** @type {const} */ ({
    SUCCEEDED: "succeeded",
    FAILED: "failed",
    OUT_OF_MEMORY: "out-of-memory",
    TIMED_OUT: "timed-out",
    KILLED: "killed",
    LOST: "lost",
    SKIPPED: "skipped",
  }),
);

/** The states in which a job holds devices. @type {readonly Api.State[]} */
export const LIVE = [State.STARTING, State.RUNNING, State.STOPPING];
