-- Batches: runs on a cluster. Their truth is a folder that several machines share; the rows of jobs are a copy of it.

CREATE TABLE batch_runs (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    host_id INTEGER NOT NULL REFERENCES hosts (id), -- of kind slurm; its source is the folder
    number INTEGER NOT NULL,       -- of the run in its batch
    UNIQUE (host_id, number)
);
