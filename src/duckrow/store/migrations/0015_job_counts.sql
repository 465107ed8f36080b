-- How many jobs there are, so that a listing need not read all of them. By triggers: they are right whoever writes, also
-- a process of an earlier version that has the database open. A job that runs changes one number, when it ends: how many
-- wait follows from how many there are, are done, and have an attempt that has not ended.
CREATE TABLE job_counts (
    project TEXT NOT NULL,
    outcome TEXT NOT NULL,         -- empty: all jobs of the project, whatever their state
    jobs INTEGER NOT NULL,
    PRIMARY KEY (project, outcome)
) WITHOUT ROWID;
INSERT INTO job_counts (project, outcome, jobs) SELECT project, '', count(*) FROM jobs GROUP BY project;
INSERT INTO job_counts (project, outcome, jobs)
SELECT project, outcome, count(*) FROM jobs WHERE outcome IS NOT NULL GROUP BY project, outcome;

CREATE TRIGGER jobs_counted AFTER INSERT ON jobs BEGIN
    INSERT INTO job_counts (project, outcome, jobs) VALUES (new.project, '', 1)
    ON CONFLICT (project, outcome) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER ended_jobs_added AFTER INSERT ON jobs WHEN new.outcome IS NOT NULL BEGIN
    INSERT INTO job_counts (project, outcome, jobs) VALUES (new.project, new.outcome, 1)
    ON CONFLICT (project, outcome) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_removed AFTER DELETE ON jobs BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE project = old.project AND outcome IN ('', old.outcome);
END;

CREATE TRIGGER jobs_in_other_project AFTER UPDATE OF project ON jobs WHEN old.project <> new.project BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE project = old.project AND outcome IN ('', old.outcome);
    INSERT INTO job_counts (project, outcome, jobs) VALUES (new.project, '', 1)
    ON CONFLICT (project, outcome) DO UPDATE SET jobs = jobs + 1;
    INSERT INTO job_counts (project, outcome, jobs) SELECT new.project, old.outcome, 1 WHERE old.outcome IS NOT NULL
    ON CONFLICT (project, outcome) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER ended_jobs_counted AFTER UPDATE OF outcome ON jobs WHEN new.outcome IS NOT NULL BEGIN
    INSERT INTO job_counts (project, outcome, jobs) VALUES (new.project, new.outcome, 1)
    ON CONFLICT (project, outcome) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_no_longer_done AFTER UPDATE OF outcome ON jobs WHEN old.outcome IS NOT NULL BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE project = new.project AND outcome = old.outcome;
END;

-- The jobs that wait for something besides a device: those that jobs_eligible leaves out. Both together have the queue of
-- each host in order, so that its first jobs can be listed without reading the others.
CREATE INDEX jobs_not_ready ON jobs (host_id, priority DESC, position)
    WHERE state = 'queued' AND (held <> 0 OR not_before IS NOT NULL OR blockers <> 0);
