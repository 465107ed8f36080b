-- Only known states and outcomes can be written, by anybody. By triggers: CHECKs would need the tables to be copied,
-- which locks a large database for longer than others wait (decision 14). The words are those of core/life/states.py; a
-- test compares. CASE and not IN, for which SQLite makes a table each time.

-- A job that moves comes by here too: jobs_moved writes its event.
CREATE TRIGGER events_added AFTER INSERT ON events BEGIN
    SELECT CASE new.before
        WHEN 'queued' THEN NULL WHEN 'starting' THEN NULL WHEN 'running' THEN NULL WHEN 'stopping' THEN NULL
        WHEN 'done' THEN NULL ELSE RAISE(ABORT, 'there is no such state of a job')
    END;
    SELECT CASE new.after
        WHEN 'queued' THEN NULL WHEN 'starting' THEN NULL WHEN 'running' THEN NULL WHEN 'stopping' THEN NULL
        WHEN 'done' THEN NULL ELSE RAISE(ABORT, 'there is no such state of a job')
    END;
END;

CREATE TRIGGER jobs_added AFTER INSERT ON jobs WHEN new.state <> 'queued' BEGIN
    SELECT CASE new.state
        WHEN 'starting' THEN NULL WHEN 'running' THEN NULL WHEN 'stopping' THEN NULL WHEN 'done' THEN NULL
        ELSE RAISE(ABORT, 'there is no such state of a job')
    END;
    SELECT CASE new.outcome
        WHEN 'succeeded' THEN NULL WHEN 'failed' THEN NULL WHEN 'out-of-memory' THEN NULL WHEN 'timed-out' THEN NULL
        WHEN 'killed' THEN NULL WHEN 'lost' THEN NULL WHEN 'skipped' THEN NULL
        ELSE RAISE(ABORT, 'there is no such outcome of a job')
    END WHERE new.outcome IS NOT NULL;
END;

CREATE TRIGGER jobs_ended AFTER UPDATE OF outcome ON jobs WHEN new.outcome IS NOT NULL BEGIN
    SELECT CASE new.outcome
        WHEN 'succeeded' THEN NULL WHEN 'failed' THEN NULL WHEN 'out-of-memory' THEN NULL WHEN 'timed-out' THEN NULL
        WHEN 'killed' THEN NULL WHEN 'lost' THEN NULL WHEN 'skipped' THEN NULL
        ELSE RAISE(ABORT, 'there is no such outcome of a job')
    END;
END;

CREATE TRIGGER attempts_added AFTER INSERT ON attempts WHEN new.outcome IS NOT NULL BEGIN
    SELECT CASE new.outcome
        WHEN 'succeeded' THEN NULL WHEN 'failed' THEN NULL WHEN 'out-of-memory' THEN NULL WHEN 'timed-out' THEN NULL
        WHEN 'killed' THEN NULL WHEN 'lost' THEN NULL WHEN 'skipped' THEN NULL
        ELSE RAISE(ABORT, 'there is no such outcome of an attempt')
    END;
END;

CREATE TRIGGER attempts_ended AFTER UPDATE OF outcome ON attempts WHEN new.outcome IS NOT NULL BEGIN
    SELECT CASE new.outcome
        WHEN 'succeeded' THEN NULL WHEN 'failed' THEN NULL WHEN 'out-of-memory' THEN NULL WHEN 'timed-out' THEN NULL
        WHEN 'killed' THEN NULL WHEN 'lost' THEN NULL WHEN 'skipped' THEN NULL
        ELSE RAISE(ABORT, 'there is no such outcome of an attempt')
    END;
END;
