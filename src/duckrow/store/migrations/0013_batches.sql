-- A batch is not a host: it has its own table. No large table is copied (decision 14): jobs and attempts name who they
-- belong to by a row of `hosts`. A batch keeps one there, with its name, and nothing else of it (decision 15).

CREATE TABLE batches (
    id INTEGER PRIMARY KEY REFERENCES hosts (id), -- to whom its jobs and attempts belong
    folder TEXT NOT NULL,          -- the truth about its runs
    created_at REAL NOT NULL,
    closed_at REAL,                -- when all its runs were seen to be done; null: some are not
    standing TEXT                  -- JSON: its SLURM jobs, and why nothing more is submitted; null: not asked yet
);
INSERT INTO batches (id, folder, created_at, closed_at, standing)
SELECT h.id, h.source, coalesce(h.started_at, 0), h.ended_at, m.value
FROM hosts h LEFT JOIN meta m ON m.key = 'slurm batch ' || h.id WHERE h.kind = 'slurm';
DELETE FROM meta WHERE key GLOB 'slurm batch *';
UPDATE hosts SET kind = 'batch', cwd = '', source = '', started_at = NULL, ended_at = NULL WHERE kind = 'slurm';

-- A row of three numbers for each run on a cluster: quickly copied.
CREATE TABLE runs_of_batches (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    number INTEGER NOT NULL,       -- of the run in its batch
    UNIQUE (batch_id, number)
);
INSERT INTO runs_of_batches SELECT job_id, host_id, number FROM batch_runs;
DROP TABLE batch_runs;
ALTER TABLE runs_of_batches RENAME TO batch_runs;

-- The attempts that go on here. Those of batches go on elsewhere: they hold nothing of this machine. The index is named,
-- or SQLite would read all attempts that there ever were where they are wanted in order.
CREATE VIEW live_here AS
SELECT * FROM attempts INDEXED BY attempts_live WHERE ended_at IS NULL AND host_id NOT IN (SELECT id FROM batches);
