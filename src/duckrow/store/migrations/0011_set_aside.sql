-- GPUs that get no new job because something is wrong with them: of each host, until the machine is started again.

CREATE TABLE set_aside (
    host_id INTEGER NOT NULL REFERENCES hosts (id),
    device TEXT NOT NULL,
    why TEXT NOT NULL,
    at REAL NOT NULL,
    boot_id TEXT NOT NULL,
    passes INTEGER NOT NULL DEFAULT 0, -- whether a reading without a fault says that it is over
    suspicion TEXT,                -- JSON: the jobs that tell whose fault it was; null: the GPU's
    wanted_back INTEGER NOT NULL DEFAULT 0, -- a person wants it to be given out again
    PRIMARY KEY (host_id, device)
) WITHOUT ROWID;
