-- Sweeps: the jobs of one template, each a point with its parameters and a folder of its own.

ALTER TABLE jobs ADD COLUMN folder TEXT;         -- the run's folder; null: below the state folder, by its id
ALTER TABLE jobs ADD COLUMN preload TEXT;        -- modules of a warm start, with commas; null: a cold start

CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,            -- where its runs lie: <root>/<project>/<name>/<point>
    pattern TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (root, project, name)
);

CREATE TABLE points (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    sweep_id INTEGER NOT NULL REFERENCES sweeps (id),
    key TEXT NOT NULL,             -- equal for equal points
    parameters TEXT NOT NULL,      -- JSON
    UNIQUE (sweep_id, key)
);
