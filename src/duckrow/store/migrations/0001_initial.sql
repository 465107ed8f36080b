-- Times are seconds since 1970. Text that is not UTF-8 (a command, a path) is stored as a blob of its bytes.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A host runs the scheduler's loop. Host 1 is the daemon, whichever process that is; each `duckrow run` has its own.
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,            -- daemon, run
    name TEXT NOT NULL,
    cwd TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT '', -- the file of commands of a run; empty: standard input
    seats TEXT NOT NULL DEFAULT '[]',
    pid INTEGER,
    boot_id TEXT NOT NULL DEFAULT '',
    started_at REAL,
    ended_at REAL                  -- set when it ended in good order
);
INSERT INTO hosts (id, kind, name) VALUES (1, 'daemon', 'daemon');

-- The variables that jobs take along; most jobs share them with their neighbours.
CREATE TABLE environments (
    id INTEGER PRIMARY KEY,
    variables TEXT NOT NULL UNIQUE
);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    host_id INTEGER NOT NULL REFERENCES hosts (id), -- the only host that dispatches it
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    cwd TEXT NOT NULL,
    environment_id INTEGER NOT NULL REFERENCES environments (id),
    shell TEXT NOT NULL,
    gpus INTEGER,                  -- null: one device of whatever kind there is
    outfile TEXT,
    max_log_bytes INTEGER,
    timeout_s REAL,
    notice_signal INTEGER,
    notice_s REAL NOT NULL,
    grace_s REAL NOT NULL,
    retries INTEGER NOT NULL,
    retries_used INTEGER NOT NULL DEFAULT 0,
    backoff_s REAL NOT NULL,
    priority INTEGER NOT NULL,
    position REAL NOT NULL,        -- order within a priority; the id unless it was moved
    held INTEGER NOT NULL DEFAULT 0,
    not_before REAL,               -- null once its time has come
    attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'queued',
    outcome TEXT,                  -- set if and only if the state is done
    detail TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    changed_at REAL NOT NULL,      -- when it came into its state
    CHECK ((state = 'done') = (outcome IS NOT NULL))
);
CREATE INDEX jobs_eligible ON jobs (host_id, priority DESC, position)
    WHERE state = 'queued' AND held = 0 AND not_before IS NULL;
CREATE INDEX jobs_delayed ON jobs (not_before) WHERE not_before IS NOT NULL;

-- An attempt is named by its job and its number: that spares its row an id and an index of its own.
CREATE TABLE attempts (
    job_id INTEGER NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    host_id INTEGER NOT NULL REFERENCES hosts (id), -- the host that watches it
    keeper TEXT NOT NULL,          -- the journal in which its start and its end stand
    holds TEXT NOT NULL,           -- JSON: [[device, share in millionths], ...]
    log TEXT NOT NULL,             -- empty: it ended without having printed anything
    started_at REAL NOT NULL,
    pid INTEGER,
    stopped_for TEXT,              -- the outcome for which it is being stopped
    stop_began_at REAL,
    ended_at REAL,
    exit_code INTEGER,
    signal INTEGER,
    outcome TEXT,
    peak_memory_mb INTEGER,
    detail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, number)
) WITHOUT ROWID;
CREATE INDEX attempts_live ON attempts (host_id) WHERE ended_at IS NULL;

-- Every move of a job, written by the trigger below in the same transaction.
CREATE TABLE events (
    job_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    outcome TEXT,
    attempt INTEGER NOT NULL,      -- how many attempts there had been
    detail TEXT NOT NULL,
    PRIMARY KEY (job_id, number)
) WITHOUT ROWID;

CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs WHEN old.state <> new.state BEGIN
    INSERT INTO events (job_id, number, at, before, after, outcome, attempt, detail)
    VALUES (
        new.id, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE job_id = new.id),
        new.changed_at, old.state, new.state, new.outcome, new.attempts, new.detail
    );
END;

-- What a person wants of a job; the host that owns or watches it fulfils it and deletes the row.
CREATE TABLE wishes (
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs (id),
    wish TEXT NOT NULL,            -- kill, rerun
    at REAL NOT NULL
);

-- Standing wishes: nothing of these projects is started. The empty name stands for all.
CREATE TABLE pauses (
    project TEXT PRIMARY KEY,
    at REAL NOT NULL
) WITHOUT ROWID;
