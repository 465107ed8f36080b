-- The copy of what becomes of batches in their folders.

-- name: add
INSERT INTO hosts (kind, name, cwd, source, started_at) VALUES ('slurm', :name, :cwd, :source, :at)

-- name: add_run
INSERT INTO batch_runs (job_id, host_id, number) VALUES (:job_id, :host_id, :number)

-- name: any_open
SELECT EXISTS (SELECT 1 FROM hosts WHERE kind = 'slurm' AND ended_at IS NULL)

-- name: open
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at FROM hosts
WHERE kind = 'slurm' AND ended_at IS NULL

-- name: all
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at FROM hosts
WHERE kind = 'slurm' ORDER BY id

-- name: any
SELECT EXISTS (SELECT 1 FROM hosts WHERE kind = 'slurm')

-- name: latest_closed
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at FROM hosts
WHERE kind = 'slurm' AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 20

-- name: forget
DELETE FROM hosts WHERE id = :id

-- name: last_asked
SELECT value FROM meta WHERE key = :key

-- name: note_asked
INSERT OR REPLACE INTO meta VALUES (:key, :value)

-- name: standings
SELECT h.id, m.value FROM hosts h JOIN meta m ON m.key = 'slurm batch ' || h.id
WHERE h.kind = 'slurm' AND h.ended_at IS NULL

-- name: standing
SELECT value FROM meta WHERE key = 'slurm batch ' || :host_id

-- name: note_standing
INSERT OR REPLACE INTO meta VALUES ('slurm batch ' || :host_id, :value)

-- name: reopen
UPDATE hosts SET ended_at = NULL WHERE id = :id

-- name: runs
SELECT b.number, b.job_id, j.state, j.attempts, j.outcome, j.held, j.priority
FROM batch_runs b JOIN jobs j ON j.id = b.job_id
WHERE b.host_id = :host_id

-- name: join
INSERT OR REPLACE INTO batch_runs (job_id, host_id, number) VALUES (:job_id, :host_id, :number)

-- name: leave
DELETE FROM batch_runs WHERE job_id = :job_id

-- name: rehost
UPDATE jobs SET host_id = :host_id WHERE id = :job_id

-- name: rehost_waiting
UPDATE jobs SET host_id = :host_id WHERE id = :job_id AND state = 'queued'

-- name: dependents
SELECT b.host_id, b.number, j.state, j.outcome, j.blockers, j.detail
FROM batch_runs b JOIN hosts h ON h.id = b.host_id JOIN jobs j ON j.id = b.job_id
WHERE h.ended_at IS NULL AND j.id IN (SELECT job_id FROM dependencies)

-- name: of_jobs
SELECT b.job_id, b.host_id, b.number FROM batch_runs b JOIN json_each(:ids) wanted ON wanted.value = b.job_id

-- name: start
UPDATE jobs SET state = 'starting', attempts = :attempts, detail = '', changed_at = :at
WHERE id = :job_id AND state = 'queued'

-- name: count_attempts
UPDATE jobs SET attempts = max(attempts, :attempts) WHERE id = :job_id

-- name: note_detail
UPDATE jobs SET detail = :detail WHERE id = :job_id AND detail <> :detail

-- name: note_order
UPDATE jobs SET held = :held, priority = :priority WHERE id = :job_id AND state = 'queued'

-- name: put_attempt
INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, pid, ended_at, exit_code, signal, outcome,
                      peak_memory_mb, utilization, detail)
VALUES (:job_id, :number, :host_id, '', :holds, :log, :started_at, :pid, :ended_at, :exit_code, :signal, :outcome,
        :peak_memory_mb, :utilization, :detail)
ON CONFLICT (job_id, number) DO UPDATE SET
    holds = excluded.holds, log = excluded.log, started_at = excluded.started_at, pid = excluded.pid,
    ended_at = excluded.ended_at, exit_code = excluded.exit_code, signal = excluded.signal, outcome = excluded.outcome,
    peak_memory_mb = excluded.peak_memory_mb, utilization = excluded.utilization, detail = excluded.detail

-- name: close_attempts
UPDATE attempts SET ended_at = :at, outcome = :outcome WHERE job_id = :job_id AND ended_at IS NULL
