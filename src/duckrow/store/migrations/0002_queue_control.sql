-- Control of the queue: what a job waits for besides a device.

ALTER TABLE jobs ADD COLUMN blockers INTEGER NOT NULL DEFAULT 0; -- how many jobs must still end before it
ALTER TABLE jobs ADD COLUMN if_broken TEXT NOT NULL DEFAULT 'skip'; -- if one can never be met: skip, wait
ALTER TABLE jobs ADD COLUMN array_id INTEGER;    -- the first job of its array
ALTER TABLE jobs ADD COLUMN array_index INTEGER;

DROP INDEX jobs_eligible;
CREATE INDEX jobs_eligible ON jobs (host_id, priority DESC, position)
    WHERE state = 'queued' AND held = 0 AND not_before IS NULL AND blockers = 0;

CREATE TABLE dependencies (
    job_id INTEGER NOT NULL REFERENCES jobs (id),
    on_job_id INTEGER NOT NULL REFERENCES jobs (id),
    condition TEXT NOT NULL,       -- ok, any, failed
    met INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, on_job_id)
) WITHOUT ROWID;
CREATE INDEX dependents ON dependencies (on_job_id);

-- How many jobs of a scope may run at a time: `project:NAME` or `array:ID`.
CREATE TABLE limits (
    scope TEXT PRIMARY KEY,
    max_running INTEGER NOT NULL
) WITHOUT ROWID;

-- What people want of the daemon's devices: add, drain (a standing wish), remove.
CREATE TABLE device_wishes (
    device TEXT PRIMARY KEY,
    wish TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
